//! Load columns of selected pieces, in one coalesced plan.

use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Index, Mode, Result, Selection};

use super::column::Column;
use super::table::Table;
use super::window::Piece;
use crate::read::{Blobs, Query, ReadOptions, Report, Target, read};

/// One column's elements for some pieces.
#[derive(Default)]
pub(crate) struct Loaded {
    pub bytes: Vec<u8>,
    /// Blobs of variable-length strings.
    pub blobs: Vec<Arc<[u8]>>,
    /// For each piece, its first row in `bytes`.
    pub starts: Vec<usize>,
}

/// Pieces further apart than this are read separately, even within one chunk: a chunk may be as long as the table.
const WIDEST_GAP: u64 = 1 << 16;

/// Reads all rows of `pieces`, for several columns in one plan.
///
/// # Errors
/// The errors of a read; `memory`.
pub(crate) fn load(
    table: &Table,
    columns: &[usize],
    pieces: &[&Piece],
    options: &ReadOptions,
) -> Result<(Vec<Loaded>, Report)> {
    load_over(Vec::new(), table, columns, pieces, options)
}

/// Loads into the memory of an earlier load.
pub(crate) fn load_over(
    before: Vec<Loaded>,
    table: &Table,
    columns: &[usize],
    pieces: &[&Piece],
    options: &ReadOptions,
) -> Result<(Vec<Loaded>, Report)> {
    if columns.is_empty() || pieces.is_empty() {
        return Ok((columns.iter().map(|_| Loaded::default()).collect(), Report::default()));
    }
    let columns = columns.iter().map(|c| table.column(*c)).collect::<Result<Vec<_>>>()?;
    let plans: Vec<ColumnPlan> = columns.iter().map(|c| ColumnPlan::new(c, pieces)).collect::<Result<_>>()?;
    let mut rooms = before.into_iter().map(|loaded| loaded.bytes);
    let room = |(column, plan): (&&Column, &ColumnPlan)| buffer(column, plan.rows, rooms.next().unwrap_or_default());
    let mut buffers = columns.iter().zip(&plans).map(room).collect::<Result<Vec<_>>>()?;
    let blobs: Vec<Blobs> = columns.iter().map(|_| Blobs::default()).collect();
    let mut queries = Vec::new();
    for (((column, plan), buffer), blobs) in columns.iter().zip(&plans).zip(&mut buffers).zip(&blobs) {
        let mut rest = buffer.as_mut_slice();
        for selection in &plan.selections {
            let bytes = selection.out_len() as usize * column.dtype().size(); // fits: `buffer` holds them all
            let (part, behind) = std::mem::take(&mut rest).split_at_mut_checked(bytes).ok_or_else(too_large)?;
            rest = behind;
            queries.push(Query { array: &column.view, selection, target: Target::new(part), blobs });
        }
    }
    let report = read(&queries, options)?;
    drop(queries);
    let loaded = buffers.into_iter().zip(plans).zip(blobs);
    Ok((
        loaded.map(|((bytes, plan), blobs)| Loaded { bytes, blobs: blobs.into_vec(), starts: plan.starts }).collect(),
        report,
    ))
}

/// Reads single rows, ascending, for several columns in one plan.
pub(crate) fn load_rows(
    table: &Table,
    columns: &[usize],
    rows: Vec<u64>,
    options: &ReadOptions,
) -> Result<(Vec<Loaded>, Report)> {
    let columns = columns.iter().map(|c| table.column(*c)).collect::<Result<Vec<_>>>()?;
    let mut buffers = columns.iter().map(|c| buffer(c, rows.len(), Vec::new())).collect::<Result<Vec<_>>>()?;
    let single = Selection::points(&[table.rows()], std::slice::from_ref(&rows))?;
    let list: Vec<i64> = rows.iter().map(|row| *row as i64).collect(); // below 2⁶³, as all lengths
    let several = |column: &&Column| -> Result<Option<Selection>> {
        let shape = &column.view.meta().shape;
        let index = Index::list(list.clone());
        let indexes = column.indexes(index);
        if shape.len() == 1 { Ok(None) } else { Selection::resolve(shape, &indexes, Mode::Orthogonal).map(Some) }
    };
    let selections = columns.iter().map(several).collect::<Result<Vec<_>>>()?;
    let blobs: Vec<Blobs> = columns.iter().map(|_| Blobs::default()).collect();
    let mut queries = Vec::with_capacity(columns.len());
    for (((column, selection), buffer), blobs) in columns.iter().zip(&selections).zip(&mut buffers).zip(&blobs) {
        let selection = selection.as_ref().unwrap_or(&single);
        queries.push(Query { array: &column.view, selection, target: Target::new(buffer), blobs });
    }
    let report = read(&queries, options)?;
    drop(queries);
    let loaded = buffers.into_iter().zip(blobs);
    Ok((loaded.map(|(bytes, blobs)| Loaded { bytes, blobs: blobs.into_vec(), starts: Vec::new() }).collect(), report))
}

/// Uninitialised bytes for `rows` rows: `room` if it is large enough.
fn buffer(column: &Column, rows: usize, mut room: Vec<u8>) -> Result<Vec<u8>> {
    let bytes = rows.checked_mul(column.row_size()).filter(|b| *b < isize::MAX as usize).ok_or_else(too_large)?;
    if room.len() >= bytes {
        room.truncate(bytes);
        return Ok(room);
    }
    drop(room);
    let mut buffer: Vec<u8> = Vec::new();
    buffer.try_reserve_exact(bytes).map_err(|_| too_large())?;
    drop(buffer);
    Ok(vec![0; bytes]) // allocated as zeros, so that the system provides pages only as they are written
}

fn too_large() -> Error {
    Error::new(ErrorKind::Memory, "no memory for the columns of a scan")
        .hint("scan fewer columns, or with less memory=")
}

/// Reads of one column: pieces of one chunk are read together, so that no chunk is decoded twice.
struct ColumnPlan {
    selections: Vec<Selection>,
    starts: Vec<usize>,
    rows: usize,
}

impl ColumnPlan {
    fn new(column: &Column, pieces: &[&Piece]) -> Result<Self> {
        let chunk = column.chunk_rows().max(1);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let (mut starts, mut before) = (Vec::with_capacity(pieces.len()), 0u64);
        for piece in pieces {
            match runs.last_mut() {
                Some((_, end)) if joins(*end, piece.rows.start, chunk) => *end = piece.rows.end,
                _ => {
                    before += runs.last().map_or(0, |(start, end)| end - start);
                    runs.push((piece.rows.start, piece.rows.end));
                }
            }
            let start = runs.last().map_or(0, |(start, _)| *start);
            starts.push(usize::try_from(before + piece.rows.start - start).map_err(|_| too_large())?);
        }
        let rows = before + runs.last().map_or(0, |(start, end)| end - start);
        let shape = &column.view.meta().shape;
        let slice = |(start, end): &(u64, u64)| Index::Slice {
            start: Some(*start as i64), // lengths of arrays are below 2⁶³
            stop: Some(*end as i64),
            step: None,
        };
        let selections = runs
            .iter()
            .map(|run| Selection::resolve(shape, &column.indexes(slice(run)), Mode::Numpy))
            .collect::<Result<_>>()?;
        Ok(Self { selections, starts, rows: usize::try_from(rows).map_err(|_| too_large())? })
    }
}

fn joins(end: u64, start: u64, chunk: u64) -> bool {
    end == start || ((end - 1) / chunk == start / chunk && start - end <= WIDEST_GAP)
}
