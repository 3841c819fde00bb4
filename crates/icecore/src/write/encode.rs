//! encode: a box of data → the stored bytes of a chunk or shard in it.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use icecore_chunk::{ArrayMeta, MinMatch, Scratch};
use icecore_grid::{Error, ErrorKind, Region, Result};
use rayon::prelude::*;

use super::assemble::Assembly;
use super::buffers::{self, Lent, Memory};
use super::data::Data;
use super::gather::{Window, all_fill, hangs_over, in_one_run, pad, runs};
use super::min_match::suited;

#[derive(Default)]
struct Worker {
    scratch: Scratch,
    chunk: Vec<u8>,
}

thread_local!(static WORKER: Cell<Option<Box<Worker>>> = const { Cell::new(None) });

/// The stored bytes of chunk (or shard) number `flat`, or None if it has only fill values.
pub(crate) fn encode(
    meta: &ArrayMeta,
    flat: u64,
    region: &Region,
    data: &Data,
    memory: &Memory,
) -> Result<Option<Lent>> {
    let coords = meta.grid.coords(flat);
    let start: Vec<u64> =
        meta.grid.region(&coords).start.iter().zip(&region.start).map(|(a, b)| a.saturating_sub(*b)).collect();
    let shape = meta.grid.chunk_shape(&coords);
    let Some(shard) = &meta.shard else {
        return chunk(meta, &start, &shape, region, data, memory, MinMatch::Usual);
    };
    let counts = shard.counts(&shape);
    let total = counts.iter().product::<u64>();
    let encoded = |inner: u64, min_match| {
        let offset = unflatten(inner, &counts);
        let at: Vec<u64> = start.iter().zip(offset).zip(&shard.chunk).map(|((s, o), c)| s + o * c).collect();
        chunk(meta, &at, &shard.chunk, region, data, memory, min_match)
    };
    let min_match = if meta.chain.uses_min_match() { suited(total, encoded)? } else { MinMatch::Usual };
    let assembly = Mutex::new(Assembly::new(shard, total as usize, memory.shards.take())?);
    // One after another as threads become free, so that few encoded chunks wait for their turn.
    (0..total).par_bridge().try_for_each(|inner| {
        let encoded = encoded(inner, min_match)?;
        assembly.lock().unwrap_or_else(PoisonError::into_inner).add(inner as usize, encoded)
    })?;
    assembly.into_inner().unwrap_or_else(PoisonError::into_inner).finish(shard)
}

pub(super) fn unflatten(mut flat: u64, counts: &[u64]) -> Vec<u64> {
    let mut coords = vec![0; counts.len()];
    for (coordinate, count) in coords.iter_mut().zip(counts).rev() {
        *coordinate = flat % count.max(&1);
        flat /= count.max(&1);
    }
    coords
}

/// Encodes the chunk that starts at `start` of the region.
pub(super) fn chunk(
    meta: &ArrayMeta,
    start: &[u64],
    shape: &[u64],
    region: &Region,
    data: &Data,
    memory: &Memory,
    min_match: MinMatch,
) -> Result<Option<Lent>> {
    if start.iter().zip(&region.shape).any(|(s, n)| s >= n) {
        return Ok(None); // completely beyond the array's edge
    }
    let mut worker = WORKER.take().unwrap_or_default(); // taken, not borrowed: see `read::decode`
    worker.scratch.min_match = min_match;
    let window = Window { shape: &region.shape, start, chunk: shape };
    let mut out = memory.chunks.take();
    let result = match data {
        Data::Fixed(bytes) => fixed(meta, &window, (**bytes).as_ref(), &mut worker, &mut out.bytes),
        Data::Variable { blob, ends } => variable(meta, &window, blob, ends, &mut worker, &mut out.bytes),
    };
    WORKER.set(Some(worker));
    out.count();
    Ok(result?.then_some(out))
}

fn elements(shape: &[u64]) -> Result<usize> {
    let elements = shape.iter().try_fold(1u64, |n, s| n.checked_mul(*s)).and_then(|n| usize::try_from(n).ok());
    elements
        .ok_or_else(|| Error::new(ErrorKind::Memory, format!("a chunk of {shape:?} elements does not fit into memory")))
}

/// Encodes into `encoded`; returns false if all elements are the fill value.
fn fixed(
    meta: &ArrayMeta,
    window: &Window<'_>,
    bytes: &[u8],
    worker: &mut Worker,
    encoded: &mut Vec<u8>,
) -> Result<bool> {
    let itemsize = meta.dtype.size();
    let size = elements(window.chunk)?
        .checked_mul(itemsize)
        .ok_or_else(|| Error::new(ErrorKind::Memory, "a chunk does not fit into memory"))?;
    // Some codecs require elements that are aligned as numbers.
    let align = 1 << itemsize.trailing_zeros().min(3);
    let lying = in_one_run(window).map(|from| &bytes[from * itemsize..from * itemsize + size]);
    let chunk = match lying.filter(|chunk| chunk.as_ptr().addr().is_multiple_of(align)) {
        Some(chunk) => chunk,
        None => gathered(meta, window, bytes, size, &mut worker.chunk)?,
    };
    if all_fill(chunk, &meta.fill) {
        return Ok(false);
    }
    meta.chain.encode_into(chunk, window.chunk, encoded, &mut worker.scratch).map(|()| true)
}

/// Collects the `size` bytes of a chunk, padded beyond the array's edge.
fn gathered<'a>(
    meta: &ArrayMeta,
    window: &Window<'_>,
    bytes: &[u8],
    size: usize,
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    let itemsize = meta.dtype.size();
    buffers::room(room, size.saturating_sub(room.len()))?;
    room.resize(size, 0);
    if hangs_over(window) {
        pad(room, &meta.fill);
    }
    runs(window, |from, to, n| {
        room[to * itemsize..(to + n) * itemsize].copy_from_slice(&bytes[from * itemsize..(from + n) * itemsize]);
    });
    Ok(room)
}

fn variable(
    meta: &ArrayMeta,
    window: &Window<'_>,
    blob: &[u8],
    ends: &[usize],
    worker: &mut Worker,
    encoded: &mut Vec<u8>,
) -> Result<bool> {
    let mut parts: Vec<&[u8]> = vec![&meta.fill; elements(window.chunk)?];
    runs(window, |from, to, n| {
        for i in 0..n {
            let start = if from + i == 0 { 0 } else { ends[from + i - 1] };
            parts[to + i] = &blob[start..ends[from + i]];
        }
    });
    if parts.iter().all(|p| *p == meta.fill.as_slice()) {
        return Ok(false);
    }
    *encoded = meta.chain.encode_vlen(&parts, &mut worker.scratch)?;
    Ok(true)
}
