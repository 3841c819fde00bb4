//! The lock around every change to a repository's root object.
//!
//! On a folder Icechunk replaces that object without a condition, so two committers at once would lose one commit in silence.
//! Object stores have conditional writes and need no lock. Icechunk's own Python package does not take this lock.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::process::PerProcess;

/// The lock's file in the repository's folder; Icechunk leaves it alone.
pub(crate) const FILE: &str = ".icecore.lock";
const PAUSE: Duration = Duration::from_millis(2);

/// How a repository's changes are kept apart.
#[derive(Clone, Debug)]
pub(crate) enum Lock {
    /// A file that is locked by the operating system, also when the process that holds it is killed.
    File { path: PathBuf, timeout: Duration },
    /// A flag, for repositories that only this process can see.
    Process { held: Arc<AtomicBool>, timeout: Duration },
    /// Conditional writes do it.
    None,
}

/// The lock, held until dropped.
#[must_use]
pub(crate) enum Held {
    File(File),
    Process(Arc<AtomicBool>),
    None,
}

impl Drop for Held {
    fn drop(&mut self) {
        match self {
            // Said, not left to closing it: a child that was forked meanwhile has the file open, too, for as long as it lives.
            Self::File(file) => drop(file.unlock()),
            Self::Process(held) => held.store(false, Ordering::Release),
            Self::None => {}
        }
    }
}

/// The flag of a repository in memory, by its name.
pub(crate) fn of_process(name: &str) -> Arc<AtomicBool> {
    static FLAGS: PerProcess<Mutex<HashMap<String, Arc<AtomicBool>>>> = PerProcess::new();
    let mut flags = FLAGS.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(flags.entry(name.to_owned()).or_default())
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// Conflict when someone else holds it for longer than the timeout; Permission when the folder cannot be written.
    pub fn hold(&self) -> Result<Held> {
        match self {
            Self::None => Ok(Held::None),
            Self::Process { held, timeout } => wait(*timeout, "memory://", || {
                Ok((!held.swap(true, Ordering::Acquire)).then(|| Held::Process(Arc::clone(held))))
            }),
            Self::File { path, timeout } => {
                let file = open(path)?;
                wait(*timeout, &path.display().to_string(), || match file.try_lock() {
                    Ok(()) => Ok(Some(())),
                    Err(TryLockError::WouldBlock) => Ok(None),
                    Err(TryLockError::Error(e)) => Err(cannot(path, &e)),
                })?;
                Ok(Held::File(file))
            }
        }
    }

    /// Can a commit still meet another one, in spite of the lock?
    pub fn is_optimistic(&self) -> bool {
        matches!(self, Self::None)
    }
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(|e| cannot(path, &e))
}

fn cannot(path: &Path, e: &std::io::Error) -> Error {
    error::during(format!("cannot lock {}", path.display()))(error::io(e))
}

// Polling, because the operating system's blocking call knows no timeout.
fn wait<T>(timeout: Duration, name: &str, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        if start.elapsed() > timeout {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("{name} was held by another writer for more than {} s", timeout.as_secs()),
            )
            .hint("let the other commit finish, or wait longer: storage={\"lock_timeout\": \"600\"}"));
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let file = Lock::File { path: dir.path().join(FILE), timeout: Duration::from_millis(30) };
        let process = Lock::Process { held: Arc::default(), timeout: Duration::from_millis(30) };
        for lock in [file, process] {
            let held = lock.hold().unwrap();
            assert_eq!(lock.hold().err().unwrap().kind, ErrorKind::Conflict);
            drop(held);
            assert!(lock.hold().is_ok());
        }
    }

    #[test]
    fn a_folder_that_is_gone() {
        let lock = Lock::File { path: "/nonexistent/x".into(), timeout: Duration::ZERO };
        assert_eq!(lock.hold().err().unwrap().kind, ErrorKind::Io);
    }
}
