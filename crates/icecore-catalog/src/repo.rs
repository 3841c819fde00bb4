//! An open repository.

use std::sync::Arc;

use bytes::Bytes;
use icecore_grid::Result;

use crate::open;
use crate::open::handle::Handle;
use crate::open::object;
use crate::open::repo_state::{Native, RepoState};
use crate::open::snapshot::Snapshot;
use crate::open::writer::Writer;
use crate::runtime::run;
use crate::stores::flags::Options;
use crate::stores::prefix;
use crate::stores::storage::Storage;
use crate::versions::resolve;

/// A repository: versions of a tree of groups and arrays. Cheap to clone; all functions may be called from many threads.
#[derive(Clone)]
pub struct Repo(pub(crate) Arc<Handle>);

impl Repo {
    /// Creates a new repository.
    ///
    /// # Errors
    /// Exists if the location holds a repository or anything else; ReadOnly for http(s); Permission, Io, Network.
    pub fn create(storage: &Storage) -> Result<Self> {
        run(open::create(storage)).map(|shared| Self(Arc::new(Handle::new(storage, shared))))
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// NotFound if the location is empty, Format if it holds something else; Corrupt, Unsupported, Permission, Io,
    /// Network.
    pub fn open(storage: &Storage) -> Result<Self> {
        run(open::open(storage)).map(|shared| Self(Arc::new(Handle::new(storage, shared))))
    }

    /// The absolute path or URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.storage().url
    }

    /// The options that the repository was opened with, including secrets.
    #[must_use]
    pub fn storage_options(&self) -> Options {
        self.0.storage().options.clone()
    }

    /// Where the repository's own objects can be read without the catalog.
    #[must_use]
    pub fn native_location(&self) -> Native {
        self.0.native()
    }

    /// The version that a branch, tag, snapshot id (or its beginning) or ISO time names, looked up in this order; None: `main`.
    /// A time selects the last commit of `main` at or before it. A date means its last moment; without a zone it is UTC.
    /// Revisions in git's notation follow: `main~1`, `v1^`, `@{2026-11-01}`, `run@{2026-11-01}`.
    ///
    /// # Errors
    /// NotFound, listing the existing names.
    pub fn snapshot(&self, reference: Option<&str>) -> Result<Snapshot> {
        let shared = self.shared()?;
        run(async {
            let id = resolve::snapshot_id(shared, reference).await?;
            Snapshot::committed(&self.0, shared, id).await
        })
    }

    /// Starts a writer on a branch.
    ///
    /// # Errors
    /// `read-only` for http(s); `not-found` if the branch does not exist.
    pub fn writer(&self, branch: &str) -> Result<Writer> {
        Writer::new(Arc::clone(self.shared()?), branch)
    }

    /// Reads `length` bytes, from `offset` on, of one of the repository's own objects.
    ///
    /// # Errors
    /// Corrupt if the object is missing or shorter.
    pub fn read_object(&self, name: &str, offset: u64, length: u64) -> Result<Bytes> {
        object::read(self.shared()?, name, offset, length)
    }

    /// Whether chunks in this file may be read: its URL must begin with one of [`Repo::link_prefixes`].
    ///
    /// # Errors
    /// As [`Repo::open`], in a forked process, which opens the repository again.
    pub fn link_allowed(&self, url: &str) -> Result<bool> {
        let prefixes = self.shared()?.prefixes();
        Ok(prefix::normal(url).is_some_and(|url| prefixes.iter().any(|p| prefix::covers(p, &url))))
    }

    /// The allowed prefixes of linked chunks.
    ///
    /// # Errors
    /// As for [`Repo::link_allowed`].
    pub fn link_prefixes(&self) -> Result<Vec<String>> {
        let mut prefixes = self.shared()?.prefixes();
        prefixes.sort();
        Ok(prefixes)
    }

    /// The state shared by all handles of this process.
    pub(crate) fn shared(&self) -> Result<&Arc<RepoState>> {
        self.0.shared()
    }
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("url", &self.url()).finish_non_exhaustive()
    }
}
