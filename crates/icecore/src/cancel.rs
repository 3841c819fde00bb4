//! Cancellation of the work of a thread: reads and loops end when their result is no longer needed.
//!
//! A service sets the flag of the request that a thread works for; every read of the thread then ends when it is set.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icecore_grid::{Error, ErrorKind, Result};

thread_local! {
    static CURRENT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Restores the previous flag, also after a panic.
struct Previous(Option<Arc<AtomicBool>>);

impl Drop for Previous {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// Runs work that ends early once the flag is set. `None`: work that must complete.
pub fn scoped<T>(flag: Option<Arc<AtomicBool>>, work: impl FnOnce() -> T) -> T {
    let _previous = Previous(CURRENT.with(|current| current.replace(flag)));
    work()
}

/// The flag of the thread's work.
#[must_use]
pub fn current() -> Option<Arc<AtomicBool>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// # Errors
/// `interrupted` if the thread's work is no longer needed.
pub fn check() -> Result<()> {
    match CURRENT.with(|current| current.borrow().as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))) {
        true => Err(interrupted()),
        false => Ok(()),
    }
}

/// The error of work that was cancelled.
#[must_use]
pub fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "the request was cancelled, or took too long").hint("ask for less at a time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_cancelled_within_its_scope_only() {
        let flag = Arc::new(AtomicBool::new(true));
        assert!(check().is_ok());
        scoped(Some(Arc::clone(&flag)), || {
            assert_eq!(check().unwrap_err().kind, ErrorKind::Interrupted);
            scoped(None, || assert!(check().is_ok()));
            assert!(check().is_err());
        });
        assert!(check().is_ok() && current().is_none());
    }
}
