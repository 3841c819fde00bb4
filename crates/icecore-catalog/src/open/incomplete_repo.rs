//! Detects a repository whose creation was interrupted (full disk, killed process).

use std::fs::DirEntry;
use std::path::Path;

use icechunk::format::SnapshotId;
use icechunk::format::snapshot::Snapshot;

use crate::open::lock;

/// Object beside a repository's own that says what it is a copy of; an unfinished copy has it and no root object.
pub(crate) const MARKER: &str = ".icecore.clone";
/// Icechunk's directories that the first version is written into, before the root object that names it.
const FIRST: [&str; 2] = ["snapshots", "transactions"];
/// Prefix of the temporary file that becomes the root object; a number follows.
const UNNAMED_ROOT: &str = "repo#";

/// Whether a directory holds an unfinished repository (at least the creator's lock file) and nothing else.
pub(crate) fn is_begun(folder: &Path) -> bool {
    is_incomplete_repo(folder) && std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Whether this directory holds only an unfinished repository. The holder of the lock may create it again.
pub(crate) fn is_incomplete_repo(folder: &Path) -> bool {
    let first = SnapshotId::to_string(&Snapshot::INITIAL_SNAPSHOT_ID);
    let is_of_first = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(&first);
    all(folder, &|entry| {
        let name = entry.file_name();
        lock::is_lock(&name)
            || name.to_string_lossy().starts_with(UNNAMED_ROOT)
            || (FIRST.iter().any(|part| name == *part) && all(&entry.path(), &is_of_first))
    })
}

fn all(folder: &Path, holds: &dyn Fn(&DirEntry) -> bool) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| holds(&entry))))
}

#[cfg(test)]
mod tests {
    use icecore_grid::ErrorKind;

    use super::*;
    use crate::{Repo, Storage};

    #[test]
    fn what_was_begun_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let storage = Storage::new(dir.path().display().to_string());
        std::fs::create_dir(dir.path().join("snapshots")).unwrap();
        let half =
            dir.path().join("snapshots").join(format!("{}#1", SnapshotId::to_string(&Snapshot::INITIAL_SNAPSHOT_ID)));
        std::fs::write(half, "ha").unwrap();
        let none = Repo::open(&storage).err().unwrap();
        assert_eq!(none.kind, ErrorKind::NotFound, "{none:?}");
        Repo::create(&storage).unwrap();
        Repo::open(&storage).unwrap();
    }

    #[test]
    fn each_state_of_a_creation_is_reported_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let storage = Storage::new(dir.path().display().to_string());
        let first = SnapshotId::to_string(&Snapshot::INITIAL_SNAPSHOT_ID);
        let empty = Repo::open(&storage).err().unwrap();
        assert!(empty.message.contains("the directory is empty"), "{empty:?}");
        for part in [lock::FILE, "snapshots/", &format!("snapshots/{first}"), "transactions/", "repo#1"] {
            let place = dir.path().join(part);
            if part.ends_with('/') {
                std::fs::create_dir(place).unwrap()
            } else {
                std::fs::write(place, "ha").unwrap()
            }
            let begun = Repo::open(&storage).err().unwrap();
            assert_eq!(begun.kind, ErrorKind::NotFound, "{part}: {begun:?}");
            assert!(begun.message.contains("is being created"), "{part}: {begun:?}");
        }
        Repo::create(&storage).unwrap();
        Repo::open(&storage).unwrap();
    }

    #[test]
    fn a_repository_that_lost_its_root_is_not_made_over() {
        let dir = tempfile::tempdir().unwrap();
        let storage = Storage::new(dir.path().display().to_string());
        Repo::create(&storage).unwrap();
        for part in ["chunks", "other"] {
            std::fs::create_dir(dir.path().join(part)).unwrap();
            let _gone = std::fs::remove_file(dir.path().join("repo"));
            assert_eq!(Repo::open(&storage).err().unwrap().kind, ErrorKind::Format);
            assert_eq!(Repo::create(&storage).err().unwrap().kind, ErrorKind::Exists);
            std::fs::remove_dir(dir.path().join(part)).unwrap();
        }
    }
}
