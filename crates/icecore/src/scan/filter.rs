//! filter: pieces → rows for which the where-clause is true, on all cores.

use std::sync::{Mutex, PoisonError};

use icecore_grid::Result;
use icecore_where::{Filter, Rows, Values};

use super::load::Loaded;
use super::table::Table;
use super::window::Piece;
use crate::pool::for_each;

/// The needed rows of a piece, counted from its first row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hits {
    All,
    Some(Vec<u32>),
}

impl Hits {
    pub fn count(&self, piece: &Piece) -> usize {
        match self {
            Self::All => piece.count(),
            Self::Some(rows) => rows.len(),
        }
    }

    /// The numbers of the rows in the table.
    pub fn rows(&self, piece: &Piece) -> Vec<u64> {
        match self {
            Self::All => piece.rows.clone().collect(),
            Self::Some(rows) => rows.iter().map(|row| piece.rows.start + u64::from(*row)).collect(),
        }
    }

    /// Keeps the first `count` of a piece's needed rows.
    pub fn keep(&mut self, piece: &Piece, count: usize) {
        match self {
            Self::Some(rows) => rows.truncate(count),
            Self::All if count < piece.count() => *self = Self::Some((0..count as u32).collect()),
            Self::All => {}
        }
    }
}

/// Pieces per unit of work.
const BATCH: usize = 8;

/// Evaluates the where-clause for `pieces`, whose columns are in `loaded` (in the order of `filter.columns`).
pub(crate) fn filter(table: &Table, filter: &Filter, pieces: &[&Piece], loaded: &[Loaded]) -> Result<Vec<Hits>> {
    let batches: Vec<&[&Piece]> = pieces.chunks(BATCH).collect();
    let found: Vec<Mutex<Vec<Hits>>> = batches.iter().map(|_| Mutex::default()).collect();
    for_each(batches.len(), |i| {
        let batch = batches.get(i).copied().unwrap_or_default();
        let mut hits = Vec::with_capacity(batch.len());
        for (j, piece) in batch.iter().enumerate() {
            hits.push(Hits::Some(test(table, filter, piece, i * BATCH + j, loaded)?));
        }
        if let Some(slot) = found.get(i) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = hits;
        }
        Ok(())
    })?;
    Ok(found.into_iter().flat_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

fn test(table: &Table, filter: &Filter, piece: &Piece, number: usize, loaded: &[Loaded]) -> Result<Vec<u32>> {
    let mut columns = vec![None; table.columns().len()];
    for (column, loaded) in filter.columns.iter().zip(loaded) {
        let known = table.column(*column)?;
        let size = known.row_size();
        let start = loaded.starts.get(number).copied().unwrap_or(0) * size;
        let bytes = loaded.bytes.get(start..start + piece.count() * size).unwrap_or_default();
        let values = Values { dtype: known.dtype(), bytes, nulls: &known.nulls, blobs: &loaded.blobs };
        if let Some(slot) = columns.get_mut(*column) {
            *slot = Some(values);
        }
    }
    let mut hits = Vec::new();
    filter.hits(&Rows { count: piece.count(), columns: &columns }, &mut hits)?;
    Ok(hits)
}
