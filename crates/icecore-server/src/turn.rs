//! Locks that requests wait for: only some of the slots for reading may wait, and a wait ends when its client leaves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use icecore::cancel;
use icecore::grid::{Error, ErrorKind, Result};

/// Interval at which a waiting request looks whether the lock is free.
const LOOK: Duration = Duration::from_millis(2);

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A request that waits.
struct Wait;

impl Wait {
    fn begin(most: usize) -> Option<Self> {
        let waiting = WAITING.fetch_add(1, Ordering::Relaxed);
        let wait = Self;
        (waiting < most.max(1)).then_some(wait)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Locks a domain.
///
/// # Errors
/// `io` (status 503, which clients repeat) if too many requests wait already; `interrupted`.
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, name: &str) -> Result<MutexGuard<'a, T>> {
    if let Some(guard) = free(mutex) {
        return Ok(guard);
    }
    let most = 2 * std::thread::available_parallelism().map_or(2, usize::from);
    let Some(_wait) = Wait::begin(most) else {
        return Err(
            Error::new(ErrorKind::Io, format!("{name} is in use by other requests")).hint("try again in a second")
        );
    };
    loop {
        if let Some(guard) = free(mutex) {
            return Ok(guard);
        }
        cancel::check()?;
        std::thread::sleep(LOOK);
    }
}

fn free<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_wait_ends_when_its_client_leaves() {
        let mutex = Mutex::new(());
        let _held = mutex.lock().unwrap();
        let left = Arc::new(AtomicBool::new(true));
        let failed = cancel::scoped(Some(left), || lock(&mutex, "/a").map(|_| ()).unwrap_err());
        assert_eq!(failed.kind, ErrorKind::Interrupted);
    }
}
