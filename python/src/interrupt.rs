//! Ctrl-C, or any signal whose handler raises, during native work: set `cancel` and return the handler's exception.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use icecore::grid::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::error::raise;

/// Runs `work` with the GIL released, on a separate thread if `watched`. After an interrupt it waits for the thread.
pub fn scoped<T: Send>(
    py: Python<'_>,
    watched: bool,
    cancel: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if !watched {
        return Ok(py.detach(work));
    }
    py.detach(|| {
        thread::scope(|scope| {
            let (done, finished) = channel::<()>();
            let running = thread::Builder::new().spawn_scoped(scope, move || {
                let _done = done; // dropping it signals the other side, even if `work` panics
                work()
            });
            let running = running.map_err(no_thread)?;
            let raised = interrupted(&finished, cancel);
            let result = running.join().unwrap_or_else(|panic| resume_unwind(panic));
            raised.map_or(Ok(result), Err)
        })
    })
}

/// The same for `work` that owns its data: after an interrupt it does not wait for the thread.
pub fn owned<T: Send + 'static>(
    py: Python<'_>,
    cancel: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let (done, finished) = channel::<()>();
        let running = thread::Builder::new().spawn(move || {
            let _done = done;
            work()
        });
        let running = running.map_err(no_thread)?;
        match interrupted(&finished, cancel) {
            Some(error) => Err(error),
            None => Ok(running.join().unwrap_or_else(|panic| resume_unwind(panic))),
        }
    })
}

fn no_thread(error: io::Error) -> PyErr {
    raise(
        Error::new(ErrorKind::Memory, format!("no thread could be started: {error}"))
            .hint("raise the limits on memory (`ulimit -v`) and on threads (`ulimit -u`)"),
    )
}

/// Waits for the end of the work, or for a signal whose handler raises.
fn interrupted(finished: &Receiver<()>, cancel: &AtomicBool) -> Option<PyErr> {
    while finished.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            cancel.store(true, Ordering::Relaxed);
            return Some(error);
        }
    }
    None
}
