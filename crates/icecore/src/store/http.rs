//! The process's one HTTP client: all stores share its connections, except those that were given options of their own.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use icecore_catalog::PerProcess;
use icecore_grid::{Error, ErrorKind};
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::http::HttpBuilder;
use object_store::{ClientConfigKey, ClientOptions, Result};

/// How the names of options begin that are headers of each request.
const HEADER: &str = "header.";

static CLIENT: PerProcess<Mutex<Option<HttpClient>>> = PerProcess::new();

/// A store whose requests go by `options` (those of a [`icecore_catalog::Storage`]; what is not for HTTP is passed over).
pub(super) fn builder(options: &BTreeMap<String, String>) -> icecore_grid::Result<HttpBuilder> {
    let mut headers = HeaderMap::new();
    let mut own = self::options();
    let mut is_own = false;
    for (name, value) in options {
        let wrong = |e: String| Error::new(ErrorKind::Invalid, format!("storage option {name}: {e}"));
        if let Some(header) = name.strip_prefix(HEADER) {
            let header: HeaderName = header.parse().map_err(|e| wrong(format!("{e}")))?;
            // Not the value: it may be a secret.
            headers.insert(header, HeaderValue::from_str(value).map_err(|e| wrong(e.to_string()))?);
        } else if let Ok(key) = name.parse::<ClientConfigKey>() {
            own = own.with_config(key, value);
            is_own = true;
        }
    }
    if !is_own && headers.is_empty() {
        return Ok(HttpBuilder::new().with_client_options(own).with_http_connector(Shared));
    }
    Ok(HttpBuilder::new().with_client_options(own.with_default_headers(headers)))
}

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
    let mut current = CLIENT.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = &*current {
        return Ok(client.clone());
    }
    let made = ReqwestConnector::default().connect(&options())?;
    *current = Some(made.clone());
    Ok(made)
}

/// The client's own options, which [`Shared`] goes by.
fn options() -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(true)
        .with_timeout(Duration::from_secs(120))
        .with_connect_timeout(Duration::from_secs(10))
}
