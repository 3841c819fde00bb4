//! Run the HTTP service until Ctrl-C or SIGTERM.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use icecore::grid::{Error, ErrorKind};
use icecore_server::{Certificate, Config, Limits, Served, Server, Users, until};
use pyo3::prelude::*;

use crate::delegate::PyDelegate;
use crate::error::OrRaise;
use crate::interrupt;

/// Serves repositories, files and directories of both (`PATH` or `NAME=PATH`). `ready` is called with the host and the port as soon as
/// requests are answered.
#[pyfunction]
#[pyo3(signature = (paths, host="127.0.0.1", port=5101, ready=None, storage=None, allow_links=None, compress_values=false, requests=None, seconds=None, writable=false, users=None, certificate=None, origins=None, secret=None, delegate=None, written=None))]
#[allow(clippy::too_many_arguments)]
fn serve(
    py: Python<'_>,
    paths: Vec<String>,
    host: &str,
    port: u16,
    ready: Option<Py<PyAny>>,
    storage: Option<BTreeMap<String, String>>,
    allow_links: Option<Vec<String>>,
    compress_values: bool,
    requests: Option<usize>,
    seconds: Option<u64>,
    writable: bool,
    users: Option<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
    origins: Option<Vec<String>>,
    secret: Option<String>,
    delegate: Option<Py<PyAny>>,
    written: Option<u64>,
) -> PyResult<()> {
    let address: IpAddr = if host == "localhost" { "127.0.0.1" } else { host }.parse().map_err(|_| {
        let error = Error::new(ErrorKind::Invalid, format!("the host {host:?} is not an IP address"));
        crate::error::raise(error.hint("127.0.0.1 for this machine alone, 0.0.0.0 for all its addresses"))
    })?;
    let served = paths.iter().map(|path| Served::parse(path)).collect::<icecore::grid::Result<Vec<_>>>().or_raise()?;
    let options = storage.unwrap_or_default();
    let with = |each: Served| Served { options: options.clone(), allow_links: allow_links.clone(), ..each };
    let defaults = Limits::default();
    let limits = Limits {
        requests: requests.unwrap_or(defaults.requests),
        written: written.unwrap_or(defaults.written),
        time: seconds.map_or(defaults.time, Duration::from_secs),
        ..defaults
    };
    let served = served.into_iter().map(with).collect();
    let users = users.map(|file| Users::load(&file)).transpose().or_raise()?.map(Arc::new);
    let address = SocketAddr::new(address, port);
    let certificate = certificate.map(|(chain, key)| Certificate::load(&chain, &key)).transpose().or_raise()?;
    let delegate = delegate.map(PyDelegate::shared);
    let origins = origins.unwrap_or_default();
    let config =
        Config { served, address, limits, compress_values, writable, users, certificate, origins, secret, delegate };
    let server = py.detach(|| Server::bind(config)).or_raise()?;
    let bound = server.address().or_raise()?;
    if let Some(ready) = ready {
        ready.call1(py, (bound.ip().to_string(), bound.port()))?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&stop);
    let ended = interrupt::scoped(py, true, &stop, || server.run(until(move || end.load(Ordering::Relaxed))));
    ended?.or_raise()
}

/// The line for a user in a file of users.
#[pyfunction]
fn user_line(name: &str, password: &str) -> PyResult<String> {
    Users::line(name, password).or_raise()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(serve, module)?)?;
    module.add_function(wrap_pyfunction!(user_line, module)?)
}
