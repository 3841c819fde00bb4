//! Repositories in directories whose commits survive a power failure.
//!
//! Objects of a version are written first and published by one rename. Before that rename everything written so far is
//! synchronised, many files at a time, and the rename itself before the change returns. See `docs/format.md`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use icechunk::ObjectStorage;
use icechunk::storage::{
    ObjectStoreBackend, RetriesSettings, Role, Settings, StorageError, StorageErrorKind, StorageInfo,
};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use serde::{Deserialize, Serialize};

use crate::error::{EMFILE, ENFILE, root_io};
use crate::lock_file::{confirm, lacks_links};
use crate::process::PerProcess;

type StoreResult<T> = object_store::Result<T>;

/// Folders of files that nothing points to until the root object is replaced.
const CONTENT: [&str; 6] = ["chunks", "manifests", "snapshots", "transactions", "overwritten", crate::seal::FOLDER];
/// Files that are synchronised at once: a file system groups concurrent requests.
const AT_ONCE: usize = 16;
/// Files that may wait for the next commit; further ones are synchronised at once, so that a commit's wait is bounded.
const WAITING: usize = 1024;
/// Bytes after which the files so far are synchronised in the background, so that a disk is at work while further ones
/// are encoded and a commit waits for the last of them alone.
const AHEAD: u64 = 32 << 20;
/// Environment variable with the default of the process.
pub(crate) const DURABILITY: &str = "ICECORE_DURABILITY";
/// Value of the variable and of the storage option for scratch data: nothing is synchronised.
pub(crate) const NONE: &str = "none";
/// The other value, and the default: changes are on disk when they return.
pub(crate) const FULL: &str = "full";

