//! Reusable buffers for responses.
//!
//! The kernel clears fresh memory page by page before it is written: this took a sixth of the processor time of a read
//! of 300 MB. A buffer returns when the last reader of its bytes is done.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use icecore_catalog::PerProcess;
use icecore_grid::{Error, ErrorKind, Result};

/// Maximum bytes of idle buffers; buffers beyond that are freed.
const KEPT: usize = 16 << 20;
/// Smaller buffers come from the allocator, which is as fast.
const SMALL: usize = 64 << 10;

static IDLE: PerProcess<Mutex<Vec<Vec<u8>>>> = PerProcess::new();

/// Memory of one response: written from the front on, and readable up to the written end.
struct Room {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: plain memory. One `Body` writes it, behind all that it has handed out for reading.
unsafe impl Send for Room {}
// SAFETY: as above.
unsafe impl Sync for Room {}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: it came from a vector of this capacity, and this is its only owner.
        let buffer = unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) };
        if buffer.capacity() < SMALL {
            return;
        }
        let mut idle = IDLE.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
        if idle.iter().map(Vec::capacity).sum::<usize>() + buffer.capacity() <= KEPT {
            idle.push(buffer);
        }
    }
}

/// The written bytes.
struct Part {
    room: Arc<Room>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: these bytes are in the room, were written before they were handed out, and aren't written again.
        unsafe { std::slice::from_raw_parts(self.room.start.as_ptr().add(self.range.start), self.range.len()) }
    }
}

/// A response as it arrives, handed out in parts.
pub(super) struct Body {
    room: Arc<Room>,
    /// Numbers of bytes: expected, received, handed out.
    length: usize,
    came: usize,
    out: usize,
}

impl Body {
    /// Room for `length` bytes.
    pub fn new(length: u64) -> Result<Self> {
        let none = || Error::new(ErrorKind::Memory, format!("no memory for an answer of {length} bytes"));
        let length = usize::try_from(length).map_err(|_| none())?;
        let mut buffer = if length < SMALL { Vec::new() } else { idle(length) };
        buffer.try_reserve_exact(length).map_err(|_| none())?;
        let mut buffer = ManuallyDrop::new(buffer);
        let start = NonNull::new(buffer.as_mut_ptr()).ok_or_else(none)?;
        let room = Arc::new(Room { start, capacity: buffer.capacity() });
        Ok(Self { room, length, came: 0, out: 0 })
    }

    /// Adds received bytes until `end` bytes are there.
    pub fn take_from(&mut self, coming: &mut Bytes, end: u64) {
        let end = usize::try_from(end).map_or(self.length, |end| end.min(self.length));
        let part = coming.split_to(end.saturating_sub(self.came).min(coming.len()));
        // SAFETY: there is room for `length` bytes, and none of those from `came` on was handed out.
        unsafe {
            let to = self.room.start.as_ptr().add(self.came);
            std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
        }
        self.came += part.len();
    }

    pub fn len(&self) -> u64 {
        self.came as u64
    }

    /// The bytes received since the last part.
    pub fn part(&mut self) -> Bytes {
        let range = self.out..self.came;
        self.out = self.came;
        Bytes::from_owner(Part { room: Arc::clone(&self.room), range })
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

    /// Longer than any concurrent response of this crate's other tests.
    const LENGTH: usize = 5 << 20;

    fn received(byte: u8) -> Bytes {
        let mut body = Body::new(LENGTH as u64).unwrap();
        while body.len() < LENGTH as u64 {
            body.take_from(&mut Bytes::from(vec![byte; 1 << 16]), LENGTH as u64);
        }
        body.part()
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
    fn parts_end_where_they_should() {
        let mut body = Body::new(5).unwrap();
        let mut coming = Bytes::from_static(b"abcdefg");
        body.take_from(&mut coming, 3);
        let first = body.part();
        body.take_from(&mut coming, 3);
        assert!(body.part().is_empty());
        body.take_from(&mut coming, 100);
        let second = body.part();
        drop(body);
        assert_eq!((&first[..], &second[..], &coming[..]), (&b"abc"[..], &b"de"[..], &b"fg"[..]));
    }

    #[test]
    fn absurd_lengths_take_no_memory() {
        assert_eq!(Body::new(u64::MAX).err().map(|e| e.kind), Some(ErrorKind::Memory));
    }
}
