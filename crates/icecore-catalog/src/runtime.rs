//! The process's async runtime, on which all store requests run.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use icecore_grid::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};

use crate::error::damaged;
use crate::process::{PerProcess, own_numbers};

/// Polling interval of the cancel flag.
const LOOK: Duration = Duration::from_millis(50);

static CURRENT: PerProcess<OnceLock<Runtime>> = PerProcess::new();

/// The runtime that the catalog blocks on; the engine runs its own requests on it too.
pub fn runtime() -> &'static Runtime {
    CURRENT.get_or(|_| OnceLock::new()).get_or_init(build)
}

/// Number of threads that can run at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

#[expect(clippy::panic, reason = "a process that may not start a single thread cannot read anything")]
fn build() -> Runtime {
    let built =
        Builder::new_multi_thread().worker_threads(cores().clamp(2, 4)).thread_name("icecore-io").enable_all().build();
    match built {
        Ok(runtime) => runtime,
        Err(error) => panic!("icecore cannot start its input threads: {error}"),
    }
}

/// Blocks on a future. A panic inside (Icechunk panics on some damaged files) becomes an error.
pub(crate) fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    own_numbers();
    let runtime = catch_unwind(runtime).map_err(|panic| {
        Error::new(ErrorKind::Memory, text(panic.as_ref()))
            .hint("raise the limits on threads (`ulimit -u`) and on open files (`ulimit -n`)")
    })?;
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(future))).unwrap_or_else(|panic| Err(unexpected(panic.as_ref())))
}

/// Runs `work`, or returns an error soon after `cancel` is set.
pub(crate) async fn until<T>(cancel: &AtomicBool, work: impl Future<Output = Result<T>>) -> Result<T> {
    let cancelled = async {
        while !cancel.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
    };
    match select(pin!(cancelled), pin!(work)).await {
        Either::Right((done, _)) => done,
        Either::Left(_) => Err(Error::new(ErrorKind::Interrupted, "it was interrupted")),
    }
}

/// The error for a panic inside: usually a damaged file, or a blocking function that was called in an async task.
fn unexpected(panic: &(dyn Any + Send)) -> Error {
    let text = text(panic);
    if text.contains("within a runtime") {
        let message = format!("the catalog is blocking and can't be called from an async task: {text}");
        return Error::new(ErrorKind::Internal, message).hint("call it from a thread, or with spawn_blocking");
    }
    tripped(panic)
}

/// Runs a function that walks through a file's content; a panic means that the content is damaged.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(tripped(panic.as_ref())))
}

/// The error for a panic that a damaged file caused.
pub(crate) fn tripped(panic: &(dyn Any + Send)) -> Error {
    damaged(format!("a file of the repository is damaged: {}", text(panic)))
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let error = run(async { if true { panic!("idx < len") } else { Ok(()) } }).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt);
        assert!(error.message.contains("idx < len"));
    }

    #[test]
    fn blocking_inside_an_async_task_is_said_so() {
        let error = runtime().block_on(async { run(async { Ok(()) }) }).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert!(error.hint.contains("spawn_blocking"));
    }
}
