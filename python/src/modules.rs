//! Cached Python modules: an `import` statement takes longer than a small read.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py))
}
