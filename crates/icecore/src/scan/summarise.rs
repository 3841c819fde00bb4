//! Summaries of columns, zone by zone, through the read pipeline: linked and packed alike.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use icecore_chunk::{Number, crc32c, with_number};
use icecore_grid::{Error, ErrorKind, Result};
use icecore_where::text_of;

use super::column::Column;
use super::identity::digest;
use super::load::{Loaded, load_over};
use super::table::Table;
use super::window::{PIECE, Piece, Run, Windows};
use crate::pool::for_each;
use crate::read::ReadOptions;
use crate::write::string_sum;

/// Bytes of a window, which is extended to the end of the longest chunk.
const MOST: u64 = 1 << 28;

/// The summary of a column, one row per zone. See `icecore_chunk::Summary` for the fields.
#[derive(Debug, Default)]
pub struct ColumnSummary {
    /// Rows per zone.
    pub zone: u64,
    pub rows: u64,
    /// Digest of the summarised data; see [`digest`].
    pub digest: u64,
    /// Of the column's type, native order; NaN (0 for integers) for a zone without values.
    pub min: Vec<u8>,
    pub max: Vec<u8>,
    pub mean: Vec<u8>,
    pub rms: Vec<u8>,
    /// Finite values that are not null, u32.
    pub count: Vec<u8>,
    /// Shape (zones, 4, 2).
    pub intervals: Vec<u8>,
    /// The CRC-32C of the elements of each range in `checked`, native order.
    pub checks: Vec<u32>,
}

