//! Buffers that answers are received into, used again and again.
//!
//! Fresh memory is cleared by the kernel, page by page, before it can be written: a read of 300 MB spent a sixth of its
//! processor time on that. A buffer comes back when the last reader of the bytes in it is done.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use icecore_catalog::PerProcess;
use icecore_grid::{Error, ErrorKind, Result};

/// Bytes that are kept for the next answers; what comes back beyond that is freed.
const KEPT: usize = 16 << 20;
/// Smaller ones come from the allocator as fast.
const SMALL: usize = 64 << 10;

static IDLE: PerProcess<Mutex<Vec<Vec<u8>>>> = PerProcess::new();

/// An answer, or a part of one, as it comes in; and how long it is to become.
pub(super) struct Body(Vec<u8>, usize);

impl Body {
    /// Room for `length` bytes.
    pub fn new(length: u64) -> Result<Self> {
        let none = || Error::new(ErrorKind::Memory, format!("no memory for an answer of {length} bytes"));
        let length = usize::try_from(length).map_err(|_| none())?;
        let mut buffer = if length < SMALL { Vec::new() } else { idle(length) };
        buffer.try_reserve_exact(length).map_err(|_| none())?;
        Ok(Self(buffer, length))
    }

    /// Takes in the first of what came next, as much as there is room for.
    pub fn take_from(&mut self, coming: &mut Bytes) {
        let room = self.1 - self.0.len();
        let part = coming.split_to(room.min(coming.len()));
        self.0.extend_from_slice(&part);
    }

    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.0);
        if buffer.capacity() < SMALL {
            return;
        }
        buffer.clear();
        let mut idle = IDLE.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
        if idle.iter().map(Vec::capacity).sum::<usize>() + buffer.capacity() <= KEPT {
            idle.push(buffer);
        }
    }
}

/// The smallest idle buffer that is large enough, or an empty one.
fn idle(length: usize) -> Vec<u8> {
    let mut idle = IDLE.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
    let fitting = idle.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= length);
    let best = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(at, _)| at);
    best.map_or_else(Vec::new, |at| idle.swap_remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than what any other test of this crate receives at the same time.
    const LENGTH: usize = 5 << 20;

    fn received(byte: u8) -> Bytes {
        let mut body = Body::new(LENGTH as u64).unwrap();
        while body.len() < LENGTH as u64 {
            body.take_from(&mut Bytes::from(vec![byte; 1 << 16]));
        }
        body.into_bytes()
    }

    #[test]
    fn a_buffer_is_used_again_once_nobody_reads_it() {
        let first = received(1);
        let part = first.slice(10..20);
        let at = first.as_ptr();
        drop(first);
        let second = received(2);
        assert_ne!(second.as_ptr(), at, "a part of the first is still there");
        assert_eq!(&part[..], [1; 10]);
        drop(part);
        assert_eq!(received(3).as_ptr(), at);
        assert!(second.iter().all(|byte| *byte == 2));
    }

    #[test]
    fn no_more_than_was_asked_for_is_taken() {
        let mut body = Body::new(3).unwrap();
        let mut coming = Bytes::from_static(b"ab");
        body.take_from(&mut coming);
        coming = Bytes::from_static(b"cdef");
        body.take_from(&mut coming);
        assert_eq!((&body.into_bytes()[..], &coming[..]), (&b"abc"[..], &b"def"[..]));
    }

    #[test]
    fn absurd_lengths_take_no_memory() {
        assert_eq!(Body::new(u64::MAX).err().map(|e| e.kind), Some(ErrorKind::Memory));
    }
}
