//! Summaries of columns, zone by zone, through the read pipeline: linked and packed alike.

use std::sync::{Mutex, PoisonError};

use icecore_chunk::{Number, with_number};
use icecore_grid::{Error, ErrorKind, Result};

use super::column::Column;
use super::identity::digest;
use super::load::{Loaded, load};
use super::table::Table;
use super::window::{PIECE, Piece, Run, Windows};
use crate::pool::for_each;
use crate::read::ReadOptions;

/// The summary of a column, one row a zone. See `icecore_chunk::Summary` for what each means.
#[derive(Debug, Default)]
pub struct ColumnSummary {
    /// Rows of a zone.
    pub zone: u64,
    pub rows: u64,
    /// What it was made from; see [`digest`].
    pub digest: u64,
    /// Of the column's type, native order; NaN (0 for whole numbers) where a zone has no value.
    pub min: Vec<u8>,
    pub max: Vec<u8>,
    pub mean: Vec<u8>,
    pub rms: Vec<u8>,
    /// Finite values that are not null, u32.
    pub count: Vec<u8>,
    /// Shape (zones, 4, 2).
    pub intervals: Vec<u8>,
}

/// Summarises some columns of numbers or times, reading about `memory` bytes at once.
///
/// # Errors
/// `dtype` for a column of something else, and those of a read.
pub fn summarise(table: &Table, columns: &[usize], memory: u64, options: &ReadOptions) -> Result<Vec<ColumnSummary>> {
    let (mut row_bytes, mut grain) = (1, 1);
    let mut summaries = Vec::with_capacity(columns.len());
    for number in columns {
        let column = table.column(*number)?;
        if column.width() != 1 {
            return Err(no_number(column));
        }
        row_bytes += column.dtype().size() as u64;
        grain = grain.max(column.chunk_rows());
        summaries.push(ColumnSummary {
            zone: PIECE,
            rows: table.rows(),
            digest: digest(column)?,
            ..Default::default()
        });
    }
    let everything = vec![Run { rows: 0..table.rows(), sure: true }];
    let mut windows = Windows::new(everything, memory / row_bytes, grain);
    loop {
        let pieces = windows.next();
        if pieces.is_empty() {
            return Ok(summaries);
        }
        let pieces: Vec<&Piece> = pieces.iter().collect();
        let (loaded, _) = load(table, columns, &pieces, options)?;
        for ((number, loaded), summary) in columns.iter().zip(&loaded).zip(&mut summaries) {
            window(table.column(*number)?, loaded, &pieces, summary)?;
        }
    }
}

/// Adds the zones of one window.
fn window(column: &Column, loaded: &Loaded, pieces: &[&Piece], summary: &mut ColumnSummary) -> Result<()> {
    const BATCH: usize = 16;
    let batches: Vec<(usize, &[&Piece])> = pieces.chunks(BATCH).enumerate().map(|(i, b)| (i * BATCH, b)).collect();
    let parts: Vec<Mutex<ColumnSummary>> = batches.iter().map(|_| Mutex::default()).collect();
    for_each(batches.len(), |i| {
        let (Some((first, batch)), Some(part)) = (batches.get(i), parts.get(i)) else { return Ok(()) };
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        for (j, piece) in batch.iter().enumerate() {
            let size = column.dtype().size();
            let start = loaded.starts.get(first + j).copied().unwrap_or(0) * size;
            let bytes = loaded.bytes.get(start..start + piece.count() * size).unwrap_or_default();
            with_number!(column.dtype(), T => part.add::<T>(bytes, column), else return Err(no_number(column)));
        }
        Ok(())
    })?;
    for part in parts {
        summary.append(part.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    Ok(())
}

fn no_number(column: &Column) -> Error {
    let kind = column.dtype().to_json();
    Error::new(ErrorKind::Dtype, format!("{} holds {kind}, which has no summary", column.view.path()))
        .hint("numbers, booleans and times have")
}

impl ColumnSummary {
    fn add<T: Number>(&mut self, bytes: &[u8], column: &Column) {
        let mut nulls: Vec<T> = column.nulls.iter().filter_map(|n| T::values(n).next()).collect();
        if column.is_time() {
            nulls.push(T::from_int(i128::from(icecore_chunk::NOT_A_TIME)));
        }
        let zone = icecore_chunk::summarise::<T>(bytes, &nulls);
        let nothing = T::from_float(f64::NAN); // 0 for whole numbers
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
    }
}
