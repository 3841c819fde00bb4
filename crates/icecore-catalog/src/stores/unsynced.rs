//! Files of a directory that were written and are not on disk yet, and how they get there: many at a time, and large
//! amounts in the background.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::{EMFILE, ENFILE};
use crate::process::PerProcess;

/// Files that are synchronised at once: a file system groups concurrent requests.
const AT_ONCE: usize = 16;
/// Files that may wait for the next commit; further ones are synchronised at once, so that a commit's wait is bounded.
const WAITING: usize = 1024;
/// Bytes after which the files so far are synchronised in the background, so that a disk is at work while further ones
/// are encoded and a commit waits for the last of them alone.
const AHEAD: u64 = 32 << 20;

/// The files of one directory that were written and not synchronised yet.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    files: Mutex<BTreeSet<PathBuf>>,
    /// Directories whose own entry is on disk.
    known: Mutex<HashSet<PathBuf>>,
    /// Held while files are synchronised: a commit must wait for those that another thread took.
    turn: Mutex<()>,
    /// Bytes since the last synchronisation in the background.
    fresh: AtomicU64,
    /// Why files could not be brought to disk and were removed, until a commit knows that it does not need them.
    lost: Mutex<Option<io::Error>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unsynced {
    /// The state of a directory, shared by all handles of this process.
    pub fn of(root: &FilePath) -> Arc<Self> {
        static ALL: PerProcess<Mutex<HashMap<PathBuf, Weak<Unsynced>>>> = PerProcess::new();
        let mut all = lock(ALL.get_or(|_| Mutex::default()));
        if let Some(known) = all.get(root).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, state| state.strong_count() > 0);
        let state = Arc::new(Self::default());
        all.insert(root.to_owned(), Arc::downgrade(&state));
        state
    }

    /// Notes a file that was written.
    pub fn add(&self, file: PathBuf) {
        lock(&self.files).insert(file);
    }

    /// Whether `bytes` more make it time to synchronise in the background.
    pub fn is_due(&self, bytes: u64) -> bool {
        let is_due = self.fresh.fetch_add(bytes, Ordering::Relaxed) + bytes >= AHEAD;
        if is_due {
            self.fresh.store(0, Ordering::Relaxed);
        }
        is_due
    }

    /// Why files were removed since this was last asked; waits for a synchronisation in progress. A commit asks before
    /// it looks for what it refers to.
    pub fn take_lost(&self) -> Option<io::Error> {
        let _turn = lock(&self.turn);
        lock(&self.lost).take()
    }

    /// Synchronises before a pointer to the files is published. An error if files were removed since the commit began,
    /// even if another caller got it too: they may be those that the pointer needs.
    pub fn settle_to_publish(&self, root: &FilePath) -> io::Result<()> {
        let _turn = lock(&self.turn);
        let settled = self.settle_now(root);
        lock(&self.lost).take().map_or(settled, Err)
    }

    pub fn is_full(&self) -> bool {
        lock(&self.files).len() >= WAITING
    }

    /// Removes the files of a failed synchronisation, and those in a directory of one. The system reports such a failure
    /// once: the next attempt would succeed although the data are lost. Without the files no commit can refer to them.
    fn forget(&self, files: &[PathBuf], is_lost: &[&FilePath], why: &io::Error) {
        if is_lost.is_empty() {
            return;
        }
        lock(&self.lost).get_or_insert_with(|| io::Error::new(why.kind(), why.to_string()));
        let mut left = lock(&self.files);
        for file in files {
            let above = file.parent();
            if is_lost.iter().any(|lost| *lost == file || Some(*lost) == above) {
                let _it_stays_unreferenced = std::fs::remove_file(file);
                left.remove(file);
            }
        }
    }

    /// Synchronises all noted files and the directories that name them, up to `root`. After an error the files that
    /// could not be synchronised are removed, and the others stay noted.
    pub fn settle(&self, root: &FilePath) -> io::Result<()> {
        let _turn = lock(&self.turn);
        self.settle_now(root)
    }

    fn settle_now(&self, root: &FilePath) -> io::Result<()> {
        let files: Vec<PathBuf> = lock(&self.files).iter().cloned().collect();
        if files.is_empty() {
            return Ok(());
        }
        let folders = self.folders(&files, root);
        let all: Vec<(&FilePath, bool)> =
            files.iter().map(|f| (f.as_path(), false)).chain(folders.iter().map(|f| (f.as_path(), true))).collect();
        let is_lost = Mutex::new(Vec::new());
        let done = each(&all, |(path, is_folder)| {
            let done = open(path).and_then(|opened| match opened {
                Some(file) => finished(*is_folder, file.sync_all()).inspect_err(|_| lock(&is_lost).push(*path)),
                None => Ok(()),
            });
            done.map_err(|e| named("cannot be brought to disk", path, e))
        });
        if let Err(e) = done {
            self.forget(&files, &lock(&is_lost), &e);
            return Err(e);
        }
        lock(&self.known).extend(folders.into_iter().filter(|folder| folder != root));
        let mut left = lock(&self.files);
        for file in &files {
            left.remove(file);
        }
        Ok(())
    }

    /// The directories of these files, and those above that have a new entry.
    fn folders(&self, files: &[PathBuf], root: &FilePath) -> BTreeSet<PathBuf> {
        let known = lock(&self.known);
        let mut folders = BTreeSet::new();
        for folder in files.iter().filter_map(|file| file.parent()).filter(|folder| folder.starts_with(root)) {
            if !folders.insert(folder.to_owned()) || known.contains(folder) || folder == root {
                continue;
            }
            folders
                .extend(folder.ancestors().skip(1).take_while(|above| above.starts_with(root)).map(FilePath::to_owned));
        }
        folders
    }
}

/// Runs `work` for each item on a few threads; returns the first error.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> io::Result<()> + Sync) -> io::Result<()> {
    let threads = items.len().min(AT_ONCE);
    if threads < 2 {
        return items.iter().try_for_each(work);
    }
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work(item) {
                        *lock(&failed) = Some(error);
                        return;
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// An error of the operating system with the path that it is about. Limits of open files are not about a path.
pub(crate) fn named(what: &str, path: &FilePath, e: io::Error) -> io::Error {
    match e.raw_os_error() {
        Some(ENFILE | EMFILE) => e,
        _ => io::Error::new(e.kind(), format!("{} {what}: {e}", path.display())),
    }
}

/// A file that was deleted in the meantime needs no synchronisation.
fn open(path: &FilePath) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// File systems that cannot synchronise a directory's entries (some network and FUSE mounts) say so; they keep
/// directories on the server.
fn finished(is_folder: bool, done: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, Unsupported};
    match done {
        Err(e) if is_folder && (matches!(e.kind(), InvalidInput | Unsupported) || e.raw_os_error() == Some(BADF)) => {
            Ok(())
        }
        done => done,
    }
}

/// "Bad file descriptor": the answer of file systems that open directories, but do not synchronise them.
const BADF: i32 = 9;

/// Synchronises a directory's entries.
pub(crate) fn sync_folder(path: &FilePath) -> io::Result<()> {
    open(path)?.map_or(Ok(()), |folder| finished(true, folder.sync_all()))
}

/// Synchronises the entries of a new directory and of those above it that were created with it: all below `existing`.
pub(crate) fn sync_new_folder(path: &FilePath, existing: &FilePath) -> io::Result<()> {
    path.ancestors().skip(1).take_while(|above| above.starts_with(existing)).try_for_each(sync_folder)
}
