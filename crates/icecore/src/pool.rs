//! Threads of the process: a worker pool for decoding, which the calling thread joins, and a pool for encoding.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use icecore_catalog::PerProcess;
use icecore_grid::{Error, ErrorKind, Result};
use rayon::ThreadPool;

use crate::settings;
use crate::worker_pool::{WorkerPool, takes_part};

static WORKERS: PerProcess<Arc<WorkerPool>> = PerProcess::new();
static POOL: PerProcess<ThreadPool> = PerProcess::new();

/// The pool with `ICECORE_THREADS` threads, by default one per core.
pub fn pool() -> Result<&'static ThreadPool> {
    POOL.get_or_try(|_| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads());
        let built = threads.thread_name(|i| format!("icecore-pool-{i}")).build();
        built.map_err(|e| Error::new(ErrorKind::Memory, format!("cannot start the encoding threads: {e}")))
    })
}

/// Numbers of decoding and encoding threads, from the settings and the machine, fixed on first use.
pub(crate) fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let named = settings::number(settings::THREADS).filter(|n| *n > 0);
        named.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    })
}

/// Records the first error of a group of jobs and asks the other jobs to stop.
#[derive(Default)]
pub(crate) struct FirstError {
    stop: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl FirstError {
    /// Whether any job has failed.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Records a job's result; false if it failed.
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

/// Turns a panic in a job into an error: a bug of ours must neither end the process nor leave others waiting.
pub(crate) fn guarded(job: impl FnOnce() -> Result<()>) -> Result<()> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).unwrap_or_else(|cause| {
        let what = cause.downcast_ref::<String>().map(String::as_str).or_else(|| cause.downcast_ref::<&str>().copied());
        let message = format!("a worker thread failed: {}", what.unwrap_or("for an unknown reason"));
        Err(Error::new(ErrorKind::Internal, message).hint("this is a defect of icecore: please report it"))
    })
}

/// Permission of a calling thread to work in place of a worker, instead of sleeping until a worker wakes up and
/// finishes. Only one caller at a time has it; otherwise the process would run more threads than the pool's size.
struct Permit(&'static AtomicBool);

impl Permit {
    fn taken() -> Option<Self> {
        static TAKEN: PerProcess<AtomicBool> = PerProcess::new();
        Self::of(TAKEN.get_or(|_| AtomicBool::new(false)))
    }

    fn of(taken: &'static AtomicBool) -> Option<Self> {
        // Created only if it is granted: dropping an ungranted one would release another caller's.
        (!taken.swap(true, Ordering::Acquire)).then(|| Self(taken))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Runs `job(0..count)` on the decoding threads, in ascending order, until one fails.
pub(crate) fn for_each(count: usize, job: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    if count <= 1 {
        return guarded(|| (0..count).try_for_each(job));
    }
    let (next, failed) = (AtomicUsize::new(0), FirstError::default());
    let work = || {
        while !failed.stopped() {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count || !failed.note(guarded(|| job(i))) {
                break;
            }
        }
    };
    // A nested call already runs on one of those threads.
    let inside = takes_part() || rayon::current_thread_index().is_some();
    let permit = if inside { None } else { Permit::taken() };
    let take_part = inside || permit.is_some();
    let helpers = threads().min(count) - usize::from(take_part);
    WORKERS.get_or(|_| Arc::default()).run(helpers, take_part, &work);
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
    fn a_refused_permit_leaves_that_of_another_taken() {
        static TAKEN: AtomicBool = AtomicBool::new(false);
        let held = Permit::of(&TAKEN);
        assert!(held.is_some() && (0..2).all(|_| Permit::of(&TAKEN).is_none()));
        drop(held);
        assert!(Permit::of(&TAKEN).is_some());
    }

    #[test]
    fn callers_side_by_side_and_jobs_in_jobs_run_once() {
        let runs: Vec<AtomicUsize> = (0..4 * 20 * 20).map(|_| AtomicUsize::new(0)).collect();
        let (most, now) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let inner = |from: usize| {
            for_each(20, |i| {
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                runs[from + i].fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
                now.fetch_sub(1, Ordering::Relaxed);
                Ok(())
            })
        };
        std::thread::scope(|scope| {
            for caller in 0..4 {
                let inner = &inner;
                scope.spawn(move || for_each(20, |i| inner((caller * 20 + i) * 20)).unwrap());
            }
        });
        assert!(runs.iter().all(|r| r.load(Ordering::Relaxed) == 1));
        assert!(most.into_inner() <= threads() + 1, "one of those that ask, beside the pool");
    }

    #[test]
    fn a_panic_is_an_error() {
        let error = for_each(10, |i| if i == 7 { panic!("seven") } else { Ok(()) }).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert!(error.message.contains("seven"));
    }

    #[test]
    fn the_first_error_stops_the_rest() {
        let error = for_each(1_000_000, |i| if i >= 10 { Err(Error::new(ErrorKind::Io, "no")) } else { Ok(()) });
        assert_eq!(error.unwrap_err().kind, ErrorKind::Io);
    }
}
