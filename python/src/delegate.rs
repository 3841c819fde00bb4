//! The Python side of the service: indexes of files, tables and products.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use icecore::cancel;
use icecore::grid::{Error, Result};
use icecore_server::{Asked, Delegate, Located, Reply};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyIterator, PyTuple};

use crate::error::{OrRaise, caught};

/// An object with the methods `index(path)` and `answer(request)`.
#[derive(Debug)]
pub struct PyDelegate(Py<PyAny>);

impl PyDelegate {
    pub fn shared(object: Py<PyAny>) -> Arc<dyn Delegate> {
        Arc::new(Self(object))
    }
}

impl Delegate for PyDelegate {
    fn index(&self, file: &Path) -> Result<PathBuf> {
        in_python(|py| self.0.bind(py).call_method1("index", (file,))?.extract())
    }

    fn answer(&self, asked: Asked) -> Result<Reply> {
        in_python(|py| {
            let reply = self.0.bind(py).call_method1("answer", (request(py, &asked)?,))?;
            let (content_type, blocks): (String, Bound<'_, PyAny>) = reply.extract()?;
            let blocks = Box::new(PyBlocks(Some(blocks.try_iter()?.unbind())));
            Ok(Reply { content_type, blocks })
        })
    }
}

fn in_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    Python::attach(|py| work(py).map_err(|raised| caught(py, &raised)))
}

fn request<'py>(py: Python<'py>, asked: &Asked) -> PyResult<Bound<'py, PyDict>> {
    let request = PyDict::new(py);
    request.set_item("collection", asked.collection)?;
    request.set_item("name", &asked.name)?;
    request.set_item("method", &asked.method)?;
    request.set_item("accept", &asked.accept)?;
    request.set_item("params", asked.params.clone())?;
    request.set_item("body", PyBytes::new(py, &asked.body))?;
    let located: PyResult<Vec<_>> = asked.located.iter().map(|each| node(py, each)).collect();
    request.set_item("located", located?)?;
    let locate = asked.locate.clone();
    let find = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<Py<PyAny>> {
        let (name,): (String,) = args.extract()?;
        let py = args.py();
        // Another thread that opens the domain may need the interpreter.
        let located = py.detach(|| (locate.0)(&name)).or_raise()?;
        Ok(node(py, &located)?.into_any().unbind())
    };
    request.set_item("locate", PyCFunction::new_closure(py, None, None, find)?)?;
    Ok(request)
}

fn node<'py>(py: Python<'py>, located: &Located) -> PyResult<Bound<'py, PyDict>> {
    let node = PyDict::new(py);
    node.set_item("domain", &located.domain)?;
    node.set_item("url", &located.storage.url)?;
    node.set_item("storage", &located.storage.options)?;
    node.set_item("allow_links", &located.storage.allow_links)?;
    node.set_item("snapshot", &located.snapshot)?;
    node.set_item("path", &located.path)?;
    Ok(node)
}

/// Blocks of a Python iterator of `bytes`; none behind one that failed.
struct PyBlocks(Option<Py<PyIterator>>);

impl Iterator for PyBlocks {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Result<Bytes>> {
        let blocks = self.0.take()?;
        if let Err(error) = cancel::check() {
            return Some(Err(error));
        }
        let next = Python::attach(|py| {
            let block = blocks.bind(py).clone().next()?;
            let copied = block.and_then(|block| {
                let block = block.cast_into::<PyBytes>().map_err(PyErr::from)?;
                Ok(Bytes::copy_from_slice(block.as_bytes()))
            });
            Some(copied.map_err(|raised| -> Error { caught(py, &raised) }))
        });
        if matches!(next, Some(Ok(_))) {
            self.0 = Some(blocks);
        }
        next
    }
}
