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

pub use arenas::{spare_addresses, trim};

/// Smaller results come from the C library, which reuses such blocks itself.
pub const WORTH: usize = 1 << 20;

const DEFAULT_CAP: usize = 256 << 20;
const PAGE: usize = 4096;

/// Allocated memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub start: NonNull<u8>,
    /// Whether it was used before: its pages exist and hold old data. Otherwise it reads as zeros.
    pub reused: bool,
}

/// Statistics of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes of idle blocks.
    pub idle: usize,
    /// Maximum bytes of idle blocks.
    pub cap: usize,
    /// Number of reused blocks.
    pub reused: u64,
    /// Number of blocks from the kernel.
    pub fresh: u64,
}

#[derive(Clone)]
struct Pool {
    idle: Idle,
    /// Bytes of the blocks in use, by start address. The length is not stored in front of the data, because writing it
    /// would fault in the block's first page: at that time the neighbouring block may not exist, so that the kernel
    /// would use small pages up to the next huge-page boundary.
    used: HashMap<usize, usize>,
    info: MemoryInfo,
}

static POOL: PerProcess<Mutex<Pool>> = PerProcess::new();

/// A child inherits its copies of the parent's blocks, unless another thread held the lock at the fork.
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

/// Allocates `bytes` of memory with unspecified contents, aligned to a page; `None` if memory is exhausted. [`release`]
/// frees it.
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

/// Returns memory from [`allocate`] to the pool.
///
/// # Safety
/// `start` must come from [`allocate`] or [`resize`], and must not be used any more.
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

/// Resizes a block and keeps its beginning; `None` if memory is exhausted, and `start` is then unchanged.
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

    /// A single test, because the pool is global to the process.
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
