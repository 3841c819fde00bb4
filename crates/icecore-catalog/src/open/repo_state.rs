//! State shared by all handles of an open repository.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use icechunk::Repository;
use icechunk::format::repo_info::RepoInfo;
use icechunk::virtual_chunks::VirtualChunkContainer;
use icecore_grid::{Error, Result};

use crate::error;
use crate::nodes::cache::TableCache;
use crate::nodes::shared_manifests::SharedManifests;
use crate::open::lock::{Held, Lock};
use crate::open::root;
use crate::stores::containers;
use crate::stores::flags::Options;
use crate::stores::options;
use crate::stores::storage::Root;
use crate::stores::unsynced::Unsynced;

/// For this long after opening, the first look-up of a version uses the root object that was read then.
const FRESH: Duration = Duration::from_secs(5);

/// Where a repository's own objects can be read without the catalog.
#[derive(Clone, Debug, PartialEq)]
pub enum Native {
    /// A directory: join an object's name to it.
    Local(PathBuf),
    /// A URL: append `/` and an object's name; `options` as in [`crate::Storage`].
    Url { url: String, options: Options },
    /// A bucket: an object's key is `prefix/name`, as it stands.
    Bucket { base: String, prefix: String, options: Options },
    /// Readable only through [`crate::Repo::read_object`].
    Memory,
}

pub(crate) struct RepoState {
    pub root: Root,
    pub url: String,
    pub options: Options,
    pub lock: Lock,
    pub cache: TableCache,
    pub manifests: SharedManifests,
    /// Whether it was opened with an explicit list of prefixes.
    is_restricted: bool,
    opened: RwLock<Arc<Opened>>,
    /// The root object that was read when opening: saves the first look-up of a version a round trip.
    first: Mutex<Option<(Instant, Arc<RepoInfo>)>>,
    /// The root object that was checked last.
    checked: Mutex<Option<Arc<RepoInfo>>>,
}

/// The repository with its authorised links; replaced when links to new places are recorded.
pub(crate) struct Opened {
    pub repository: Arc<Repository>,
    /// Normalised prefixes of allowed links.
    pub prefixes: Vec<String>,
    /// The containers in the repository's own configuration; this process may read from others too.
    pub recorded: Vec<VirtualChunkContainer>,
}

impl RepoState {
    pub fn new(
        root: Root,
        options: Options,
        lock: Lock,
        is_restricted: bool,
        opened: Opened,
        first: Option<Arc<RepoInfo>>,
        checked: Option<Arc<RepoInfo>>,
    ) -> Self {
        let opened = RwLock::new(Arc::new(opened));
        Self {
            url: root.url(),
            root,
            options,
            lock,
            cache: TableCache::default(),
            manifests: SharedManifests::default(),
            is_restricted,
            opened,
            checked: Mutex::new(checked),
            first: Mutex::new(first.map(|info| (Instant::now(), info))),
        }
    }

    fn opened(&self) -> Arc<Opened> {
        Arc::clone(&self.opened.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn repository(&self) -> Arc<Repository> {
        Arc::clone(&self.opened().repository)
    }

    /// Normalised prefixes of allowed links.
    pub fn prefixes(&self) -> Vec<String> {
        self.opened().prefixes.clone()
    }

    /// Recorded prefixes of links.
    pub fn recorded(&self) -> Vec<String> {
        self.opened().recorded.iter().map(|c| c.url_prefix().to_owned()).collect()
    }

    /// The root object that was read when opening, if it is still fresh; returned only once.
    pub fn take_first(&self) -> Option<Arc<RepoInfo>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.filter(|(read, _)| read.elapsed() < FRESH).map(|(_, info)| info)
    }

    /// Rejects a root object that Icechunk can't process safely; each object is checked once.
    pub fn check(&self, info: &Arc<RepoInfo>) -> Result<()> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if !checked.as_ref().is_some_and(|known| is_same(known, info)) {
            root::check(&self.root, info)?;
        }
        *checked = Some(Arc::clone(info));
        Ok(())
    }

    /// Whether this root object was checked last.
    #[cfg(test)]
    pub fn is_checked(&self, info: &Arc<RepoInfo>) -> bool {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        checked.as_ref().is_some_and(|known| Arc::ptr_eq(known, info))
    }

    /// Counts a root object as checked that this process made from a checked one: checking takes as long as making it.
    pub fn accept(&self, before: &Arc<RepoInfo>, after: Arc<RepoInfo>) {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.as_ref().is_some_and(|known| is_same(known, before)) {
            *checked = Some(after);
        }
    }

    /// Notes a file of a local repository that was written past Icechunk, for the next synchronisation.
    pub fn note_written(&self, name: &str) {
        if let Some((state, root)) = self.unsynced() {
            state.add(root.join(name));
        }
    }

    /// Synchronises what was written to a local repository so far.
    ///
    /// # Errors
    /// Io.
    pub fn synchronise(&self) -> Result<()> {
        let Some((state, root)) = self.unsynced() else { return Ok(()) };
        state.settle(&root).map_err(|e| error::during(&self.url)(error::io(&e)))
    }

    /// Why written files were removed again since this was last asked: the disk failed.
    pub fn take_lost(&self) -> Option<Error> {
        let (state, _) = self.unsynced()?;
        state.take_lost().map(|e| error::io(&e))
    }

    /// What is not on disk yet, if the repository is in a directory and is not scratch data.
    fn unsynced(&self) -> Option<(Arc<Unsynced>, PathBuf)> {
        let Root::Local(root) = &self.root else { return None };
        let root = std::fs::canonicalize(root).ok()?;
        options::is_durable(&self.options).unwrap_or(true).then(|| (Unsynced::of(&root), root))
    }

    /// Ends a change to the root object: records its checksum and releases the lock.
    pub async fn settle(&self, held: Held) {
        root::seal(&self.root, &self.repository()).await;
        drop(held);
    }

    /// Allows this process to read links under further containers, unless it was opened with an explicit list of
    /// prefixes.
    pub async fn allow(&self, new: &[VirtualChunkContainer]) -> Result<()> {
        self.reopen(new, false).await
    }

    /// Records that containers were added to the repository's configuration.
    pub async fn note_recorded(&self, new: &[VirtualChunkContainer]) -> Result<()> {
        self.reopen(new, true).await
    }

    async fn reopen(&self, new: &[VirtualChunkContainer], are_recorded: bool) -> Result<()> {
        let opened = self.opened();
        let mut recorded = opened.recorded.clone();
        recorded.extend(new.iter().filter(|c| are_recorded && !opened.recorded.contains(c)).cloned());
        // This process's user named the new prefixes, so they are allowed even if a remote repository's recorded ones
        // would not be.
        let mut prefixes = opened.prefixes.clone();
        let fresh = new
            .iter()
            .map(|c| c.url_prefix().to_owned())
            .filter(|p| !self.is_restricted && !opened.prefixes.contains(p));
        prefixes.extend(fresh);
        let all = containers::configured(&opened.repository).into_iter().chain(new.iter().cloned()).collect();
        let access = containers::access(all, &self.options, prefixes)?;
        let repository =
            opened.repository.reopen(Some(access.config), Some(access.credentials)).await.map_err(error::repository)?;
        let opened = Arc::new(Opened { repository: Arc::new(repository), prefixes: access.prefixes, recorded });
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = opened;
        Ok(())
    }
}

/// Whether two root objects are the same state.
fn is_same(known: &Arc<RepoInfo>, info: &Arc<RepoInfo>) -> bool {
    Arc::ptr_eq(known, info) || known.bytes() == info.bytes()
}
