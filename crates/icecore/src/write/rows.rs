//! rows: append elements to a one-dimensional array, encoding chunk by chunk as they arrive.
//!
//! A box of a whole shard is evicted from every cache before it is encoded; a single chunk of it is not.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use icecore_chunk::{ArrayMeta, DType, MinMatch};
use icecore_grid::{Error, ErrorKind, Region, Result};

use super::append::Target;
use super::assemble::Assembly;
use super::buffers::Lent;
use super::data::Data;
use super::encode;
use super::pipeline::{Shared, Writing};

/// The end of a growing array. Its metadata must have the new length before [`Writing::flush`].
pub struct Rows {
    path: String,
    meta: Arc<ArrayMeta>,
    /// Elements per chunk, and per storage unit (a shard, or the chunk itself).
    chunk: u64,
    unit: u64,
    /// Where the first chunk begins, and its number.
    first: (u64, u64),
    /// Whether the last chunk is stored at its own length.
    is_exact: bool,
    /// Index of the first buffered element.
    next: u64,
    waiting: Vec<u8>,
    /// Ends of the buffered strings.
    ends: Vec<usize>,
    shard: Option<Arc<Growing>>,
}

/// A shard with chunks in the encoders' queue.
struct Growing {
    target: Target,
    meta: Arc<ArrayMeta>,
    assembly: Mutex<Option<Assembly>>,
    /// Number of chunks that have not arrived yet.
    left: AtomicU64,
}

