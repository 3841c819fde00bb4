//! Repositories in directories whose commits survive a power failure.
//!
//! Objects of a version are written first and published by one rename. Before that rename everything written so far is
//! synchronised, many files at a time, and the rename itself before the change returns. See `docs/format.md`.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

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

use crate::error::root_io;
use crate::lock_file::{confirm, lacks_links};
use crate::stores::unsynced::{Unsynced, named, sync_folder};

type StoreResult<T> = object_store::Result<T>;

/// Folders of files that nothing points to until the root object is replaced.
const CONTENT: [&str; 6] = ["chunks", "manifests", "snapshots", "transactions", "overwritten", crate::seal::FOLDER];
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
            // Nothing waits for it: files that fail are removed, which the commit that needs them finds.
            let _in_the_background = tokio::task::spawn_blocking(move || state.settle(&root));
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
        let pointer = Pointer { root: self.root.clone(), target: self.root.join(location.as_ref()) };
        let is_durable = self.state.is_some();
        if let Some(state) = self.state.clone() {
            let root = self.root.clone();
            blocking(move || state.settle_to_publish(&root)).await?;
        }
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
