//! Tables: columns, where-clauses, summaries.

use std::ops::Range;
use std::sync::Arc;

use icecore::read::ReadOptions;
use icecore::scan::{self, ScanOptions, Table as Columns};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array::Array;
use crate::error::OrRaise;
use crate::scan::Scan;

/// A column: name, array, null elements; for times stored as numbers, the nanoseconds of a unit and of its zero since
/// 1970; for an array with two axes, the index of the element to take from each row.
type Given = (String, Py<Array>, Vec<Vec<u8>>, Option<(f64, f64)>, Option<u64>);

#[pyclass(frozen, module = "icecore._icecore")]
pub struct Table {
    table: Arc<Columns>,
}

#[pymethods]
impl Table {
    #[new]
    fn new(columns: Vec<Given>) -> PyResult<Self> {
        let columns = columns
            .into_iter()
            .map(|(name, array, nulls, epoch, item)| {
                scan::Column::new(name, Arc::clone(&array.get().view), nulls, epoch).of(item)
            })
            .collect();
        Ok(Self { table: Arc::new(Columns::new(columns).or_raise()?) })
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.table.rows()
    }

    /// The numbers of the columns that a where-clause uses.
    fn columns_of(&self, clause: &str) -> PyResult<Vec<usize>> {
        Ok(self.table.filter(clause).or_raise()?.columns)
    }

    /// The numbers of the columns that an expression uses.
    fn columns_of_expression(&self, text: &str) -> PyResult<Vec<usize>> {
        Ok(self.table.expression(text).or_raise()?.columns)
    }

    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (columns, clause=None, prune=true, limit=None, memory=None, unsure_only=false, rows=None, expressions=Vec::new()))]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Vec<usize>,
        clause: Option<&str>,
        prune: bool,
        limit: Option<u64>,
        memory: Option<u64>,
        unsure_only: bool,
        rows: Option<Vec<(u64, u64)>>,
        expressions: Vec<String>,
    ) -> PyResult<Scan> {
        let mut options = ScanOptions { columns, prune, limit, unsure_only, ..ScanOptions::default() };
        options.filter = clause.map(|clause| self.table.filter(clause)).transpose().or_raise()?;
        options.memory = memory.unwrap_or(options.memory);
        options.rows = rows.map(|rows| rows.into_iter().map(|(start, end)| start..end).collect());
        let table = Arc::clone(&self.table);
        let scan = py.detach(|| scan::Scan::new(table, options)).or_raise()?;
        let expressions =
            expressions.iter().map(|text| self.table.expression(text)).collect::<Result<_, _>>().or_raise()?;
        Ok(Scan::new(scan, Arc::clone(&self.table), expressions))
    }

    /// For each column a dict of its summary: zone, rows, digest, the bytes of min, max, mean, rms, count, intervals (empty if
    /// it holds no numbers), and the CRC-32C of its elements in each range of rows in `checked`; of rows from `start` on.
    #[pyo3(signature = (columns, memory, checked=Vec::new(), start=0))]
    fn summarise<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<usize>,
        memory: u64,
        checked: Vec<(u64, u64)>,
        start: u64,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = ReadOptions { cache: false, ..ReadOptions::default() };
        let checked: Vec<Range<u64>> = checked.into_iter().map(|(start, end)| start..end).collect();
        let summaries =
            py.detach(|| scan::summarise(&self.table, &columns, start, &checked, memory, &options)).or_raise()?;
        let list = PyList::empty(py);
        for summary in summaries {
            let entry = PyDict::new(py);
            entry.set_item("zone", summary.zone)?;
            entry.set_item("rows", summary.rows)?;
            entry.set_item("checks", summary.checks)?;
            entry.set_item("digest", format!("{:016x}", summary.digest))?;
            let parts = [
                ("min", summary.min),
                ("max", summary.max),
                ("mean", summary.mean),
                ("rms", summary.rms),
                ("count", summary.count),
                ("intervals", summary.intervals),
            ];
            for (name, bytes) in parts {
                entry.set_item(name, PyArray1::from_vec(py, bytes))?;
            }
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Digest that a valid summary of the column must have; its linked files must be unchanged, unless they are not `checked`.
    #[pyo3(signature = (column, checked=true))]
    fn digest(&self, py: Python<'_>, column: usize, checked: bool) -> PyResult<String> {
        let Some(column) = self.table.columns().get(column) else { return Ok(String::new()) };
        let sources = |column| if checked { scan::check_sources(column) } else { Ok(()) };
        let digest = py.detach(|| sources(column).and_then(|()| scan::digest(column))).or_raise()?;
        Ok(format!("{digest:016x}"))
    }
}
