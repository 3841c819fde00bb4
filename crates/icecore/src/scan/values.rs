//! Values of expressions for the rows of a batch, on all cores.

use std::sync::{Mutex, PoisonError};

use icecore_grid::Result;
use icecore_where::{Expression, Rows, Values};

use super::arrow::ArrowColumn;
use super::batch::Batch;
use super::table::Table;
use crate::pool::for_each;

/// Rows per unit of work.
const PIECE: usize = 1 << 14;

/// Evaluates expressions as Arrow columns of float64, in which null is NaN; `columns` are the numbers of the batch's
/// columns in the table.
///
/// # Errors
/// `internal` if the batch lacks a column of an expression.
pub fn values(table: &Table, columns: &[usize], batch: &Batch, expressions: &[Expression]) -> Result<Vec<ArrowColumn>> {
    let pieces = batch.rows.div_ceil(PIECE);
    let made: Vec<Mutex<Vec<f64>>> = (0..pieces * expressions.len()).map(|_| Mutex::default()).collect();
    for_each(made.len(), |i| {
        let (Some(expression), Some(slot)) = (expressions.get(i / pieces), made.get(i)) else { return Ok(()) };
        let first = i % pieces * PIECE;
        let count = PIECE.min(batch.rows - first);
        let mut found = vec![None; table.columns().len()];
        for (column, elements) in columns.iter().zip(&batch.columns) {
            let known = table.column(*column)?;
            let size = known.row_size();
            let bytes = elements.bytes.get(first * size..(first + count) * size).unwrap_or_default();
            if let Some(slot) = found.get_mut(*column) {
                *slot = Some(Values { dtype: known.dtype(), bytes, nulls: &known.nulls, blobs: &elements.blobs });
            }
        }
        let values = expression.values(&Rows { count, columns: &found })?;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = values;
        Ok(())
    })?;
    let mut parts = made.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    let column = |_| {
        let values = parts.by_ref().take(pieces).flatten().flat_map(f64::to_ne_bytes).collect();
        ArrowColumn { validity: None, offsets: None, values }
    };
    Ok(expressions.iter().map(column).collect())
}
