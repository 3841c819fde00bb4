//! Reuses the memory of sent blocks: providing fresh memory costs the system more than reading does.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Maximum number of idle buffers, and maximum length of each.
const KEPT: usize = 16;
const LONGEST: usize = 16 << 20;
/// Shorter buffers come from the allocator.
const SHORTEST: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// A buffer with unspecified content; empty if none is idle.
    pub fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Bytes to send; their memory is reused once they are sent.
    pub fn lend(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        if !(SHORTEST..=LONGEST).contains(&bytes.capacity()) {
            return Bytes::from(bytes);
        }
        Bytes::from_owner(Lent { bytes, home: Arc::clone(self) })
    }

    fn keep(&self, bytes: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(bytes);
        }
    }
}

struct Lent {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.keep(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_once_the_bytes_are_gone() {
        let buffers = Arc::new(Buffers::default());
        let bytes = buffers.lend(vec![7; SHORTEST]);
        assert_eq!(buffers.take().capacity(), 0);
        drop(bytes.slice(..10));
        drop(bytes);
        assert_eq!(buffers.take().capacity(), SHORTEST);
        drop(buffers.lend(vec![7; 10]));
        assert_eq!(buffers.take().capacity(), 0);
    }
}
