//! Restore the text of a packed table, part by part.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use icecore::restore;
use icecore_text::Format;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::array::Array;
use crate::error::OrRaise;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Restoring>()?;
    module.add_class::<Text>()
}

/// A table that is being restored from its columns.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct Restoring {
    inner: Mutex<restore::Restoring>,
}

#[pymethods]
impl Restoring {
    #[new]
    fn new(
        py: Python<'_>,
        format: &str,
        columns: Vec<Py<Array>>,
        rows: (u64, u64),
        escapes: &Array,
        kept: (u64, u64),
    ) -> PyResult<Self> {
        let format = Format::parse(format).or_raise()?;
        let columns = columns.iter().map(|array| Arc::clone(&array.get().view)).collect();
        let new = || restore::Restoring::new(format, columns, rows.0..rows.1, (escapes.view.as_ref(), kept.0..kept.1));
        Ok(Self { inner: Mutex::new(py.detach(new).or_raise()?) })
    }

    /// The parts of the next stretch of rows; None at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<Text>>> {
        let parts = py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).next()).or_raise()?;
        Ok(parts.map(|parts| parts.into_iter().map(|bytes| Text { bytes }).collect()))
    }
}

/// Bytes, exposed through the buffer protocol.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct Text {
    bytes: Vec<u8>,
}

#[pymethods]
impl Text {
    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    /// # Safety
    /// Called by the interpreter, with a view to fill in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = &slf.get().bytes;
        let length = bytes.len() as isize; // of memory: below 2⁶³
        // SAFETY: the bytes are read only, and live as long as the object, which the view keeps.
        let done =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), length, 1, flags) };
        if done == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
