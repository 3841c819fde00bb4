//! Memory for encoded bytes that is used again: for fresh memory the kernel takes as long as a fast codec for the data.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks of memory that wait for their next use. All of it is given back with the writer.
pub(crate) struct Buffers {
    free: Mutex<Vec<Idle>>,
    /// Bytes that may wait.
    most: usize,
}

/// A block that waits, and how many bytes of it were used: what was never touched takes no memory.
struct Idle {
    bytes: Vec<u8>,
    used: usize,
}

impl Buffers {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::default(), most })
    }

    /// An empty block: the one that was used last, whose memory may still be in a cache.
    pub fn take(self: &Arc<Self>) -> Lent {
        Lent { bytes: self.lock().pop().map(|idle| idle.bytes).unwrap_or_default(), home: Arc::clone(self) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block in use; it goes back when it is dropped.
pub(crate) struct Lent {
    pub bytes: Vec<u8>,
    home: Arc<Buffers>,
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
        let mut bytes = std::mem::take(&mut self.bytes);
        let used = bytes.len();
        bytes.clear();
        let mut free = self.home.lock();
        if free.iter().map(|idle| idle.used).sum::<usize>() + used <= self.home.most {
            free.push(Idle { bytes, used });
        }
    }
}

/// A writer's blocks: chunks by themselves, and whole shards.
pub(crate) struct Memory {
    pub chunks: Arc<Buffers>,
    pub shards: Arc<Buffers>,
}

impl Memory {
    /// `budget`: bytes of data that may be on their way; a quarter as much may wait to be used again.
    pub fn new(budget: usize) -> Self {
        Self { chunks: Buffers::new(budget / 16), shards: Buffers::new(budget / 4) }
    }
}
