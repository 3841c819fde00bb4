//! Information for reopening a repository after a fork.

use std::sync::Arc;

use icecore_grid::Result;

use crate::open;
use crate::open::repo_state::{Native, RepoState};
use crate::process::PerProcess;
use crate::runtime::run;
use crate::stores::flags::options_for;
use crate::stores::storage::{Root, Storage};

pub(crate) struct Handle {
    /// With an absolute address, because a child may run in another directory.
    storage: Storage,
    root: Root,
    shared: PerProcess<Arc<RepoState>>,
}

impl Handle {
    /// From a repository that was just opened or created.
    pub fn new(storage: &Storage, shared: RepoState) -> Self {
        let storage = Storage { url: shared.url.clone(), ..storage.clone() };
        Self { storage, root: shared.root.clone(), shared: PerProcess::with(Arc::new(shared)) }
    }

    /// State shared by the handles of this process. A child process opens the repository again, because the
    /// connections, caches and locks of its parent belong to threads that the child does not have.
    ///
    /// # Errors
    /// In a child, the errors of opening a repository.
    pub fn shared(&self) -> Result<&Arc<RepoState>> {
        self.shared.get_or_try(|_| run(open::open(&self.storage)).map(Arc::new))
    }

    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Where the repository's own objects are stored.
    pub fn native(&self) -> Native {
        let options = || options_for(&self.storage.options, &self.storage.url);
        match &self.root {
            Root::Local(path) => Native::Local(path.clone()),
            Root::Memory(_) => Native::Memory,
            Root::Http(_) => Native::Url { url: self.storage.url.clone(), options: options() },
            Root::Bucket { base, prefix } => {
                Native::Bucket { base: base.clone(), prefix: prefix.clone(), options: options() }
            }
        }
    }
}
