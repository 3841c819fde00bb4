//! The one pool of decoding threads of the process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use icecore_grid::{Error, ErrorKind, Result};
use rayon::ThreadPool;

static POOL: OnceLock<ThreadPool> = OnceLock::new();
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The pool: as many threads as [`set_threads`], else `ICECORE_THREADS`, else the machine's cores.
pub fn pool() -> Result<&'static ThreadPool> {
    if let Some(pool) = POOL.get() {
        return Ok(pool);
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(wanted_threads())
        .thread_name(|i| format!("icecore-{i}"))
        .build()
        .map_err(|e| Error::new(ErrorKind::Memory, format!("cannot start the decoding threads: {e}")))?;
    Ok(POOL.get_or_init(|| pool))
}

/// Sets the number of threads; refused once the pool runs.
pub fn set_threads(threads: usize) -> Result<()> {
    if POOL.get().is_some_and(|p| p.current_num_threads() != threads) {
        return Err(Error::new(ErrorKind::Invalid, "the decoding threads run already")
            .hint("set the number before the first read, or ICECORE_THREADS in the environment"));
    }
    THREADS.store(threads, Ordering::Relaxed);
    Ok(())
}

fn wanted_threads() -> usize {
    let set = THREADS.load(Ordering::Relaxed);
    if set > 0 {
        return set;
    }
    let named = std::env::var("ICECORE_THREADS").ok().and_then(|v| v.trim().parse().ok()).filter(|n| *n > 0);
    named.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Remembers the first error of a group of jobs and tells the others to stop.
#[derive(Default)]
pub(crate) struct FirstError {
    stop: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl FirstError {
    /// Has any job failed?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes in a job's result; false when it failed.
    pub fn note(&self, result: Result<()>) -> bool {
        let Err(error) = result else { return true };
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
        false
    }

    /// The first error, if there was one.
    pub fn result(self) -> Result<()> {
        self.error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Runs `job(0..count)` on the pool, in order of number, until one fails.
pub(crate) fn for_each(count: usize, job: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    if count <= 1 {
        return (0..count).try_for_each(job);
    }
    let pool = pool()?;
    let (next, failed) = (AtomicUsize::new(0), FirstError::default());
    let work = || {
        while !failed.stopped() {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count || !failed.note(job(i)) {
                break;
            }
        }
    };
    pool.scope(|scope| {
        for _ in 0..pool.current_num_threads().min(count) {
            scope.spawn(|_| work());
        }
    });
    failed.result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_once() {
        let runs: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        for_each(runs.len(), |i| {
            runs[i].fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert!(runs.iter().all(|r| r.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn the_first_error_stops_the_rest() {
        let error = for_each(1_000_000, |i| if i >= 10 { Err(Error::new(ErrorKind::Io, "no")) } else { Ok(()) });
        assert_eq!(error.unwrap_err().kind, ErrorKind::Io);
    }
}
