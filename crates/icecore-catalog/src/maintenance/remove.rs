//! Delete a whole repository from its directory.

use std::io;
use std::path::Path;

use icechunk::format::snapshot::Snapshot;
use icecore_grid::Result;

use crate::error;
use crate::open::lock;
use crate::open::repo_state::RepoState;
use crate::repo::Repo;
use crate::runtime::run;
use crate::stores::options;
use crate::stores::storage::Root;
use crate::stores::unsynced::sync_folder;
use crate::versions::names;

impl Repo {
    /// Deletes the repository and its directory; with `only_if_bare` only if no branch has a commit. Waits for running commits;
    /// later writers get the error that the repository was removed. Returns whether it was removed: repositories on
    /// object stores and in memory stay.
    ///
    /// # Errors
    /// Conflict (another process holds the repository's lock), NotFound (it was removed already), Permission, Io,
    /// Corrupt.
    pub fn remove(&self, only_if_bare: bool) -> Result<bool> {
        let shared = self.shared()?;
        let Root::Local(folder) = &shared.root else { return Ok(false) };
        run(async {
            let held = shared.lock.hold()?;
            let is_wanted = !only_if_bare || is_bare(shared).await?;
            if is_wanted {
                erase(folder, options::is_durable(&shared.options)?)
                    .map_err(|e| error::during(format!("removing {}", folder.display()))(error::io(&e)))?;
            }
            drop(held);
            Ok(is_wanted)
        })
    }
}

/// Whether the repository has only its initial version, under one name.
async fn is_bare(shared: &RepoState) -> Result<bool> {
    let names = names::all(shared).await?;
    let Some(info) = &names.info else { return Ok(false) };
    let versions = info.all_snapshots().map_err(error::format)?.count();
    let is_first = names.branches.values().all(|id| *id == Snapshot::INITIAL_SNAPSHOT_ID);
    Ok(versions == 1 && is_first && names.branches.len() == 1 && names.tags.is_empty())
}

/// The root object is deleted first: after that the repository does not exist. The lock is deleted last.
fn erase(folder: &Path, is_durable: bool) -> io::Result<()> {
    let is_there = |e: &io::Error| e.kind() != io::ErrorKind::NotFound;
    match std::fs::remove_file(folder.join("repo")) {
        Err(e) if is_there(&e) => return Err(e),
        _ => {}
    }
    // After a power failure nothing may point to files that are gone.
    if is_durable {
        sync_folder(folder)?;
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if lock::is_lock(&entry.file_name()) {
            continue;
        }
        let is_folder = entry.file_type()?.is_dir();
        let path = entry.path();
        match if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) } {
            Err(e) if is_there(&e) => return Err(e),
            _ => {}
        }
    }
    for entry in std::fs::read_dir(folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    std::fs::remove_dir(folder)
}
