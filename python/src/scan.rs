//! A running scan, batch by batch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use icecore::catalog::Mine;
use icecore::grid::Result;
use icecore::read::Report;
use icecore::scan::{self, Batch, Expression, Table, arrows, values};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;

#[pyclass(frozen, module = "icecore._icecore")]
pub struct Scan {
    scan: Mine<Mutex<scan::Scan>>,
    table: Arc<Table>,
    columns: Vec<usize>,
    expressions: Vec<Expression>,
}

/// Number of rows, and for each column the bytes of its elements.
type Rows<'py> = (usize, Vec<Bound<'py, PyArray1<u8>>>);

/// (validity, offsets, values) of an Arrow array.
type Buffers<'py> = (Option<Bound<'py, PyArray1<u8>>>, Option<Bound<'py, PyArray1<u8>>>, Bound<'py, PyArray1<u8>>);

impl Scan {
    pub fn new(scan: scan::Scan, table: Arc<Table>, expressions: Vec<Expression>) -> Self {
        let columns = scan.columns().to_vec();
        Self { scan: Mine::new(Mutex::new(scan)), table, columns, expressions }
    }

    fn scan(&self) -> Result<MutexGuard<'_, scan::Scan>> {
        Ok(self.scan.of("a scan")?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn batch(&self) -> Result<Option<Batch>> {
        self.scan()?.next_batch()
    }
}

#[pymethods]
impl Scan {
    /// The next rows as Arrow buffers: (rows, for each column and then for each expression its buffers); None at the end.
    fn next_arrow<'py>(&self, py: Python<'py>) -> PyResult<Option<(usize, Vec<Buffers<'py>>)>> {
        let made = py.detach(|| {
            let Some(batch) = self.batch()? else { return Ok(None) };
            let rows = batch.rows;
            let computed = values(&self.table, &self.columns, &batch, &self.expressions)?;
            let mut columns = arrows(&self.table, &self.columns, batch)?;
            columns.extend(computed);
            Ok(Some((rows, columns)))
        });
        let Some((rows, columns)) = made.or_raise()? else { return Ok(None) };
        let array = |bytes| PyArray1::from_vec(py, bytes);
        let buffers = columns.into_iter().map(|c| (c.validity.map(array), c.offsets.map(array), array(c.values)));
        Ok(Some((rows, buffers.collect())))
    }

    /// The next rows unconverted: (rows, for each column the bytes of its elements); None at the end.
    fn next_bytes<'py>(&self, py: Python<'py>) -> PyResult<Option<Rows<'py>>> {
        let Some(batch) = py.detach(|| self.batch()).or_raise()? else { return Ok(None) };
        let columns = batch.columns.into_iter().map(|c| PyArray1::from_vec(py, c.bytes));
        Ok(Some((batch.rows, columns.collect())))
    }

    /// The numbers of the next rows that match, without their columns; None at the end.
    fn next_rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u64>>>> {
        let rows = py.detach(|| self.scan()?.next_rows()).or_raise()?;
        Ok(rows.map(|rows| PyArray1::from_vec(py, rows)))
    }

    /// The (start, stop) of the row ranges in which all rows match according to the summaries.
    fn whole(&self) -> PyResult<Vec<(u64, u64)>> {
        let scan = self.scan().or_raise()?;
        Ok(scan.whole().iter().map(|rows| (rows.start, rows.end)).collect())
    }

    /// The (start, stop) of the row ranges that the summaries don't rule out, in order.
    fn kept(&self) -> PyResult<Vec<(u64, u64)>> {
        let scan = self.scan().or_raise()?;
        Ok(scan.kept().iter().map(|rows| (rows.start, rows.end)).collect())
    }

    /// Cost so far.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.scan().or_raise()?.report();
        let dict = PyDict::new(py);
        let counts = [
            ("rows", report.rows),
            ("zones", report.zones),
            ("zones_pruned", report.zones_pruned),
            ("zones_whole", report.zones_whole),
            ("rows_tested", report.rows_tested),
            ("rows_out", report.rows_out),
        ];
        for (name, count) in counts {
            dict.set_item(name, count)?;
        }
        for (name, read) in [("summaries", report.summaries), ("predicate", report.predicate), ("data", report.data)] {
            dict.set_item(name, read_report(py, read)?)?;
        }
        Ok(dict)
    }
}

fn read_report(py: Python<'_>, report: Report) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("requests", report.requests)?;
    dict.set_item("bytes_fetched", report.bytes_fetched)?;
    dict.set_item("chunks", report.chunks)?;
    Ok(dict)
}
