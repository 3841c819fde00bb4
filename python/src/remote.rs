//! Source files as bytes, and lists of objects.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use icecore::grid::{Error, ErrorKind, ReadAt, Result};
use icecore::store::{LocalFile, objects};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{OrRaise, caught};

type Options = BTreeMap<String, String>;
/// Size, modification time in nanoseconds, ETag.
type Identity = (u64, i64, Option<String>);

/// The bytes of a local file, or of an object on a server or in a bucket.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct ByteSource(icecore::store::ByteSource);

#[pymethods]
impl ByteSource {
    #[new]
    fn new(py: Python<'_>, place: PathBuf, storage: Options) -> PyResult<Self> {
        py.detach(|| icecore::store::ByteSource::open(&place, &storage)).or_raise().map(Self)
    }

    /// Size, modification time and ETag when it was opened.
    fn identity(&self) -> Identity {
        let found = self.0.identity();
        (found.size, found.mtime_ns, found.etag.clone())
    }

    /// The bytes from `offset`, `length` or as many as the file has.
    fn read_at<'py>(&self, py: Python<'py>, offset: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        let length = length.min(self.0.len().saturating_sub(offset));
        PyBytes::new_with(py, length as usize, |out| py.detach(|| self.0.read_at(offset, out)).or_raise())
    }
}

/// What a parser reads from, as Python names it.
pub(crate) enum Place {
    Path(PathBuf),
    Object(PythonSource),
}

/// A Python object with `read_at(offset, length)`: all sources of the package have it.
pub(crate) struct PythonSource {
    object: Py<PyAny>,
    len: u64,
}

impl FromPyObject<'_, '_> for Place {
    type Error = PyErr;

    /// A path, or an object with `read_at` and `identity.size`.
    fn extract(source: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(path) = source.extract::<PathBuf>() {
            return Ok(Self::Path(path));
        }
        let len = source.getattr("identity")?.getattr("size")?.extract()?;
        Ok(Self::Object(PythonSource { object: source.to_owned().unbind(), len }))
    }
}

impl Place {
    pub fn open(self) -> Result<Box<dyn ReadAt>> {
        Ok(match self {
            Self::Path(path) => Box::new(LocalFile::open(&path, true)?),
            Self::Object(object) => Box::new(object),
        })
    }
}

impl ReadAt for PythonSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        Python::attach(|py| {
            let read = self.object.call_method1(py, "read_at", (offset, out.len()));
            let read = read.map_err(|raised| caught(py, &raised))?;
            let bytes = read.cast_bound::<PyBytes>(py).map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
            let ended = || Error::new(ErrorKind::Corrupt, format!("the file ends before offset {offset}"));
            let bytes = bytes.as_bytes().get(..out.len()).ok_or_else(ended)?;
            out.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn read_ahead(&self) -> usize {
        1 << 16
    }
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
    module.add_class::<ByteSource>()?;
    module.add_function(wrap_pyfunction!(remote_list, module)?)
}
