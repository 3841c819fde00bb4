//! State that belongs to one process and must not be inherited by a fork.
//!
//! A fork copies the memory but only the forking thread: locks of other threads stay locked in the child, and their
//! work never finishes. So a child creates its own state, and neither uses nor drops its parent's.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use icecore_grid::{Error, ErrorKind, Result};
use once_cell::race::OnceBox;

static FORKS: AtomicU64 = AtomicU64::new(0);

/// Process generation: the number increases in the child of each fork.
#[must_use]
fn forks() -> u64 {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if !IS_WATCHED.load(Ordering::Acquire) {
        // Two threads may get here at once; counting a fork twice is harmless.
        watch();
        IS_WATCHED.store(true, Ordering::Release);
    }
    FORKS.load(Ordering::Relaxed)
}

#[cfg(unix)]
fn watch() {
    type Handler = Option<extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> std::ffi::c_int;
    }
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler only adds to a number, which a child may do while other threads held locks at the fork. It fails only
    // for want of memory; forks then go unnoticed.
    unsafe { pthread_atfork(None, None, Some(count)) };
}

#[cfg(not(unix))]
fn watch() {}

/// Reseeds this thread's random generator after a fork: names of objects and versions are random, and two children of
/// one parent would otherwise generate the same names.
pub(crate) fn own_numbers() {
    thread_local!(static SEEDED: Cell<Option<u64>> = const { Cell::new(None) });
    let now = Some(forks());
    if SEEDED.get() != now {
        // If reseeding fails, the inherited state is the only one available.
        let _as_before = rand::rng().reseed();
        SEEDED.set(now);
    }
}

/// A value that only the process that created it may use. A child does not drop it either, because a destructor may
/// take a lock.
pub struct Mine<T> {
    born: u64,
    value: ManuallyDrop<T>,
}

impl<T> Mine<T> {
    /// A value that belongs to this process.
    pub fn new(value: T) -> Self {
        Self { born: forks(), value: ManuallyDrop::new(value) }
    }

    /// The value, in the process that created it.
    pub fn get(&self) -> Option<&T> {
        (self.born == forks()).then_some(&*self.value)
    }

    /// The value.
    ///
    /// # Errors
    /// Unsupported in a child of the process that created `what`.
    pub fn of(&self, what: &str) -> Result<&T> {
        self.get().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("{what} cannot be used in a process that was forked after it was made"),
            )
            .hint("make it after the fork, in the process that uses it")
        })
    }
}

impl<T> Drop for Mine<T> {
    fn drop(&mut self) {
        if self.born == forks() {
            // SAFETY: dropped here and nowhere else, once.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// A value per process: a child creates its own on first use. No lock is taken, so none can stay locked.
pub struct PerProcess<T>(OnceBox<Link<T>>);

struct Link<T> {
    value: Mine<T>,
    /// The value of a child process.
    next: OnceBox<Self>,
}

impl<T> PerProcess<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// With this process's value.
    pub fn with(value: T) -> Self {
        Self(OnceBox::with_value(Box::new(Link { value: Mine::new(value), next: OnceBox::new() })))
    }

    /// The value of this process, if it has one.
    pub fn get(&self) -> Option<&T> {
        let mut at = self.0.get()?;
        loop {
            match at.value.get() {
                Some(value) => return Some(value),
                None => at = at.next.get()?,
            }
        }
    }

    /// The value of this process. `make` receives the parent's value, whose locks may stay locked forever. If two
    /// threads create one at the same moment, one of the values is dropped.
    pub fn get_or(&self, make: impl FnOnce(Option<&T>) -> T) -> &T {
        match self.get_or_try(|parents| Ok::<T, std::convert::Infallible>(make(parents))) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// As [`PerProcess::get_or`], for a `make` that may fail.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn get_or_try<E>(
        &self,
        make: impl FnOnce(Option<&T>) -> std::result::Result<T, E>,
    ) -> std::result::Result<&T, E> {
        let (mut at, mut parents) = (&self.0, None);
        while let Some(link) = at.get() {
            match link.value.get() {
                Some(value) => return Ok(value),
                None => (at, parents) = (&link.next, Some(&*link.value.value)),
            }
        }
        let fresh = || Ok(Box::new(Link { value: Mine::new(make(parents)?), next: OnceBox::new() }));
        at.get_or_try_init(fresh).map(|link| &*link.value.value)
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Simulates a fork for the next access.
    fn fork() {
        let _is_watched = forks();
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    /// A single test, because the fork count is global to the process.
    #[test]
    fn a_child_makes_its_own_and_leaves_its_parents_alone() {
        static VALUE: PerProcess<Arc<u32>> = PerProcess::new();
        let first = Arc::clone(VALUE.get_or(|parents| Arc::new(parents.map_or(1, |p| **p + 1))));
        assert_eq!(VALUE.get_or(|_| Arc::new(9)), &first);
        let (mine, local) = (Mine::new(Arc::clone(&first)), PerProcess::with(Arc::clone(&first)));
        assert!(mine.of("a thing").is_ok());
        assert_eq!(Arc::strong_count(&first), 4);
        fork();
        assert!(VALUE.get().is_none() && local.get().is_none());
        assert_eq!(mine.of("a thing").unwrap_err().kind, ErrorKind::Unsupported);
        let failed: std::result::Result<&Arc<u32>, u8> = VALUE.get_or_try(|_| Err(3));
        assert_eq!(failed.unwrap_err(), 3);
        let second = Arc::clone(VALUE.get_or(|parents| Arc::new(parents.map_or(1, |p| **p + 1))));
        assert_eq!((*second, Arc::strong_count(&first)), (2, 4));
        let childs = Arc::clone(local.get_or(|_| Arc::new(7)));
        drop((mine, local));
        assert_eq!(Arc::strong_count(&first), 4, "what the parent made is not dropped here");
        assert_eq!(Arc::strong_count(&childs), 1, "what was made here is");
        fork();
        assert_eq!(**VALUE.get_or(|parents| Arc::new(parents.map_or(1, |p| **p + 1))), 3);
    }
}
