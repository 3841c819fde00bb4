//! assemble: encoded chunks → the bytes of their shard, with its index.

use icecore_chunk::Shard;
use icecore_grid::Result;

use super::buffers::{Lent, room};

/// An unfinished shard. Its chunks may arrive out of order and are stored in order; `None` is only fill values.
pub(crate) struct Assembly {
    out: Lent,
    entries: Vec<Option<(u64, u64)>>,
    /// Chunks that arrived early, by number.
    early: Vec<(usize, Option<Lent>)>,
    count: usize,
}

impl Assembly {
    /// A shard of `count` chunks, in the memory of `out`.
    pub fn new(shard: &Shard, count: usize, mut out: Lent) -> Result<Self> {
        out.bytes.clear();
        if !shard.index_at_end {
            room(&mut out.bytes, shard.index_bytes(count))?;
            out.bytes.resize(shard.index_bytes(count), 0); // filled in at the end
        }
        Ok(Self { out, entries: Vec::with_capacity(count), early: Vec::new(), count })
    }

    /// Adds chunk number `nth`.
    pub fn add(&mut self, nth: usize, chunk: Option<Lent>) -> Result<()> {
        if nth != self.entries.len() {
            self.early.push((nth, chunk));
            return Ok(());
        }
        self.append(chunk)?;
        while let Some(at) = self.early.iter().position(|(nth, _)| *nth == self.entries.len()) {
            let (_, chunk) = self.early.swap_remove(at);
            self.append(chunk)?;
        }
        Ok(())
    }

    fn append(&mut self, chunk: Option<Lent>) -> Result<()> {
        self.entries.push(chunk.as_ref().map(|bytes| (self.out.len() as u64, bytes.len() as u64)));
        self.out.put(chunk.as_deref().unwrap_or_default())
    }

    /// The finished bytes of `shard`, if it has all its chunks; `None` if all chunks are empty.
    pub fn finish(mut self, shard: &Shard) -> Result<Option<Lent>> {
        debug_assert_eq!(self.entries.len(), self.count);
        if self.entries.iter().all(Option::is_none) {
            return Ok(None);
        }
        let index = shard.encode_index(&self.entries)?;
        match shard.index_at_end {
            true => self.out.put(&index)?,
            false => self.out.bytes[..index.len()].copy_from_slice(&index),
        }
        Ok(Some(self.out))
    }
}
