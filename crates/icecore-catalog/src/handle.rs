//! Information to open a repository again after a fork.

use std::sync::Arc;

use icecore_grid::Result;

use crate::open;
use crate::process::PerProcess;
use crate::repo_state::{Native, RepoState};
use crate::runtime::run;
use crate::storage::{Root, Storage};

pub(crate) struct Handle {
    /// With the absolute address: a child may be in another directory.
    storage: Storage,
    root: Root,
    shared: PerProcess<Arc<RepoState>>,
}

impl Handle {
    /// Of a repository that was just opened or made.
    pub fn new(storage: &Storage, shared: RepoState) -> Self {
        let storage = Storage { url: shared.url.clone(), ..storage.clone() };
        Self { storage, root: shared.root.clone(), shared: PerProcess::with(Arc::new(shared)) }
    }

    /// What the handles of this process share. A child process opens the repository again: the connections, caches and turns of
    /// its parent are in the hands of threads that it doesn't have.
    ///
    /// # Errors
    /// In a child, those of opening a repository.
    pub fn shared(&self) -> Result<&Arc<RepoState>> {
        self.shared.get_or_try(|_| run(open::open(&self.storage)).map(Arc::new))
    }

    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Where the repository's own objects are.
    pub fn native(&self) -> Native {
        match &self.root {
            Root::Local(path) => Native::Local(path.clone()),
            Root::Memory(_) => Native::Memory,
            Root::Http(_) => Native::Url { url: self.storage.url.clone(), options: self.storage.options.clone() },
            Root::S3 { bucket, prefix } => {
                Native::Bucket { bucket: bucket.clone(), prefix: prefix.clone(), options: self.storage.options.clone() }
            }
        }
    }
}