/// Whether this process synchronises the files that it writes, unless a repository's options say otherwise:
/// `ICECORE_DURABILITY=none` turns it off.
#[must_use]
pub fn is_durable() -> bool {
    std::env::var(DURABILITY).map_or(true, |value| value.trim() != NONE)
}

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
    /// What went wrong in the background, for the next commit.
    failed: Mutex<Option<io::Error>>,
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
    fn is_due(&self, bytes: u64) -> bool {
        let is_due = self.fresh.fetch_add(bytes, Ordering::Relaxed) + bytes >= AHEAD;
        if is_due {
            self.fresh.store(0, Ordering::Relaxed);
        }
        is_due
    }

    /// Synchronises what is noted so far; an error is kept for the next commit, which needs these files.
    fn settle_ahead(&self, root: &FilePath) {
        if let Err(e) = self.settle(root) {
            lock(&self.failed).get_or_insert(e);
        }
    }

    fn is_full(&self) -> bool {
        lock(&self.files).len() >= WAITING
    }

    /// Removes the files of a failed synchronisation, and those in a directory of one. The system reports such a failure
    /// once: the next attempt would succeed although the data are lost. Without the files no commit can refer to them.
    fn forget(&self, files: &[PathBuf], is_lost: &[&FilePath]) {
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
        if let Some(e) = lock(&self.failed).take() {
            return Err(e);
        }
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
            self.forget(&files, &lock(&is_lost));
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
fn named(what: &str, path: &FilePath, e: io::Error) -> io::Error {
    match e.raw_os_error() {
        Some(ENFILE | EMFILE) => e,
        _ => io::Error::new(e.kind(), format!("{} {what}: {e}", path.display())),
    }
}

/// Copies a file into a repository's directory under the name of one of its objects, which it has when it is complete.
/// Its access rights are those of a new file in that directory.
pub(crate) fn copy_in(root: &FilePath, name: &str, source: &FilePath, is_durable: bool) -> io::Result<u64> {
    let target = root.join(name);
    std::fs::create_dir_all(target.parent().unwrap_or(root))?;
    let (mut file, staged) = stage(&target)?;
    let copied = File::open(source).and_then(|mut source| io::copy(&mut source, &mut file));
    drop(file);
    let done = copied.and_then(|bytes| std::fs::rename(&staged, &target).map(|()| bytes));
    if done.is_err() {
        let _it_was_not_complete = std::fs::remove_file(&staged);
    }
    let bytes = done?;
    if is_durable {
        let state = Unsynced::of(root);
        state.add(target);
        if state.is_full() {
            state.settle(root)?;
        }
    }
    Ok(bytes)
}

/// A new file beside `target`; its name is one that Icechunk and `gc` know as unfinished.
fn stage(target: &FilePath) -> io::Result<(File, PathBuf)> {
    let mut number = 1;
    loop {
        let mut name = target.as_os_str().to_owned();
        name.push(format!("#{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            done => return done.map(|file| (file, name.into())),
        }
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

/// Synchronises a directory's entries.
pub(crate) fn sync_folder(path: &FilePath) -> io::Result<()> {
    open(path)?.map_or(Ok(()), |folder| finished(true, folder.sync_all()))
}

/// "Bad file descriptor": the answer of file systems that open directories, but do not synchronise them.
const BADF: i32 = 9;

/// Synchronises the entries of a new directory and of those above it that were created with it: all below `existing`.
pub(crate) fn sync_new_folder(path: &FilePath, existing: &FilePath) -> io::Result<()> {
    path.ancestors().skip(1).take_while(|above| above.starts_with(existing)).try_for_each(sync_folder)
}

/// A directory as Icechunk's store.
#[derive(Debug)]
pub(crate) struct DurableStore {
    root: PathBuf,
    files: LocalFileSystem,
    state: Option<Arc<Unsynced>>,
}

impl DurableStore {
    /// The store of an existing directory; without synchronisation if not `is_durable`.
    pub fn new(root: PathBuf, is_durable: bool) -> StoreResult<Self> {
        let files = LocalFileSystem::new_with_prefix(&root)?;
        let state = is_durable.then(|| Unsynced::of(&root));
        Ok(Self { root, files, state })
    }

    /// Notes a content file of `bytes`.
    async fn note(&self, location: &Path, bytes: u64) -> StoreResult<()> {
        let Some(state) = &self.state else { return Ok(()) };
        state.add(self.root.join(location.as_ref()));
        if state.is_full() {
            return self.settle().await;
        }
        if state.is_due(bytes) {
            let (state, root) = (Arc::clone(state), self.root.clone());
            let _nobody_waits = tokio::task::spawn_blocking(move || state.settle_ahead(&root));
        }
        Ok(())
    }

    async fn settle(&self) -> StoreResult<()> {
        let Some(state) = self.state.clone() else { return Ok(()) };
        let root = self.root.clone();
        blocking(move || state.settle(&root)).await
    }

    /// Replaces a file that others find content by: all content first, then the file, then its directory's entry.
    async fn publish(&self, location: &Path, payload: PutPayload, mode: PutMode) -> StoreResult<PutResult> {
        self.settle().await?;
        let pointer = Pointer { root: self.root.clone(), target: self.root.join(location.as_ref()) };
        let is_durable = self.state.is_some();
        blocking(move || pointer.write(&payload, mode == PutMode::Create, is_durable)).await?;
        let e_tag = self.files.get_opts(location, GetOptions { head: true, ..GetOptions::default() }).await?.meta.e_tag;
        Ok(PutResult { e_tag, version: None, extensions: Default::default() })
    }
}

/// A file that names other files.
struct Pointer {
    root: PathBuf,
    target: PathBuf,
}

impl Pointer {
    fn write(&self, payload: &PutPayload, is_new: bool, is_durable: bool) -> io::Result<()> {
        let folder = self.target.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder)?;
        let (file, staged) = stage(&self.target)?;
        let done = self.finish(file, &staged, payload, is_new, is_durable);
        if done.is_err() || is_new {
            let _it_was_renamed = std::fs::remove_file(&staged);
        }
        done?;
        if !is_durable {
            return Ok(());
        }
        sync_folder(folder).map_err(|e| {
            let what = "was replaced, but its directory cannot be brought to disk: a power failure may undo the change";
            named(what, &self.target, e)
        })
    }

    fn finish(
        &self,
        mut file: File,
        staged: &FilePath,
        payload: &PutPayload,
        is_new: bool,
        is_durable: bool,
    ) -> io::Result<()> {
        payload.iter().try_for_each(|part| file.write_all(part))?;
        if is_durable {
            file.sync_all()?;
        }
        drop(file);
        confirm(&self.root)?;
        if !is_new {
            return std::fs::rename(staged, &self.target);
        }
        match std::fs::hard_link(staged, &self.target) {
            Err(e) if lacks_links(&e) && !self.target.exists() => std::fs::rename(staged, &self.target),
            done => done,
        }
    }
}

async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> StoreResult<()> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(io::Error::other(e)));
    done.map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => object_store::Error::AlreadyExists { path: String::new(), source: Box::new(e) },
        _ => object_store::Error::Generic { store: "LocalFileSystem", source: Box::new(e) },
    })
}

