//! Limit on the address space that malloc arenas take (`ulimit -v`).

/// Address space that glibc reserves for each thread's arena; most of it stays unused.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENA: u64 = 64 << 20;
/// Of the addresses, what may be set apart.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SHARE: u64 = 8;

/// Keeps the C library from giving each thread an arena of its own where they would take up what the process may have: a pack
/// ended at a block of some bytes while nine tenths of its addresses lay idle. To be called before threads are started.
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

/// Other allocators set nothing apart.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn spare_addresses() {}
