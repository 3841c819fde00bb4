//! Reusable buffers for encoded bytes: the kernel takes as long to provide fresh memory as a fast codec to encode.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use icecore_grid::{Error, ErrorKind, Result};

/// Memory of a writer in bytes: queued data, encoded data, and pending blocks.
#[derive(Default)]
pub(crate) struct Tally {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Tally {
    pub fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    pub fn sub(&self, bytes: usize) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Current and largest number of bytes.
    pub fn read(&self) -> (usize, usize) {
        (self.now.load(Ordering::Relaxed), self.most.load(Ordering::Relaxed))
    }
}

/// Idle blocks of memory, freed with the writer.
pub(crate) struct Buffers {
    free: Mutex<Vec<Idle>>,
    /// Maximum bytes of idle blocks.
    most: usize,
    tally: Arc<Tally>,
}

/// An idle block and its used bytes; untouched pages take no memory.
#[derive(Default)]
struct Idle {
    bytes: Vec<u8>,
    used: usize,
}

impl Buffers {
    pub fn new(most: usize, tally: &Arc<Tally>) -> Arc<Self> {
        Arc::new(Self { free: Mutex::default(), most, tally: Arc::clone(tally) })
    }

    /// An empty block: the most recently used one, whose memory may still be in a cache.
    pub fn take(self: &Arc<Self>) -> Lent {
        let Idle { bytes, used } = self.lock().pop().unwrap_or_default();
        Lent { bytes, counted: used, home: Arc::clone(self) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block in use; it becomes idle when it is dropped.
pub(crate) struct Lent {
    pub bytes: Vec<u8>,
    /// Bytes that are known to have been touched, in this use or an earlier one.
    counted: usize,
    home: Arc<Buffers>,
}

impl Lent {
    /// Appends bytes.
    ///
    /// # Errors
    /// Memory.
    pub fn put(&mut self, more: &[u8]) -> Result<()> {
        room(&mut self.bytes, more.len())?;
        self.bytes.extend_from_slice(more);
        self.count();
        Ok(())
    }

    /// Records how much of it is touched.
    pub fn count(&mut self) {
        let more = self.bytes.len().saturating_sub(self.counted);
        self.home.tally.add(more);
        self.counted += more;
    }
}

/// Reserves room for `more` bytes.
pub(crate) fn room(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    let whole = bytes.len().saturating_add(more);
    bytes.try_reserve(more).map_err(|_| {
        Error::new(ErrorKind::Memory, format!("no memory for a chunk or shard of {whole} bytes or more"))
            .hint("give a smaller memory budget, smaller shards or fewer threads (ICECORE_THREADS)")
    })
}

impl Deref for Lent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.count();
        let mut bytes = std::mem::take(&mut self.bytes);
        let used = self.counted;
        bytes.clear();
        let mut free = self.home.lock();
        if free.iter().map(|idle| idle.used).sum::<usize>() + used <= self.home.most {
            free.push(Idle { bytes, used });
        } else {
            self.home.tally.sub(used);
        }
    }
}

/// A writer's blocks: for single chunks, and for whole shards.
pub(crate) struct Memory {
    pub chunks: Arc<Buffers>,
    pub shards: Arc<Buffers>,
    pub tally: Arc<Tally>,
}

impl Memory {
    /// `budget`: maximum bytes of queued data; idle blocks may take a quarter of it.
    pub fn new(budget: usize) -> Self {
        let tally = Arc::default();
        Self { chunks: Buffers::new(budget / 16, &tally), shards: Buffers::new(budget / 4, &tally), tally }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_for_the_memory_is_an_error() {
        let mut bytes = vec![1];
        assert_eq!(room(&mut bytes, usize::MAX >> 1).unwrap_err().kind, ErrorKind::Memory);
        assert_eq!(bytes, [1]);
    }

    #[test]
    fn blocks_are_counted_while_they_hold_memory() {
        let memory = Memory::new(400);
        let mut block = memory.shards.take();
        block.bytes.extend([1; 70]);
        block.count();
        assert_eq!(memory.tally.read(), (70, 70));
        drop(block);
        assert_eq!(memory.tally.read(), (70, 70), "it waits");
        let mut again = memory.shards.take();
        assert!(again.bytes.is_empty());
        again.bytes.extend([2; 90]);
        let mut other = memory.shards.take();
        other.bytes.extend([3; 40]);
        drop(again);
        drop(other);
        assert_eq!(memory.tally.read(), (90, 130), "there was no room for the second one");
    }
}