impl Rows {
    /// Appends rows from `start` on, the beginning of a shard (or of a chunk without shards).
    ///
    /// # Errors
    /// `invalid` if `start` is not the beginning of a shard, or the array has several dimensions.
    pub fn new(path: &str, meta: Arc<ArrayMeta>, start: u64) -> Result<Self> {
        let shape = meta.grid.chunk_shape(&[0]);
        let inner = meta.shard.as_ref().map_or(&shape, |shard| &shard.chunk);
        let lengths = if meta.shape.len() == 1 { shape.first().zip(inner.first()) } else { None };
        let lengths = lengths.filter(|(unit, chunk)| **chunk > 0 && start.is_multiple_of(**unit));
        let Some((unit, chunk)) = lengths.map(|(unit, chunk)| (*unit, *chunk)) else {
            let message = format!("{path} of shape {:?} can't be written row by row from {start} on", meta.shape);
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        Ok(Self::at(path, meta, (chunk, unit), (start, start / unit), false))
    }

    /// Appends rows behind the last chunk of an array without shards, in chunks of `chunk` rows; the last one may be shorter.
    ///
    /// # Errors
    /// `invalid` if the array has shards or several dimensions, or if `chunk` is 0.
    pub fn behind(path: &str, meta: Arc<ArrayMeta>, chunk: u64) -> Result<Self> {
        let first = match (meta.grid.axes.as_slice(), &meta.shard) {
            ([axis], None) if chunk > 0 => (axis.len(), axis.count()),
            _ => {
                let message = format!("{path} of shape {:?} can't be continued by chunks of {chunk} rows", meta.shape);
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        };
        Ok(Self::at(path, meta, (chunk, chunk), first, true))
    }

    fn at(path: &str, meta: Arc<ArrayMeta>, (chunk, unit): (u64, u64), first: (u64, u64), is_exact: bool) -> Self {
        let (waiting, ends) = (Vec::new(), Vec::new());
        Rows { path: path.to_owned(), meta, chunk, unit, first, is_exact, next: first.0, waiting, ends, shard: None }
    }

    /// Whether elements are unsigned integers.
    #[must_use]
    pub fn unsigned(&self) -> bool {
        matches!(self.meta.dtype, DType::UInt64)
    }

    /// Bytes of an element.
    #[must_use]
    pub fn width(&self) -> usize {
        self.meta.dtype.size()
    }

    /// Number of elements that still fit into the current chunk: at least 1 after [`Rows::send_full`].
    #[must_use]
    pub fn room(&self) -> usize {
        self.chunk as usize - self.held()
    }

    /// Number of buffered elements.
    fn held(&self) -> usize {
        if self.meta.dtype.is_vlen() { self.ends.len() } else { self.waiting.len() / self.width().max(1) }
    }

    /// Buffers for the next strings, at most [`Rows::room`]: their ends and their bytes; `None` if elements have a
    /// fixed size.
    pub fn strings(&mut self) -> Option<(&mut Vec<usize>, &mut Vec<u8>)> {
        self.meta.dtype.is_vlen().then_some((&mut self.ends, &mut self.waiting))
    }

    /// Buffer for the next elements, native byte order, at most [`Rows::room`].
    pub fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Queues the current chunk if it is full.
    ///
    /// # Errors
    /// The first error of earlier queued data.
    pub fn send_full(&mut self, writing: &Writing) -> Result<()> {
        if self.room() > 0 { Ok(()) } else { self.send(writing) }
    }

    /// Queues the buffered elements; waits while the queue exceeds its limit. Only the last chunk may be short.
    fn send(&mut self, writing: &Writing) -> Result<()> {
        let (count, start) = (self.held(), self.next);
        if count == 0 {
            return Ok(());
        }
        let room = Vec::with_capacity(self.waiting.len());
        let waiting = std::mem::replace(&mut self.waiting, room);
        let region = Region { start: vec![start], shape: vec![count as u64] };
        self.next += region.shape[0];
        let data = if self.meta.dtype.is_vlen() {
            Data::Variable { blob: waiting, ends: std::mem::take(&mut self.ends) }
        } else {
            Data::Fixed(Box::new(waiting))
        };
        let bytes = data.bytes();
        let chunk = [if self.is_exact { count as u64 } else { self.chunk }];
        if self.meta.shard.is_none() {
            let (target, meta) = (self.target(writing, start), Arc::clone(&self.meta));
            return writing.spawn(&self.path, bytes, move |shared| {
                let encoded = encode::chunk(&meta, &[0], &chunk, &region, &data, &shared.memory, MinMatch::Usual)?;
                shared.place(target, encoded, &meta)
            });
        }
        let (shard, nth) = (self.shard(writing, start)?, start % self.unit / self.chunk);
        if self.next.is_multiple_of(self.unit) {
            self.shard = None;
        }
        writing.spawn(&self.path, bytes, move |shared| {
            let encoded = encode::chunk(&shard.meta, &[0], &chunk, &region, &data, &shared.memory, MinMatch::Usual)?;
            shard.arrive(shared, nth..nth + 1, encoded)
        })
    }

    /// Queues the rest and ends the array.
    ///
    /// # Errors
    /// As [`Rows::send_full`].
    pub fn finish(&mut self, writing: &Writing) -> Result<()> {
        self.send(writing)?;
        let Some(shard) = self.shard.take() else { return Ok(()) };
        let behind = (self.next % self.unit).div_ceil(self.chunk)..self.unit / self.chunk;
        writing.spawn(&self.path, 0, move |shared| shard.arrive(shared, behind, None))
    }

    fn target(&self, writing: &Writing, start: u64) -> Target {
        Target {
            path: self.path.clone(),
            chunk: self.first.1 + (start - self.first.0) / self.unit,
            turn: writing.shared.turn(),
        }
    }

    /// The shard that contains element `start`.
    fn shard(&mut self, writing: &Writing, start: u64) -> Result<Arc<Growing>> {
        if let Some(shard) = &self.shard {
            return Ok(Arc::clone(shard));
        }
        let left = self.unit / self.chunk;
        let out = writing.shared.memory.shards.take();
        let assembly = self.meta.shard.as_ref().map(|shard| Assembly::new(shard, left as usize, out)).transpose()?;
        let (target, meta) = (self.target(writing, start), Arc::clone(&self.meta));
        let shard = Arc::new(Growing { target, meta, assembly: Mutex::new(assembly), left: AtomicU64::new(left) });
        self.shard = Some(Arc::clone(&shard));
        Ok(shard)
    }
}

impl Growing {
    /// Adds encoded chunks; with the last one the shard is complete.
    fn arrive(&self, shared: &Shared, mut chunks: Range<u64>, encoded: Option<Lent>) -> Result<()> {
        let count = chunks.end - chunks.start;
        let mut assembly = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(assembly) = assembly.as_mut() {
            let mut encoded = encoded;
            chunks.try_for_each(|nth| assembly.add(nth as usize, encoded.take()))?;
        }
        if count == 0 || self.left.fetch_sub(count, Ordering::AcqRel) != count {
            return Ok(());
        }
        let complete = assembly.take();
        drop(assembly);
        match complete.zip(self.meta.shard.as_ref()) {
            Some((complete, shard)) => shared.place(self.target.clone(), complete.finish(shard)?, &self.meta),
            None => Ok(()),
        }
    }
}
