//! Settings of glibc's malloc: address space that arenas take (`ulimit -v`), and the return of freed memory.

/// Address space that glibc reserves for each thread's arena; most of it stays unused.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENA: u64 = 64 << 20;
/// Share of the address space that arenas may reserve: one part in this many.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SHARE: u64 = 8;

/// Limits the number of malloc arenas if the process's address space is limited: a pack once failed to allocate a few
/// bytes while nine tenths of its addresses were reserved but unused. Call it before threads are started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn spare_addresses() {
    let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `found` is such a structure, and ours.
    if unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut found) } != 0 || found.rlim_cur == libc::RLIM_INFINITY {
        return;
    }
    let arenas = (found.rlim_cur / SHARE / ARENA).clamp(1, 1024);
    // SAFETY: a setting of the allocator, which has its own lock. One that is not taken does no harm.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas as libc::c_int) };
}

/// Other allocators reserve nothing.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn spare_addresses() {}

/// Returns freed memory of all arenas to the kernel. A process that runs for long needs it: each thread allocates in its own
/// arena, and freed blocks stay there.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn trim() {
    // SAFETY: the allocator takes its own locks; only free pages are returned.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators return freed memory themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn trim() {}
