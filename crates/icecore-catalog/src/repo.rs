//! An open repository.

use std::sync::Arc;

use bytes::Bytes;
use icecore_grid::Result;

use crate::options::Options;
use crate::runtime::run;
use crate::shared::{Native, Shared};
use crate::snapshot::Snapshot;
use crate::storage::Storage;
use crate::writer::Writer;
use crate::{object, open, prefix, resolve};

/// A repository: versions of a tree of groups and arrays. Cheap to clone; all functions may be called from many threads.
#[derive(Clone)]
pub struct Repo(pub(crate) Arc<Shared>);

impl Repo {
    /// Makes a new repository.
    ///
    /// # Errors
    /// Exists when there is a repository or anything else at the place; ReadOnly for http(s); Permission, Io, Network.
    pub fn create(storage: &Storage) -> Result<Self> {
        run(open::create(storage)).map(|shared| Self(Arc::new(shared)))
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// NotFound when there is nothing, Format when there is something else; Corrupt, Unsupported, Permission, Io, Network.
    pub fn open(storage: &Storage) -> Result<Self> {
        run(open::open(storage)).map(|shared| Self(Arc::new(shared)))
    }

    /// The absolute path or URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// The options that the repository was opened with; secrets included.
    #[must_use]
    pub fn storage_options(&self) -> Options {
        self.0.options.clone()
    }

    /// Where the repository's own objects can be read without the catalog.
    #[must_use]
    pub fn native_location(&self) -> Native {
        self.0.native()
    }

    /// The version that a branch, tag, snapshot id (or its beginning) or ISO time names, looked up in this order; None: `main`.
    /// A time names the last commit of `main` at or before it; a date stands for its last moment, no zone means UTC.
    ///
    /// # Errors
    /// NotFound, with the names that there are.
    pub fn snapshot(&self, reference: Option<&str>) -> Result<Snapshot> {
        run(async {
            let id = resolve::snapshot_id(&self.0, reference).await?;
            Snapshot::committed(Arc::clone(&self.0), id).await
        })
    }

    /// Starts writing to a branch.
    ///
    /// # Errors
    /// ReadOnly for http(s); NotFound when there is no such branch.
    pub fn writer(&self, branch: &str) -> Result<Writer> {
        Writer::new(Arc::clone(&self.0), branch)
    }

    /// `length` bytes from `offset` on of one of the repository's own objects.
    ///
    /// # Errors
    /// Corrupt when the object is missing or shorter.
    pub fn read_object(&self, name: &str, offset: u64, length: u64) -> Result<Bytes> {
        object::read(&self.0, name, offset, length)
    }

    /// May chunks that lie in this file be read? By its URL, under the prefixes of [`Repo::link_prefixes`].
    #[must_use]
    pub fn link_allowed(&self, url: &str) -> bool {
        prefix::normal(url).is_some_and(|url| self.0.prefixes().iter().any(|p| prefix::covers(p, &url)))
    }

    /// The prefixes that linked chunks may lie under.
    #[must_use]
    pub fn link_prefixes(&self) -> Vec<String> {
        let mut prefixes = self.0.prefixes();
        prefixes.sort();
        prefixes
    }
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("url", &self.0.url).finish_non_exhaustive()
    }
}
