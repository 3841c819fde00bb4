//! The process's one HTTP client: all stores share its connections.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::{ClientOptions, Result};

/// The client and the process that it was made in: a child can't use its parent's connections, whose threads did not survive the fork.
static CLIENT: Mutex<Option<(u32, HttpClient)>> = Mutex::new(None);

/// Hands out the one client, whatever it is asked to connect.
#[derive(Debug)]
pub(super) struct Shared;

impl HttpConnector for Shared {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        client()
    }
}

/// The client; made when it is first asked for, which takes 10 ms because the system's certificates are read.
pub(super) fn client() -> Result<HttpClient> {
    let mut current = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, client)) = &*current
        && *owner == process
    {
        return Ok(client.clone());
    }
    let made = ReqwestConnector::default().connect(&options())?;
    *current = Some((process, made.clone()));
    Ok(made)
}

/// The client's own options, which [`Shared`] goes by.
pub(super) fn options() -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(true)
        .with_timeout(Duration::from_secs(120))
        .with_connect_timeout(Duration::from_secs(10))
}
