//! The lock around every change to a repository's root object.
//!
//! In a directory Icechunk replaces that object unconditionally, so one of two concurrent commits would be lost without
//! an error. Object stores have conditional writes and need no lock. Icechunk's own Python package does not take this
//! lock. File systems without locks are claimed by another means (`lock_file`).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
pub(crate) use crate::lock_file::FILE;
use crate::lock_file::{Claim, Watch, file_system, is_unsupported};
use crate::process::PerProcess;

const PAUSE: Duration = Duration::from_millis(2);

/// How changes to a repository are serialised.
#[derive(Clone, Debug)]
pub(crate) enum Lock {
    /// A lock of the operating system on a file; it is released even if the process is killed.
    File { path: PathBuf, timeout: Duration, known: Known },
    /// An in-process flag, for repositories in this process's memory.
    Process { held: Arc<AtomicBool>, timeout: Duration },
    /// None: the store has conditional writes.
    None,
}

/// Identity of the lock file when it was first opened. If the repository was removed, or removed and created again at
/// the same place, the identity differs or the file is missing; changes prepared for the old repository must not be
/// committed to the new one.
pub(crate) type Known = Arc<Mutex<Option<Identity>>>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Identity {
    /// Inode numbers are reused, so the creation time is compared too.
    created: Option<SystemTime>,
    #[cfg(unix)]
    number: (u64, u64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            created: metadata.created().ok(),
            #[cfg(unix)]
            number: (metadata.dev(), metadata.ino()),
        }
    }

    fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// Whether a name in a repository's directory is the lock file's, or begins with it.
pub(crate) fn is_lock(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(FILE))
}

/// A held lock, released on drop.
#[must_use]
pub(crate) enum Held {
    File(File),
    /// On a file system without locks, or where another machine has none.
    Claim(Claim, File),
    Process(Arc<AtomicBool>),
    None,
}

impl Held {
    /// The identity of the lock file that is held.
    fn identity(&self, path: &Path) -> Result<Identity> {
        match self {
            Self::File(file) => file.metadata(),
            Self::Claim(claim, file) => claim.confirm().and_then(|()| file.metadata()),
            _ => return Err(gone(path)),
        }
        .map(|metadata| Identity::of(&metadata))
        .map_err(|e| cannot(path, &e))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        match self {
            // Unlocked explicitly, because closing is not enough: a child forked in the meantime keeps the file open
            // for as long as it lives.
            Self::File(file) => drop(file.unlock()),
            Self::Process(held) => held.store(false, Ordering::Release),
            Self::Claim(_, file) => drop(file.unlock()),
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
    /// The lock of the repository in a directory.
    pub fn in_folder(folder: &Path, timeout: Duration) -> Self {
        let path = folder.join(FILE);
        let known = Arc::new(Mutex::new(Identity::at(&path)));
        Self::File { path, timeout, known }
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// Conflict if another process holds it for longer than the timeout; NotFound if the repository was removed in the
    /// meantime; Permission if the directory is not writable.
    pub fn hold(&self) -> Result<Held> {
        match self {
            Self::None => Ok(Held::None),
            Self::Process { held, timeout } => wait(*timeout, "memory://", || {
                Ok((!held.swap(true, Ordering::Acquire)).then(|| Held::Process(Arc::clone(held))))
            }),
            Self::File { path, timeout, known } => {
                let before = *known.lock().unwrap_or_else(PoisonError::into_inner);
                let mut file = Some(open(path, before.is_none())?);
                let mut watch = Watch::default();
                let held = wait(*timeout, &path.display().to_string(), || attempt(path, &mut file, &mut watch))?;
                let now = held.identity(path)?;
                if Identity::at(path) != Some(now) || before.is_some_and(|before| before != now) {
                    return Err(gone(path));
                }
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                Ok(held)
            }
        }
    }

    /// Accepts the lock file that exists at the next acquisition, whatever its identity.
    pub fn forget(&self) {
        if let Self::File { known, .. } = self {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Whether a commit can conflict with another one in spite of the lock.
    pub fn is_optimistic(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// Content of a lock file whose repository is written from a machine without locks: then all machines claim it.
const CLAIMED: &[u8] = b"writers claim this directory: a file system without locks\n";

/// One attempt to get the lock; `file` is taken if it succeeds.
fn attempt(path: &Path, file: &mut Option<File>, watch: &mut Watch) -> Result<Option<Held>> {
    let Some(open) = file.as_ref() else { return Ok(None) };
    let has_locks = match open.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(e)) if is_unsupported(&e) => false,
        Err(TryLockError::Error(e)) => return Err(cannot(path, &e)),
    };
    let is_claimed = open.metadata().map_err(|e| cannot(path, &e))?.len() > 0;
    if has_locks && !is_claimed {
        return Ok(file.take().map(Held::File));
    }
    let claim = watch.claim(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => gone(path),
        _ => cannot(path, &e),
    })?;
    if claim.is_none() && has_locks {
        open.unlock().map_err(|e| cannot(path, &e))?;
    }
    if claim.is_some() && !is_claimed {
        let mut marked: &File = open;
        marked.write_all(CLAIMED).map_err(|e| cannot(path, &e))?;
    }
    Ok(claim.and_then(|claim| file.take().map(|file| Held::Claim(claim, file))))
}

fn open(path: &Path, is_new: bool) -> Result<File> {
    OpenOptions::new().create(is_new).truncate(false).write(true).open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => gone(path),
        _ => cannot(path, &e),
    })
}

/// The error of a writer whose repository was removed.
pub(crate) fn gone(path: &Path) -> Error {
    let folder = path.parent().unwrap_or(path).display();
    Error::new(ErrorKind::NotFound, format!("the repository {folder} was removed since it was opened"))
        .hint("nothing of this change was written: make or open the repository again, and write it again")
}

fn cannot(path: &Path, e: &std::io::Error) -> Error {
    let error = error::during(format!("cannot lock {}", path.display()))(error::io(e));
    if !is_unsupported(e) {
        return error;
    }
    let folder = path.parent().unwrap_or(path);
    Error::new(
        ErrorKind::Unsupported,
        format!("{} and neither locks nor creates files exclusively ({})", error.message, file_system(folder)),
    )
    .hint("write to another file system, or to a bucket with its own address (s3://…)")
}

// Polling, because the operating system's blocking call has no timeout.
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
        let file = Lock::in_folder(dir.path(), Duration::from_millis(30));
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
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::in_folder(&dir.path().join("gone"), Duration::ZERO);
        assert_eq!(lock.hold().err().unwrap().kind, ErrorKind::NotFound);
    }

    #[test]
    fn who_waited_notices_that_the_folder_went_or_is_another_now() {
        let dir = tempfile::tempdir().unwrap();
        for is_made_anew in [false, true] {
            let lock = Lock::in_folder(dir.path(), Duration::from_secs(10));
            let held = lock.hold().unwrap();
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| lock.hold().err().map(|e| e.kind));
                std::thread::sleep(Duration::from_millis(50));
                std::fs::remove_file(dir.path().join(FILE)).unwrap();
                if is_made_anew {
                    std::fs::write(dir.path().join(FILE), "").unwrap();
                }
                drop(held);
                assert_eq!(waiting.join().unwrap(), Some(ErrorKind::NotFound));
            });
            assert_eq!(lock.hold().err().unwrap().kind, ErrorKind::NotFound);
            assert_eq!(
                dir.path().join(FILE).exists(),
                is_made_anew,
                "a lock of a repository that is gone is not made again"
            );
            let _removed = std::fs::remove_file(dir.path().join(FILE));
        }
    }
}
