//! Memory pages: allocated from the kernel, returned to it, and reclaimable while idle.

use super::idle_blocks::Block;

/// Allocates at least `bytes` of zeroed memory, aligned to 4 KiB; `None` if memory is exhausted.
#[cfg(unix)]
pub(super) fn map(bytes: usize) -> Option<Block> {
    let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new private mapping, at whatever address the kernel finds free.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, how, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: advice about the mapping just made. Huge pages cost one fault where small ones cost 512, as NumPy knows too.
    unsafe {
        libc::madvise(start, bytes, libc::MADV_HUGEPAGE);
    }
    Some(Block { start: start as usize, bytes })
}

/// Frees a block.
///
/// # Safety
/// The block must come from [`map`] and must not be used any more.
#[cfg(unix)]
pub(super) unsafe fn unmap(block: Block) {
    // SAFETY: as the caller says. It fails only where the kernel can't split a mapping further, which this is not.
    unsafe { libc::munmap(block.start as *mut libc::c_void, block.bytes) };
}

/// Allows the kernel to reclaim the pages of an idle block when it needs them. The next user finds the old contents or
/// zeros, and pays for new pages only where the old ones were reclaimed.
///
/// # Safety
/// As [`unmap`].
#[cfg(unix)]
pub(super) unsafe fn lend(block: Block) {
    // Whole huge pages only: the kernel would split those at the ends into small ones.
    const HUGE: usize = 2 << 20;
    let (first, end) = (block.start.next_multiple_of(HUGE), (block.start + block.bytes) / HUGE * HUGE);
    if end > first {
        // SAFETY: within the block, whose contents are no longer needed. The kernel may ignore the advice.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_FREE) };
    }
}

#[cfg(not(unix))]
pub(super) fn map(bytes: usize) -> Option<Block> {
    let layout = std::alloc::Layout::from_size_align(bytes, 4096).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    (!start.is_null()).then_some(Block { start: start as usize, bytes })
}

/// # Safety
/// The block must come from [`map`] and must not be used any more.
#[cfg(not(unix))]
pub(super) unsafe fn unmap(block: Block) {
    if let Ok(layout) = std::alloc::Layout::from_size_align(block.bytes, 4096) {
        // SAFETY: allocated with this layout.
        unsafe { std::alloc::dealloc(block.start as *mut u8, layout) };
    }
}

/// # Safety
/// As [`unmap`].
#[cfg(not(unix))]
pub(super) unsafe fn lend(_: Block) {}
