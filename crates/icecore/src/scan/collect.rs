//! collect: pieces and their selected rows → elements of the output columns.
//!
//! Columns of the where-clause are already loaded. Of the others only chunks with needed rows are read: row by row if
//! few are needed, otherwise piece by piece.

use std::sync::{Mutex, PoisonError};

use icecore_grid::{Error, ErrorKind, Result};

use super::batch::Elements;
use super::filter::Hits;
use super::load::{Loaded, load, load_rows};
use super::table::Table;
use super::window::Piece;
use crate::pool::for_each;
use crate::read::{ReadOptions, Report};

/// A piece with needed rows; `tested` is its number among the pieces that the where-clause was evaluated for.
pub(crate) struct Wanted<'a> {
    pub piece: &'a Piece,
    pub hits: Hits,
    pub tested: Option<usize>,
}

/// Below this share of needed rows, single rows are read.
const FEW: usize = 16;

pub(crate) fn collect(
    table: &Table,
    columns: &[usize],
    wanted: &[Wanted<'_>],
    tested: &[(usize, &Loaded)],
    options: &ReadOptions,
) -> Result<(Vec<Elements>, Report)> {
    let at_hand = |column: &usize| tested.iter().find(|(c, _)| c == column).map(|(_, loaded)| *loaded);
    let all_tested = wanted.iter().all(|w| w.tested.is_some());
    let (known, missing): (Vec<usize>, Vec<usize>) =
        columns.iter().copied().partition(|c| all_tested && at_hand(c).is_some());
    let (mut read, report) = read_missing(table, &unique(&missing), wanted, options)?;
    let mut results = Vec::with_capacity(columns.len());
    for (i, column) in columns.iter().enumerate() {
        let size = table.column(*column)?.row_size();
        let elements = if known.contains(column) {
            let loaded = at_hand(column).ok_or_else(lost)?;
            let starts = wanted.iter().map(|w| loaded.starts.get(w.tested.unwrap_or(usize::MAX)).copied().unwrap_or(0));
            Elements { bytes: pick(&loaded.bytes, starts.collect(), wanted, size)?, blobs: loaded.blobs.clone() }
        } else {
            let at = read.iter().position(|(c, _)| c == column).ok_or_else(lost)?;
            let again = columns.get(i + 1..).is_some_and(|later| later.contains(column));
            let (_, loaded) = read.get_mut(at).ok_or_else(lost)?;
            finish(loaded, wanted, size, again)?
        };
        results.push(elements);
    }
    Ok((results, report))
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a column of a scan was not read")
}

fn unique(columns: &[usize]) -> Vec<usize> {
    let mut seen = Vec::new();
    columns
        .iter()
        .copied()
        .filter(|c| {
            !seen.contains(c) && {
                seen.push(*c);
                true
            }
        })
        .collect()
}

fn read_missing(
    table: &Table,
    columns: &[usize],
    wanted: &[Wanted<'_>],
    options: &ReadOptions,
) -> Result<(Vec<(usize, Loaded)>, Report)> {
    if columns.is_empty() {
        return Ok((Vec::new(), Report::default()));
    }
    let rows: usize = wanted.iter().map(|w| w.hits.count(w.piece)).sum();
    let all: usize = wanted.iter().map(|w| w.piece.count()).sum();
    let (loaded, report) = if rows * FEW < all {
        load_rows(table, columns, numbers(wanted), options)?
    } else {
        load(table, columns, &wanted.iter().map(|w| w.piece).collect::<Vec<_>>(), options)?
    };
    Ok((columns.iter().copied().zip(loaded).collect(), report))
}

/// The needed rows' numbers in the table.
fn numbers(wanted: &[Wanted<'_>]) -> Vec<u64> {
    let of = |w: &Wanted<'_>| -> Vec<u64> {
        match &w.hits {
            Hits::All => w.piece.rows.clone().collect(),
            Hits::Some(rows) => rows.iter().map(|r| w.piece.rows.start + u64::from(*r)).collect(),
        }
    };
    wanted.iter().flat_map(of).collect()
}

/// The selected rows of a column that was read for `wanted`; if it was read row by row, no copy is made.
fn finish(loaded: &mut Loaded, wanted: &[Wanted<'_>], size: usize, again: bool) -> Result<Elements> {
    let rows: usize = wanted.iter().map(|w| w.hits.count(w.piece)).sum();
    let as_it_is = loaded.starts.is_empty() || loaded.bytes.len() == rows * size;
    let blobs = loaded.blobs.clone();
    Ok(match (as_it_is, again) {
        (true, false) => Elements { bytes: std::mem::take(&mut loaded.bytes), blobs },
        (true, true) => Elements { bytes: loaded.bytes.clone(), blobs },
        (false, _) => Elements { bytes: pick(&loaded.bytes, loaded.starts.clone(), wanted, size)?, blobs },
    })
}

/// The elements of a piece, the needed rows among them, and their destination.
type Job<'a> = (&'a [u8], &'a Hits, &'a mut [u8]);

/// Copies the needed rows together, on all cores.
fn pick(bytes: &[u8], starts: Vec<usize>, wanted: &[Wanted<'_>], size: usize) -> Result<Vec<u8>> {
    const BATCH: usize = 32;
    let lengths: Vec<usize> = wanted.iter().map(|w| w.hits.count(w.piece) * size).collect();
    let mut out = vec![0u8; lengths.iter().sum()];
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(wanted.len());
    let mut rest = out.as_mut_slice();
    for ((w, start), length) in wanted.iter().zip(starts).zip(lengths) {
        let (target, behind) = std::mem::take(&mut rest).split_at_mut_checked(length).ok_or_else(lost)?;
        rest = behind;
        let source = bytes.get(start * size..(start + w.piece.count()) * size).ok_or_else(lost)?;
        jobs.push((source, &w.hits, target));
    }
    let batches: Vec<Mutex<&mut [Job<'_>]>> = jobs.chunks_mut(BATCH).map(Mutex::new).collect();
    for_each(batches.len(), |i| {
        let Some(batch) = batches.get(i) else { return Ok(()) };
        let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
        for (source, hits, target) in batch.iter_mut() {
            copy(source, hits, target, size);
        }
        Ok(())
    })?;
    drop(batches);
    Ok(out)
}

fn copy(source: &[u8], hits: &Hits, target: &mut [u8], size: usize) {
    fn fixed<const N: usize>(source: &[u8], rows: &[u32], target: &mut [u8]) {
        let source = source.as_chunks::<N>().0;
        for (slot, row) in target.as_chunks_mut::<N>().0.iter_mut().zip(rows) {
            if let Some(value) = source.get(*row as usize) {
                *slot = *value;
            }
        }
    }
    match (hits, size) {
        (Hits::All, _) => target.copy_from_slice(source),
        (Hits::Some(rows), 1) => fixed::<1>(source, rows, target),
        (Hits::Some(rows), 2) => fixed::<2>(source, rows, target),
        (Hits::Some(rows), 4) => fixed::<4>(source, rows, target),
        (Hits::Some(rows), 8) => fixed::<8>(source, rows, target),
        (Hits::Some(rows), _) => {
            for (slot, row) in target.chunks_exact_mut(size.max(1)).zip(rows) {
                if let Some(value) = source.get(*row as usize * size..(*row as usize + 1) * size) {
                    slot.copy_from_slice(value);
                }
            }
        }
    }
}
