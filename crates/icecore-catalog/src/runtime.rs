//! The process's one runtime, on which all waiting for stores happens.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};

use icecore_grid::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};

/// The runtime and the process that it was made in: threads do not survive a fork, so a child makes its own.
static CURRENT: RwLock<Option<(u32, &'static Runtime)>> = RwLock::new(None);

/// The runtime that the catalog blocks on; the engine drives its own requests on it too.
pub fn runtime() -> &'static Runtime {
    let process = std::process::id();
    if let Some((owner, runtime)) = *CURRENT.read().unwrap_or_else(PoisonError::into_inner)
        && owner == process
    {
        return runtime;
    }
    let mut current = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    match *current {
        Some((owner, runtime)) if owner == process => runtime,
        _ => {
            let runtime: &'static Runtime = Box::leak(Box::new(build()));
            *current = Some((process, runtime));
            runtime
        }
    }
}

#[expect(clippy::panic, reason = "a process that may not start a single thread cannot read anything")]
fn build() -> Runtime {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let built =
        Builder::new_multi_thread().worker_threads(cores.clamp(2, 4)).thread_name("icecore-io").enable_all().build();
    match built {
        Ok(runtime) => runtime,
        Err(error) => panic!("icecore cannot start its input threads: {error}"),
    }
}

/// Blocks on a future. A panic below (a damaged file that Icechunk trips over) becomes an error.
pub(crate) fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(future))).unwrap_or_else(|panic| Err(unexpected(panic.as_ref())))
}

/// The error for a task that panicked.
pub(crate) fn unexpected(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::new(ErrorKind::Internal, format!("the catalog stopped unexpectedly: {}", text.unwrap_or("no message")))
        .hint("run `icecore verify` on the repository; if it is sound, please report this")
}
