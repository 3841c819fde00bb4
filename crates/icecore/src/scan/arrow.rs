//! Elements → the buffers of an Arrow array.
//!
//! Numbers are unchanged and nulls become a validity bitmap; booleans become bits, strings become offsets and UTF-8,
//! and times become counts of a unit that Arrow supports.

use std::sync::{Mutex, PoisonError};

use icecore_chunk::{DType, NOT_A_TIME, Number, with_number};
use icecore_grid::{Error, ErrorKind, Result};
use icecore_where::{decoded, text_of};

use super::batch::{Batch, Elements};
use super::column::Column;
use super::table::Table;
use crate::pool::for_each;

/// Buffers as in Arrow's columnar format.
#[derive(Debug, Default)]
pub struct ArrowColumn {
    /// One bit per element, the lowest first; None if no element is null.
    pub validity: Option<Vec<u8>>,
    /// Ends of strings, i64.
    pub offsets: Option<Vec<u8>>,
    pub values: Vec<u8>,
}

/// Converts the columns of a batch to Arrow buffers, on all cores; `columns` are their numbers in the table.
///
/// # Errors
/// `unsupported` for types that Arrow lacks; `corrupt` for invalid strings; `mismatch` for times beyond 64 bits;
/// `internal` for a column that the table lacks.
pub fn arrows(table: &Table, columns: &[usize], batch: Batch) -> Result<Vec<ArrowColumn>> {
    let jobs: Vec<Mutex<Elements>> = batch.columns.into_iter().map(Mutex::new).collect();
    let made: Vec<Mutex<ArrowColumn>> = jobs.iter().map(|_| Mutex::default()).collect();
    for_each(jobs.len(), |i| {
        let (Some(job), Some(slot), Some(column)) = (jobs.get(i), made.get(i), columns.get(i)) else { return Ok(()) };
        let elements = std::mem::take(&mut *job.lock().unwrap_or_else(PoisonError::into_inner));
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = arrow(table.column(*column)?, elements)?;
        Ok(())
    })?;
    Ok(made.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

fn arrow(column: &Column, elements: Elements) -> Result<ArrowColumn> {
    let dtype = column.dtype();
    let nulls = valid(column, &elements.bytes);
    match dtype {
        DType::Bool => {
            Ok(ArrowColumn { validity: nulls, offsets: None, values: bits(elements.bytes.iter().map(|b| *b != 0)) })
        }
        DType::Bytes(_) | DType::Utf32(_) | DType::VlenUtf8 => texts(dtype, &elements, nulls),
        DType::DateTime64 { unit, scale } | DType::TimeDelta64 { unit, scale } => {
            let factor = arrow_unit(unit).map(|(_, factor)| factor).ok_or_else(|| no_arrow(column))?;
            let factor =
                i64::try_from(*scale).ok().and_then(|s| s.checked_mul(factor)).ok_or_else(|| no_arrow(column))?;
            Ok(ArrowColumn { validity: nulls, offsets: None, values: times(elements.bytes, factor, column)? })
        }
        _ => with_number!(dtype, _T => Ok(ArrowColumn { validity: nulls, offsets: None, values: elements.bytes }),
            else Err(no_arrow(column))),
    }
}

/// Arrow's unit for NumPy's, and the factor between them.
pub(crate) fn arrow_unit(unit: &str) -> Option<(&'static str, i64)> {
    Some(match unit {
        "W" => ("s", 604_800),
        "D" => ("s", 86_400),
        "h" => ("s", 3600),
        "m" => ("s", 60),
        "s" => ("s", 1),
        "ms" => ("ms", 1),
        "us" => ("us", 1),
        "ns" => ("ns", 1),
        _ => return None,
    })
}

fn no_arrow(column: &Column) -> Error {
    let message = format!("{} holds {}, which Arrow can't", column.view.path(), column.dtype().to_json());
    Error::new(ErrorKind::Unsupported, message).hint("remove the column, or read it as an array")
}

fn times(bytes: Vec<u8>, factor: i64, column: &Column) -> Result<Vec<u8>> {
    if factor == 1 {
        return Ok(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    for tick in i64::values(&bytes) {
        let scaled = if tick == NOT_A_TIME { Some(tick) } else { tick.checked_mul(factor) };
        let scaled = scaled.ok_or_else(|| {
            let message = format!("{} holds a time of {tick} units, beyond Arrow's 64 bits", column.view.path());
            Error::new(ErrorKind::Mismatch, message)
        })?;
        out.extend_from_slice(&scaled.to_ne_bytes());
    }
    Ok(out)
}

/// The validity bitmap; NaN is a valid number, as everywhere in Arrow.
fn valid(column: &Column, bytes: &[u8]) -> Option<Vec<u8>> {
    let map = with_number!(column.dtype(), T => {
        let mut nulls: Vec<T> = column.nulls.iter().filter_map(|n| T::values(n).next()).filter(|n| !n.is_nan()).collect();
        if column.is_time() {
            nulls.push(T::from_int(i128::from(NOT_A_TIME)));
        }
        if nulls.is_empty() || !T::values(bytes).any(|v| nulls.contains(&v)) {
            return None;
        }
        bits(T::values(bytes).map(|v| !nulls.contains(&v)))
    }, else return None);
    Some(map)
}

fn bits(values: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.size_hint().0 / 8 + 1);
    for (i, value) in values.enumerate() {
        if i % 8 == 0 {
            out.push(0);
        }
        if let Some(last) = out.last_mut() {
            *last |= u8::from(value) << (i % 8);
        }
    }
    out
}

fn texts(dtype: &DType, elements: &Elements, validity: Option<Vec<u8>>) -> Result<ArrowColumn> {
    let size = dtype.size().max(1);
    let mut values = Vec::with_capacity(if dtype.is_vlen() { 0 } else { elements.bytes.len() });
    let mut offsets = Vec::with_capacity((elements.bytes.len() / size + 1) * 8);
    offsets.extend_from_slice(&0i64.to_ne_bytes());
    let mut end = |values: &Vec<u8>| offsets.extend_from_slice(&(values.len() as i64).to_ne_bytes());
    if matches!(dtype, DType::Bytes(_)) && elements.bytes.is_ascii() {
        for element in elements.bytes.chunks_exact(size) {
            values.extend_from_slice(element); // the whole element: copies of constant length are faster
            values.truncate(values.len() - zeros(element));
            end(&values);
        }
    } else {
        let mut buffer = Vec::new();
        for element in elements.bytes.chunks_exact(size) {
            let text = text_of(dtype, element, &elements.blobs, &mut buffer)?;
            values.extend_from_slice(decoded(text).as_bytes()); // Arrow requires UTF-8
            end(&values);
        }
    }
    Ok(ArrowColumn { validity, offsets: Some(offsets), values })
}

/// Number of trailing zeros.
fn zeros(element: &[u8]) -> usize {
    match element.last_chunk::<8>() {
        Some(last) if *last != [0; 8] => u64::from_be_bytes(*last).trailing_zeros() as usize / 8,
        _ => element.iter().rev().take_while(|byte| **byte == 0).count(),
    }
}
