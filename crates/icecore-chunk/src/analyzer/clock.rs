//! CPU clock of one thread.

/// CPU seconds of this thread: unlike the wall clock it does not advance while other threads have the core.
pub(crate) fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed == 0 { time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9 } else { 0.0 }
}

/// Runs `work`; returns its CPU seconds and its result.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = thread_seconds();
    let result = work();
    ((thread_seconds() - began).max(1e-9), result)
}
