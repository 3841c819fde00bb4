//! Configuration of the service: one plain struct with defaults.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use icecore::grid::{Error, ErrorKind, Result};

use crate::delegate::Delegate;
use crate::http::tls::Certificate;
use crate::users::Users;

/// A repository, a file of arrays, or a directory of both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Served {
    /// The name of its domain; `None`: the last part of its path.
    pub name: Option<String>,
    /// A path or URL.
    pub url: String,
    /// Storage options of the catalog.
    pub options: BTreeMap<String, String>,
    /// Allowed prefixes of linked chunks; `None`: those that the repository records.
    pub allow_links: Option<Vec<String>>,
}

impl Served {
    /// Parses `PATH` or `NAME=PATH`.
    ///
    /// # Errors
    /// `invalid` for an empty name or path.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, url) = match text.split_once('=') {
            // A query in a URL may contain one too.
            Some((name, url)) if !name.contains(['/', ':', '?']) => (Some(name.to_owned()), url),
            _ => (None, text),
        };
        if url.is_empty() || name.as_deref() == Some("") {
            return Err(Error::new(ErrorKind::Invalid, format!("{text:?} is neither PATH nor NAME=PATH"))
                .hint("for example: moon.icecore, or moon=/data/moon.icecore"));
        }
        Ok(Self { name, url: url.to_owned(), ..Self::default() })
    }
}

/// Unit in which the memory for bodies is counted.
pub(crate) const UNIT: usize = 1 << 10;

/// Limits of the service.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Maximum number of concurrent requests; further ones get 503.
    pub requests: usize,
    /// Maximum number of concurrent reads.
    pub reads: usize,
    /// Maximum number of connections; the slowest one makes room for a new one.
    pub connections: usize,
    /// Maximum bytes of a request's body; of one that writes values, 128 MiB.
    pub body: usize,
    /// Maximum bytes of a body that writes elements of a dataset. Those of more than 128 MiB go to a temporary file.
    pub written: u64,
    /// Maximum bytes of all bodies that are in memory at once.
    pub bodies: usize,
    /// Maximum time until a response begins, and until a client accepts the next block of a streamed value.
    pub time: Duration,
    /// Maximum bytes of elements that a request without a stream reads or writes at once.
    pub elements: u64,
    /// Maximum number of elements of a value sent as JSON.
    pub json_elements: u64,
    /// Maximum number of elements of a point selection or of a query's result.
    pub points: u64,
    /// Maximum number of open domains.
    pub domains: usize,
    /// Time for which a branch is served before its head is looked up again.
    pub fresh: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            requests: 1024,
            reads: 4 * cores,
            connections: 4096,
            body: 32 << 20,
            written: 1 << 30,
            bodies: 1 << 30,
            time: Duration::from_secs(60),
            elements: 256 << 20,
            json_elements: 16 << 20,
            points: 4 << 20,
            domains: 256,
            fresh: Duration::from_secs(1),
        }
    }
}

/// Served repositories, and the server's address.
#[derive(Clone, Debug)]
pub struct Config {
    pub served: Vec<Served>,
    pub address: SocketAddr,
    pub limits: Limits,
    /// Whether to compress binary values for clients that accept it; metadata is always compressed for them.
    pub compress_values: bool,
    /// Whether requests may create, change and remove domains.
    pub writable: bool,
    /// Users of the service; `None`: everybody.
    pub users: Option<Arc<Users>>,
    /// What connections are encrypted with; `None`: they are not.
    pub certificate: Option<Certificate>,
    /// Origins of web pages that may use the service, as `https://host[:port]`; `*`: all may read.
    pub origins: Vec<String>,
    /// The first part of every URL, which only those know who may use the service.
    pub secret: Option<String>,
    /// The program that indexes files and writes tables; `None`: neither is served.
    pub delegate: Option<Arc<dyn Delegate>>,
}

impl Default for Config {
    fn default() -> Self {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5101);
        Self {
            served: Vec::new(),
            address,
            limits: Limits::default(),
            compress_values: false,
            writable: false,
            users: None,
            certificate: None,
            origins: Vec::new(),
            secret: None,
            delegate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        let parse = |text: &str| Served::parse(text).map(|s| (s.name, s.url));
        assert_eq!(parse("/data/moon").unwrap(), (None, "/data/moon".to_owned()));
        assert_eq!(parse("moon=/data/m=1").unwrap(), (Some("moon".to_owned()), "/data/m=1".to_owned()));
        assert_eq!(parse("https://h/x?a=b").unwrap(), (None, "https://h/x?a=b".to_owned()));
        assert_eq!(parse("=x").unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(parse("x=").unwrap_err().kind, ErrorKind::Invalid);
    }
}
