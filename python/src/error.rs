//! Convert the engine's errors to `icecore.errors`.

use icecore::grid::{Error, ErrorKind, redact};
use pyo3::prelude::*;

/// Calls `icecore.errors.make(kind, message, hint)` to create the exception.
pub fn raise(error: Error) -> PyErr {
    Python::attach(|py| {
        let make = || -> PyResult<PyErr> {
            let maker = py.import("icecore.errors")?.getattr("make")?;
            Ok(PyErr::from_value(maker.call1((error.kind.code(), redact(&error.message), redact(&error.hint)))?))
        };
        make().unwrap_or_else(|e| e)
    })
}

/// All kinds, to find one by its code.
const KINDS: [ErrorKind; 21] = [
    ErrorKind::NotFound,
    ErrorKind::Exists,
    ErrorKind::Selection,
    ErrorKind::Mismatch,
    ErrorKind::Dtype,
    ErrorKind::Codec,
    ErrorKind::Corrupt,
    ErrorKind::SourceChanged,
    ErrorKind::SourceMissing,
    ErrorKind::LinkNotAllowed,
    ErrorKind::Conflict,
    ErrorKind::ReadOnly,
    ErrorKind::Permission,
    ErrorKind::Io,
    ErrorKind::Network,
    ErrorKind::Format,
    ErrorKind::Unsupported,
    ErrorKind::Memory,
    ErrorKind::Invalid,
    ErrorKind::Interrupted,
    ErrorKind::Internal,
];

/// The engine's form of an exception that Python code raised.
pub fn caught(py: Python<'_>, raised: &PyErr) -> Error {
    let value = raised.value(py);
    let text = |name: &str| value.getattr(name).ok()?.extract::<String>().ok();
    let kind = text("kind").and_then(|code| KINDS.into_iter().find(|kind| kind.code() == code));
    match (kind, text("message"), text("hint")) {
        (Some(kind), Some(message), hint) => Error::new(kind, message).hint(hint.unwrap_or_default()),
        _ => Error::new(ErrorKind::Internal, format!("Python raised {raised}"))
            .hint("this is a defect of icecore: please report it"),
    }
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