fn is_content(location: &Path) -> bool {
    location.parts().next().is_some_and(|first| CONTENT.contains(&first.as_ref()))
}

impl fmt::Display for DurableStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for DurableStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        if !is_content(location) {
            return self.publish(location, payload, options.mode).await;
        }
        let bytes = payload.content_length() as u64;
        let done = self.files.put_opts(location, payload, options).await?;
        self.note(location, bytes).await?;
        Ok(done)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        // Icechunk does not use it. Nothing may be written past the list of files to synchronise.
        let files = LocalFileSystem::new_with_prefix(&self.root)?.with_fsync(self.state.is_some());
        files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.files.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> StoreResult<Vec<Bytes>> {
        self.files.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, StoreResult<Path>>) -> BoxStream<'static, StoreResult<Path>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.files.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.files.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        match self.files.copy_opts(from, to, options).await {
            Err(e) if root_io(&e).is_some_and(lacks_links) => {
                let bytes = self.files.get_opts(from, GetOptions::default()).await?.bytes().await?;
                self.files.put_opts(to, bytes.into(), PutOptions::default()).await?;
            }
            done => done?,
        }
        self.note(to, 0).await
    }
}

#[derive(Serialize, Deserialize)]
struct Local {
    /// Not a path, which must be Unicode to be serialised.
    path: OsString,
    is_durable: bool,
}

/// Icechunk's storage in an existing or new directory.
pub(crate) fn storage(path: &FilePath, is_durable: bool) -> Result<ObjectStorage> {
    // Icechunk accepts a foreign backend only in its serialised form.
    let local: Arc<dyn ObjectStoreBackend> = Arc::new(Local { path: path.as_os_str().to_owned(), is_durable });
    let made = serde_json::to_value(&local)
        .and_then(|backend| serde_json::from_value::<ObjectStorage>(serde_json::json!({ "backend": backend })));
    made.map_err(|e| Error::new(ErrorKind::Invalid, format!("{}: {e}", path.display())))
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.to_string_lossy())
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[typetag::serde(name = "icecore_local")]
impl ObjectStoreBackend for Local {
    fn mk_object_store(&self, _: &Settings, _: Role) -> std::result::Result<Arc<dyn ObjectStore>, StorageError> {
        let root = std::fs::canonicalize(&self.path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => StorageError::capture(StorageErrorKind::ObjectNotFound),
            _ => StorageError::capture(StorageErrorKind::IOError(e)),
        })?;
        let made = DurableStore::new(root, self.is_durable);
        made.map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
            .map_err(|e| StorageError::capture(StorageErrorKind::ObjectStore(Box::new(e))))
    }

    fn prefix(&self) -> String {
        String::new()
    }

    /// LocalFileSystem lists in the order of the directory.
    fn artificially_sort_refs_in_mem(&self) -> bool {
        true
    }

    fn supports_storage_class(&self) -> bool {
        false
    }

    fn storage_info(&self) -> StorageInfo {
        StorageInfo { backend_type: "local filesystem", fields: vec![("path", self.to_string())] }
    }

    fn default_settings(&self) -> Settings {
        let once =
            RetriesSettings { max_tries: NonZeroU16::new(1), initial_backoff_ms: Some(0), max_backoff_ms: Some(0) };
        Settings {
            unsafe_use_conditional_update: Some(false),
            unsafe_use_metadata: Some(false),
            retries: Some(once),
            ..Settings::default()
        }
    }

    fn create_location_if_needed(&self) -> std::result::Result<(), StorageError> {
        std::fs::create_dir_all(&self.path).map_err(|e| StorageError::capture(StorageErrorKind::IOError(e)))
    }
}
