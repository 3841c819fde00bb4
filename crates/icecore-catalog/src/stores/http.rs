//! One HTTP client per process: repositories and linked files share its connections, except those with options of their
//! own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::process::PerProcess;
use crate::stores::http_retry::RetryClient;
use crate::stores::own_headers::WithHeaders;

/// Prefix of options that set a header of each request.
pub(crate) const HEADER: &str = "header.";

static CLIENT: PerProcess<Mutex<Option<HttpClient>>> = PerProcess::new();

/// A store for objects below `url`; `options` are those of a [`crate::Storage`], and options that are not for HTTP are
/// ignored.
///
/// # Errors
/// `invalid` for an invalid option or URL.
pub fn http_store(url: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn ObjectStore>> {
    let mut headers = HeaderMap::new();
    let mut own = client_options();
    let mut is_own = false;
    for (name, value) in options {
        let wrong = |e: String| Error::new(ErrorKind::Invalid, format!("storage option {name}: {e}"));
        if let Some(header) = name.strip_prefix(HEADER) {
            let header: HeaderName = header.parse().map_err(|e| wrong(format!("{e}")))?;
            // The message omits the value, which may be a secret.
            headers.insert(header, HeaderValue::from_str(value).map_err(|e| wrong(e.to_string()))?);
        } else if let Ok(key) = name.parse::<ClientConfigKey>() {
            own = own.with_config(key, value);
            is_own = true;
        }
    }
    let builder = if !headers.is_empty() {
        HttpBuilder::new().with_client_options(own).with_http_connector(WithHeaders(headers))
    } else if is_own {
        HttpBuilder::new().with_client_options(own).with_http_connector(Patiently)
    } else {
        HttpBuilder::new().with_client_options(own).with_http_connector(RepoState)
    };
    let store = builder.with_url(url).with_retry(retries(options)?).build();
    store.map(|store| Arc::new(store) as Arc<dyn ObjectStore>).map_err(|e| refused(url, &e))
}

/// Option: seconds for which a request is repeated.
pub(crate) const RETRY_TIMEOUT: &str = "retry_timeout";
/// An overloaded archive recovers within a minute, and callers should not wait for longer without a message.
const RETRY_SECONDS: u64 = 60;

/// For how long, and after which pauses, requests are repeated.
///
/// # Errors
/// `invalid` if the option `retry_timeout` is not a number of seconds.
pub(crate) fn retries(options: &BTreeMap<String, String>) -> Result<RetryConfig> {
    let seconds = match options.get(RETRY_TIMEOUT) {
        None => RETRY_SECONDS,
        Some(text) => text.parse().map_err(|_| {
            Error::new(ErrorKind::Invalid, format!("{RETRY_TIMEOUT}={text:?} is not a number of seconds"))
                .hint(format!("a whole number: --storage {RETRY_TIMEOUT}=30"))
        })?,
    };
    // Each pause is random, up to three times the last one: they grow, and clients do not retry together.
    let backoff =
        BackoffConfig { init_backoff: Duration::from_millis(50), max_backoff: Duration::from_secs(5), base: 3.0 };
    // The time limits the retries, not their number.
    Ok(RetryConfig { backoff, max_retries: 1000, retry_timeout: Duration::from_secs(seconds) })
}

fn refused(url: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, format!("{url}: {error}"))
        .hint("check the address and the options in storage={…} (--storage KEY=VALUE)")
}

/// Builds clients that honour `Retry-After`.
#[derive(Debug)]
pub struct Patiently;

impl HttpConnector for Patiently {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(RetryClient::new(ReqwestConnector::default().connect(options)?)))
    }
}

/// Builds clients of object stores, whose error documents say what is wrong.
#[derive(Debug)]
pub(crate) struct CloudConnector;

impl HttpConnector for CloudConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(RetryClient::of_buckets(ReqwestConnector::default().connect(options)?)))
    }
}

/// Returns the one client for all connections.
#[derive(Debug)]
struct RepoState;

impl HttpConnector for RepoState {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        http_client()
    }
}

/// The client, built on first use: it reads the system's certificates, which takes 10 ms.
///
/// # Errors
/// The error of building the client.
pub fn http_client() -> object_store::Result<HttpClient> {
    let mut current = CLIENT.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = &*current {
        return Ok(client.clone());
    }
    let made = Patiently.connect(&client_options())?;
    *current = Some(made.clone());
    Ok(made)
}

/// What the operators of an archive read in their logs.
const AGENT: &str = concat!("icecore/", env!("CARGO_PKG_VERSION"));

/// The client's own options, which are part of the key of [`RepoState`].
pub(crate) fn client_options() -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(true)
        .with_user_agent(HeaderValue::from_static(AGENT))
        // For silence instead of the whole request: see `http_silence`.
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(10))
}
