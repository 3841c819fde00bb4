//! Append blocks of a table's rows to its arrays.

use std::sync::{Mutex, MutexGuard, PoisonError};

use icecore::grid::Result;
use icecore::text::{Values, View};
use icecore::write::{Rows, TableRows as Growing};
use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::OrRaise;
use crate::writer::{Writer, elements};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Columns>()?;
    module.add_class::<TableRows>()
}

/// The columns of a block of text: a sequence of arrays (i8, f8, bytes of text, or strings), which are copies.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct Columns {
    /// The columns of several consecutive stretches of rows.
    stretches: Vec<Vec<Values>>,
}

impl Columns {
    pub fn new(first: Vec<Values>, behind: Vec<Vec<Values>>) -> Self {
        Self { stretches: std::iter::once(first).chain(behind).collect() }
    }
}

#[pymethods]
impl Columns {
    fn __len__(&self) -> usize {
        self.stretches.first().map_or(0, Vec::len)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyAny>> {
        let column = self.stretches.iter().filter_map(|values| values.get(at));
        let Some(all) = column.cloned().reduce(|mut all, more| {
            all.append(more);
            all
        }) else {
            return Err(PyIndexError::new_err(format!("no column of number {at}")));
        };
        Ok(match all {
            Values::Int(values) => PyArray1::from_vec(py, values).into_any(),
            Values::Real(values) => PyArray1::from_vec(py, values).into_any(),
            Values::Text { bytes, .. } => PyArray1::from_vec(py, bytes).into_any(),
            strings @ Values::Strings { .. } => {
                let texts = (0..strings.len()).map(|i| String::from_utf8_lossy(strings.view().text(i)));
                let texts = texts.map(|text| PyString::new(py, &text).into_any().unbind());
                PyArray1::from_vec(py, texts.collect()).into_any()
            }
        })
    }
}

/// The ends of a table's growing arrays.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct TableRows {
    writer: Py<Writer>,
    rows: Mutex<Growing>,
}

impl TableRows {
    fn lock(&self) -> MutexGuard<'_, Growing> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl TableRows {
    /// Starts appending to the arrays at `paths` from these rows on, where shards begin; or behind the last row, in chunks
    /// of a number of rows.
    #[new]
    fn new(
        writer: Bound<'_, Writer>,
        paths: Vec<String>,
        starts: Vec<u64>,
        chunks: Vec<Option<u64>>,
    ) -> PyResult<Self> {
        let rows = paths.iter().zip(starts).zip(chunks).map(|((path, start), chunk)| {
            let meta = writer.get().meta(path)?;
            if let Some(chunk) = chunk {
                return Rows::behind(path, meta, chunk).or_raise();
            }
            Rows::new(path, meta, start).or_raise()
        });
        let rows = rows.collect::<PyResult<_>>()?;
        Ok(Self { writer: writer.unbind(), rows: Mutex::new(Growing::new(rows)) })
    }

    /// Appends a block; returns the columns in which an integer equals the null value.
    fn append(&self, py: Python<'_>, columns: &Columns) -> PyResult<Vec<usize>> {
        let writer = self.writer.get();
        let append = |rows: &mut Growing, values: &Vec<Values>| {
            let views: Vec<View<'_>> = values.iter().map(Values::view).collect();
            rows.append(writer.writing()?, &views)
        };
        let blanks = py.detach(|| {
            let mut rows = self.lock();
            columns.stretches.iter().map(|values| append(&mut rows, values)).collect::<Result<Vec<_>>>()
        });
        let blanks = blanks.or_raise()?;
        Ok((0..columns.__len__()).filter(|at| blanks.iter().any(|blank| blank.get(*at) == Some(&true))).collect())
    }

    /// Appends elements to one column, in the type of its array at `path`.
    fn append_elements(&self, py: Python<'_>, column: usize, path: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let writer = self.writer.get();
        let (_, data) = elements(py, &writer.meta(path)?.dtype, values)?;
        py.detach(|| self.lock().append_elements(writer.writing()?, column, &data)).or_raise()
    }

    /// For each column, the CRC-32C of the elements appended since the last call.
    fn sums(&self) -> Vec<u32> {
        self.lock().sums()
    }

    /// Writes the buffered elements; the arrays must have their new length before.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.writer.get();
        py.detach(|| self.lock().finish(writer.writing()?)).or_raise()
    }
}
