//! Convert the engine's errors to `icecore.errors`.

use icecore::grid::Error;
use pyo3::prelude::*;

/// Calls `icecore.errors.make(kind, message, hint)` to create the exception.
pub fn raise(error: Error) -> PyErr {
    Python::attach(|py| {
        let make = || -> PyResult<PyErr> {
            let maker = py.import("icecore.errors")?.getattr("make")?;
            Ok(PyErr::from_value(maker.call1((error.kind.code(), &error.message, &error.hint))?))
        };
        make().unwrap_or_else(|e| e)
    })
}

/// `?` for the engine's results.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for icecore::grid::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(raise)
    }
}