/// Summarises columns of numbers or times, reading about `memory` bytes at a time, and computes the checksums of their
/// rows in the ranges `checked`. With such ranges, columns of other types get checksums only. Only rows from `from` on,
/// the start of a zone, are read.
///
/// # Errors
/// `dtype` for a column of another type; the errors of a read.
pub fn summarise(
    table: &Table,
    columns: &[usize],
    from: u64,
    checked: &[Range<u64>],
    memory: u64,
    options: &ReadOptions,
) -> Result<Vec<ColumnSummary>> {
    if !from.is_multiple_of(PIECE) || checked.iter().any(|rows| rows.start < from) {
        let message = format!("no zone, or rows to check before it, begin at row {from} of {}", table.rows());
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let (mut row_bytes, mut grain) = (1, 1);
    let mut summaries = Vec::with_capacity(columns.len());
    for number in columns {
        let column = table.column(*number)?;
        if column.width() != 1 || (checked.is_empty() && !is_number(column)) {
            return Err(no_number(column));
        }
        row_bytes += column.dtype().size() as u64;
        grain = grain.max(column.chunk_rows());
        summaries.push(ColumnSummary {
            zone: PIECE,
            rows: table.rows(),
            digest: digest(column)?,
            checks: vec![0; checked.len()],
            ..Default::default()
        });
    }
    // With long strings a window ends inside other columns' chunks, which are then decoded again.
    let grain = if grain.saturating_mul(row_bytes) > MOST { PIECE } else { grain };
    let everything = vec![Run { rows: from.min(table.rows())..table.rows(), sure: true }];
    let mut least = 1;
    for number in columns {
        if is_number(table.column(*number)?) {
            least = PIECE; // each piece is a zone
        }
    }
    let mut windows = Windows::new(everything, memory / row_bytes, least, grain);
    let mut loaded = Vec::new();
    loop {
        let pieces = windows.next();
        if pieces.is_empty() {
            return Ok(summaries);
        }
        let pieces: Vec<&Piece> = pieces.iter().collect();
        (loaded, _) = load_over(loaded, table, columns, &pieces, options)?;
        window(table, columns, &loaded, &pieces, checked, &mut summaries)?;
    }
}

/// Adds the zones of one window, and updates the checksums with its rows.
fn window(
    table: &Table,
    columns: &[usize],
    loaded: &[Loaded],
    pieces: &[&Piece],
    checked: &[Range<u64>],
    summaries: &mut [ColumnSummary],
) -> Result<()> {
    const BATCH: usize = 16;
    let batches: Vec<(usize, &[&Piece])> = pieces.chunks(BATCH).enumerate().map(|(i, b)| (i * BATCH, b)).collect();
    let parts: Vec<Mutex<ColumnSummary>> = (0..columns.len() * batches.len()).map(|_| Mutex::default()).collect();
    for_each(parts.len(), |i| {
        let (c, b) = (i / batches.len(), i % batches.len());
        let (Some(number), Some(loaded), Some(summary)) = (columns.get(c), loaded.get(c), summaries.get(c)) else {
            return Ok(());
        };
        let (Some((first, batch)), Some(part)) = (batches.get(b), parts.get(i)) else { return Ok(()) };
        let (column, mut part) = (table.column(*number)?, part.lock().unwrap_or_else(PoisonError::into_inner));
        if b == 0 {
            part.checks = checks(&summary.checks, checked, column, loaded, pieces)?;
        }
        if is_number(column) {
            part.zones(column, loaded, *first, batch)?;
        }
        Ok(())
    })?;
    for (i, part) in parts.into_iter().enumerate() {
        if let Some(summary) = summaries.get_mut(i / batches.len()) {
            summary.append(part.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
    }
    Ok(())
}

/// Checksums of ranges of rows; `before` holds those of the rows before these consecutive pieces.
fn checks(
    before: &[u32],
    checked: &[Range<u64>],
    column: &Column,
    loaded: &Loaded,
    pieces: &[&Piece],
) -> Result<Vec<u32>> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(before.to_vec()) };
    let (dtype, size) = (column.dtype(), column.dtype().size());
    let check = |(before, rows): (&u32, &Range<u64>)| {
        let (start, end) = (rows.start.max(first.rows.start), rows.end.min(last.rows.end));
        let at = |row: u64| (row - first.rows.start) as usize * size;
        let bytes = if start < end { loaded.bytes.get(at(start)..at(end)) } else { None };
        let bytes = bytes.unwrap_or_default();
        if !dtype.is_vlen() {
            return Ok(crc32c(*before, bytes));
        }
        let mut buffer = Vec::new();
        bytes
            .chunks_exact(size)
            .try_fold(*before, |sum, element| Ok(string_sum(sum, text_of(dtype, element, &loaded.blobs, &mut buffer)?)))
    };
    before.iter().zip(checked).map(check).collect()
}

fn is_number(column: &Column) -> bool {
    with_number!(column.dtype(), T => { let _ = T::SIZE; true }, else false)
}

fn no_number(column: &Column) -> Error {
    let kind = column.dtype().to_json();
    Error::new(ErrorKind::Dtype, format!("{} holds {kind}, which has no summary", column.view.path()))
        .hint("numbers, booleans and times have")
}

impl ColumnSummary {
    /// Adds one zone for each piece.
    fn zones(&mut self, column: &Column, loaded: &Loaded, first: usize, pieces: &[&Piece]) -> Result<()> {
        for (j, piece) in pieces.iter().enumerate() {
            let size = column.dtype().size();
            let start = loaded.starts.get(first + j).copied().unwrap_or(0) * size;
            let bytes = loaded.bytes.get(start..start + piece.count() * size).unwrap_or_default();
            with_number!(column.dtype(), T => self.add::<T>(bytes, column), else return Err(no_number(column)));
        }
        Ok(())
    }

    fn add<T: Number>(&mut self, bytes: &[u8], column: &Column) {
        let mut nulls: Vec<T> = column.nulls.iter().filter_map(|n| T::values(n).next()).collect();
        if column.is_time() {
            nulls.push(T::from_int(i128::from(icecore_chunk::NOT_A_TIME)));
        }
        let zone = icecore_chunk::summarise::<T>(bytes, &nulls);
        let nothing = T::from_float(f64::NAN); // 0 for integers
        let or = |value: T, there: bool| if there { value } else { nothing };
        let finite = zone.count > 0;
        or(zone.min, finite).put(&mut self.min);
        or(zone.max, finite).put(&mut self.max);
        (if finite { zone.mean } else { f64::NAN }).put(&mut self.mean);
        (if finite { zone.rms } else { f64::NAN }).put(&mut self.rms);
        zone.count.put(&mut self.count);
        for (low, high) in zone.intervals {
            or(low, zone.covers).put(&mut self.intervals);
            or(high, zone.covers).put(&mut self.intervals);
        }
    }

    fn append(&mut self, other: Self) {
        self.min.extend(other.min);
        self.max.extend(other.max);
        self.mean.extend(other.mean);
        self.rms.extend(other.rms);
        self.count.extend(other.count);
        self.intervals.extend(other.intervals);
        if !other.checks.is_empty() {
            self.checks = other.checks;
        }
    }
}
