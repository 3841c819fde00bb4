//! Memory pool for large results, reused by later reads.
//!
//! The kernel clears fresh memory page by page on first touch, under its locks: a fifth to a third of the time
//! of a read from the page cache. This pool keeps dropped blocks, up to a limit, for the next result
//! of about that size. `idle_blocks` chooses, `pages` calls the kernel, this file counts and locks.

mod arenas;
mod idle_blocks;
mod pages;

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use icecore_catalog::PerProcess;
use idle_blocks::{Block, Idle};

use crate::settings;

pub use arenas::spare_addresses;

/// Results below this size are better off with the C library, which keeps such blocks itself.
pub const WORTH: usize = 1 << 20;

const DEFAULT_CAP: usize = 256 << 20;
const PAGE: usize = 4096;

/// Memory that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub start: NonNull<u8>,
    /// It was used before: its pages are there, with other numbers in them. Else it reads as zeros.
    pub reused: bool,
}

/// Statistics of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that are kept and not in use.
    pub idle: usize,
    /// The most that may be kept.
    pub cap: usize,
    /// Blocks that were handed out again.
    pub reused: u64,
    /// Blocks that came from the kernel.
    pub fresh: u64,
}

#[derive(Clone)]
struct Pool {
    idle: Idle,
    /// Bytes of the blocks in use, by where they begin. A length in front of the data would be their first page's first touch:
    /// blocks are below one another, and before the next one is there that page can only be a small one, and with it all up to
    /// the next border of huge pages.
    used: HashMap<usize, usize>,
    info: MemoryInfo,
}

static POOL: PerProcess<Mutex<Pool>> = PerProcess::new();

/// A child goes on with its parent's blocks, which are its own copies; with none of them where a thread was just taking one.
fn begin(parents: Option<&Mutex<Pool>>) -> Mutex<Pool> {
    let inherited = parents.and_then(|pool| pool.try_lock().ok().map(|pool| pool.clone()));
    Mutex::new(inherited.unwrap_or_else(|| {
        let info = MemoryInfo { cap: initial_cap(), ..MemoryInfo::default() };
        Pool { idle: Idle::new(), used: HashMap::new(), info }
    }))
}

/// `ICECORE_RESULT_POOL` in bytes, 0 for none.
fn initial_cap() -> usize {
    settings::number(settings::RESULT_POOL).unwrap_or(DEFAULT_CAP)
}

/// Runs `job` on the pool.
fn locked<T>(job: impl FnOnce(&mut Pool) -> T) -> T {
    job(&mut POOL.get_or(begin).lock().unwrap_or_else(PoisonError::into_inner))
}

/// `bytes` of memory with anything in it, aligned to a page; `None` if there is none. [`release`] takes it back.
#[must_use]
pub fn allocate(bytes: usize) -> Option<Memory> {
    let whole = bytes.max(1).checked_next_multiple_of(PAGE)?;
    let kept = locked(|pool| {
        let block = pool.idle.take(whole);
        *if block.is_some() { &mut pool.info.reused } else { &mut pool.info.fresh } += 1;
        block
    });
    let block = kept.or_else(|| pages::map(whole)).or_else(|| {
        drop_all(locked(|pool| pool.idle.shrink(0))); // free idle blocks: the failing allocation may need them
        pages::map(whole)
    })?;
    let start = NonNull::new(block.start as *mut u8)?;
    locked(|pool| pool.used.insert(block.start, block.bytes));
    Some(Memory { start, reused: kept.is_some() })
}

/// Takes back what [`allocate`] gave, for the next one who asks.
///
/// # Safety
/// `start` came from [`allocate`] or [`resize`], and nothing uses it any more.
pub unsafe fn release(start: NonNull<u8>) {
    let start = start.as_ptr() as usize;
    // A forked child may have a different allocation state; leave the block alone.
    let Some((bytes, cap)) = locked(|pool| Some((pool.used.remove(&start)?, pool.info.cap))) else { return };
    let block = Block { start, bytes };
    if bytes <= cap {
        // SAFETY: the caller guarantees that the contents are no longer used.
        unsafe { pages::lend(block) };
    }
    drop_all(locked(|pool| pool.idle.put(block, pool.info.cap)));
}

/// Memory of another length with the same beginning; `None` if there is none, and `start` is then as it was.
///
/// # Safety
/// As [`release`].
#[must_use]
pub unsafe fn resize(start: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
    let room = locked(|pool| pool.used.get(&(start.as_ptr() as usize)).copied())?;
    if bytes <= room && bytes >= room / 2 {
        return Some(start);
    }
    let moved = allocate(bytes)?.start;
    // SAFETY: both have this much room, and they are two blocks; `start` is not used any more.
    unsafe {
        std::ptr::copy_nonoverlapping(start.as_ptr(), moved.as_ptr(), room.min(bytes));
        release(start);
    }
    Some(moved)
}

fn drop_all(blocks: Vec<Block>) {
    for block in blocks {
        // SAFETY: blocks that the pool has let go of came from `map`, and nothing points into them.
        unsafe { pages::unmap(block) };
    }
}

/// Size and hit statistics.
#[must_use]
pub fn memory_info() -> MemoryInfo {
    locked(|pool| MemoryInfo { idle: pool.idle.bytes(), ..pool.info })
}

/// Sets how many bytes of dropped results may be kept; 0 turns the pool off.
pub fn set_result_pool(cap: usize) {
    let freed = locked(|pool| {
        pool.info.cap = cap;
        pool.idle.shrink(cap)
    });
    drop_all(freed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: the pool is the process's.
    #[test]
    fn blocks_come_back_within_the_cap() {
        const BYTES: usize = 3 << 20;
        set_result_pool(8 << 20);
        // SAFETY: every pointer comes from `allocate`, is written within its length and released once.
        unsafe {
            let first = allocate(BYTES).unwrap();
            assert!(!first.reused && first.start.addr().get().is_multiple_of(PAGE));
            first.start.as_ptr().write_bytes(0xa5, BYTES);
            release(first.start);
            let again = allocate(BYTES - 100_000).unwrap();
            assert_eq!(again, Memory { start: first.start, reused: true });
            let second = allocate(BYTES).unwrap();
            assert!(second.start != first.start && !second.reused, "the other one is in use");
            release(again.start);
            release(second.start);
            assert!(memory_info().idle >= 2 * BYTES && memory_info().idle <= memory_info().cap);
            release(allocate(9 << 20).unwrap().start);
            assert!(memory_info().idle < 7 << 20, "one that is larger than the cap is not kept");

            let grown = allocate(BYTES).unwrap().start;
            grown.as_ptr().write_bytes(7, BYTES);
            let grown = resize(grown, 3 * BYTES).unwrap();
            assert!((0..BYTES).all(|i| grown.as_ptr().add(i).read() == 7));
            let shrunk = resize(grown, 1000).unwrap();
            assert!((0..1000).all(|i| shrunk.as_ptr().add(i).read() == 7));
            release(shrunk);
        }
        set_result_pool(0);
        assert_eq!((memory_info().idle, memory_info().cap), (0, 0));
        let count = memory_info().fresh;
        // SAFETY: as above.
        unsafe { release(allocate(BYTES).unwrap().start) };
        assert_eq!((memory_info().idle, memory_info().fresh), (0, count + 1));
        assert!(allocate(usize::MAX - 10).is_none() && allocate(1 << 60).is_none());
    }
}
