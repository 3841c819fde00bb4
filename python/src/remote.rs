//! Objects in object stores as sources: list, identify, read ranges.

use std::collections::BTreeMap;
use std::sync::Arc;

use icecore::catalog::LinkIdentity;
use icecore::store::objects;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{OrRaise, caught};

type Options = BTreeMap<String, String>;
/// Size, modification time in nanoseconds, ETag.
type Identity = (u64, i64, Option<String>);

/// Identity of the object at a URL.
#[pyfunction]
fn remote_identity(py: Python<'_>, url: &str, storage: Options) -> PyResult<Identity> {
    let found = py.detach(|| objects::identify(url, &storage)).or_raise()?;
    Ok((found.size, found.mtime_ns, found.etag))
}

/// Ranges (offset, length) of the object at a URL, requested in parallel.
#[pyfunction]
fn remote_read<'py>(
    py: Python<'py>,
    url: &str,
    storage: Options,
    identity: Identity,
    ranges: Vec<(u64, u64)>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let (size, mtime_ns, etag) = identity;
    let identity = LinkIdentity { size, mtime_ns, etag };
    let found = py.detach(|| objects::read(url, &storage, identity, &ranges)).or_raise()?;
    Ok(found.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// Keys and sizes of the objects below a prefix.
#[pyfunction]
fn remote_list(py: Python<'_>, url: &str, storage: Options, recursive: bool) -> PyResult<Vec<(String, u64)>> {
    py.detach(|| objects::list(url, &storage, recursive)).or_raise()
}

/// Registers a function that returns credentials by name; returns the value of the storage option `credentials`.
#[pyfunction]
fn register_credentials(fetch: Py<PyAny>) -> String {
    icecore::catalog::register_credentials(Arc::new(move || {
        Python::attach(|py| {
            let fetched = fetch.call0(py).map_err(|raised| caught(py, &raised))?;
            fetched.extract::<Options>(py).map_err(|raised| caught(py, &raised))
        })
    }))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(register_credentials, module)?)?;
    module.add_function(wrap_pyfunction!(remote_identity, module)?)?;
    module.add_function(wrap_pyfunction!(remote_read, module)?)?;
    module.add_function(wrap_pyfunction!(remote_list, module)?)
}
