//! Compare a repository's names with its own list of updates.
//!
//! The root object has no checksum, and a flipped bit can move a branch to another existing version. But the object
//! also lists the latest updates, newest first: the newest update of a branch determines where it must be, or that it
//! was deleted.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use flatbuffers::{ForwardsUOffset, Vector};
use icechunk::format::SnapshotId;
use icechunk::format::flatbuffers::generated::{self, ObjectId12, Ref, SnapshotInfo, Update, UpdateType};
use icechunk::format::snapshot::Snapshot;
use icecore_grid::Result;

use crate::error::damaged;

/// Rejects a root object whose names differ from the result of its updates, or whose commits have other parents. The
/// caller has verified its structure and its indexes.
pub(crate) fn agree(root: &generated::Repo) -> Result<()> {
    let versions = Versions(root.snapshots());
    let mut recorded = Recorded {
        branches: Kind::new("branch", root.branches(), &versions),
        tags: Kind::new("tag", root.tags(), &versions),
        versions,
        was_expired: false,
        was_swept: false,
    };
    for update in root.latest_updates() {
        if update.update_type_type() == UpdateType::RepoMigratedUpdate {
            // Older updates were reconstructed from the histories, in the order of the committers' clocks.
            return Ok(());
        }
        recorded.read(&update)?;
    }
    let is_whole = root.repo_before_updates().is_none();
    match root.latest_updates().iter().next_back().map(|update| update.update_type_type()) {
        Some(UpdateType::RepoInitializedUpdate) if is_whole => recorded.all_are_recorded(),
        _ => Ok(()),
    }
}

type Id = [u8; 12];

fn bad(what: &str) -> icecore_grid::Error {
    damaged(format!("the repository's list of versions contradicts itself: {what}"))
        .hint("restore the file `repo` from a backup, or from the directory `overwritten`")
}

fn shown(id: &Id) -> String {
    SnapshotId::new(*id).to_string()
}

/// The versions, in the order of their ids.
#[derive(Clone, Copy)]
struct Versions<'a>(Vector<'a, ForwardsUOffset<SnapshotInfo<'a>>>);

impl<'a> Versions<'a> {
    fn get(&self, at: usize) -> Option<SnapshotInfo<'a>> {
        (at < self.0.len()).then(|| self.0.get(at))
    }

    fn find(&self, id: &Id) -> Option<SnapshotInfo<'a>> {
        let (mut low, mut high) = (0, self.0.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let version = self.0.get(middle);
            match version.id().0.cmp(id) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(version),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn has(&self, id: &Id) -> bool {
        self.find(id).is_some()
    }

    fn parent(&self, version: &SnapshotInfo<'a>) -> Option<SnapshotInfo<'a>> {
        usize::try_from(version.parent_offset()).ok().and_then(|at| self.get(at))
    }

    /// The parent of a commit must be the version that was its branch's newest, if both still exist; after an expiration
    /// (`was_expired`) it may be an ancestor of that.
    fn follows(&self, child: &Id, parent: &Id, was_expired: bool) -> Result<()> {
        let Some(found) = self.find(child).filter(|_| self.has(parent)) else { return Ok(()) };
        let found = self.parent(&found).map(|version| version.id().0);
        if found.as_ref() == Some(parent) || (was_expired && found.as_ref().is_some_and(|f| self.descends(parent, f))) {
            return Ok(());
        }
        let (child, parent) = (shown(child), shown(parent));
        let found = found.as_ref().map_or("none".to_owned(), shown);
        Err(bad(&format!("version {child} follows {found}, and was committed on top of {parent}")))
    }

    fn descends(&self, version: &Id, ancestor: &Id) -> bool {
        let mut at = self.find(version);
        // no longer than the list, whose parents may form a circle in a damaged file
        for _ in 0..=self.0.len() {
            let Some(version) = at else { return false };
            if version.id().0 == *ancestor {
                return true;
            }
            at = self.parent(&version);
        }
        false
    }
}

/// Branches or tags: their positions, and which of them the updates read so far have settled.
struct Kind<'a> {
    what: &'static str,
    now: HashMap<&'a str, Id>,
    settled: HashSet<&'a str>,
    /// The oldest commit on each branch so far, if only commits lie between it and the next older update.
    oldest: HashMap<&'a str, Id>,
}

impl<'a> Kind<'a> {
    fn new(what: &'static str, refs: Vector<'a, ForwardsUOffset<Ref<'a>>>, versions: &Versions) -> Self {
        let at = |r: Ref<'a>| versions.get(r.snapshot_index() as usize).map(|version| (r.name(), version.id().0));
        let now = refs.iter().filter_map(at).collect();
        Self { what, now, settled: HashSet::new(), oldest: HashMap::new() }
    }
}

struct Recorded<'a> {
    branches: Kind<'a>,
    tags: Kind<'a>,
    versions: Versions<'a>,
    /// Expiring may remove names without listing them.
    was_expired: bool,
    /// Versions may be missing legitimately, after garbage collection.
    was_swept: bool,
}

impl<'a> Recorded<'a> {
    /// Compares the names with the next older update.
    fn read(&mut self, update: &Update<'a>) -> Result<()> {
        if let Some(commit) = update.update_type_as_new_commit_update() {
            return self.commit(commit.branch(), commit.new_snap_id(), true);
        } else if let Some(commit) = update.update_type_as_commit_amended_update() {
            return self.commit(commit.branch(), commit.new_snap_id(), false);
        } else if update.update_type_type() == UpdateType::RepoInitializedUpdate {
            return self.commit("main", &ObjectId12(Snapshot::INITIAL_SNAPSHOT_ID.0), false);
        } else if update.update_type_type() == UpdateType::ExpirationRanUpdate {
            (self.was_expired, self.was_swept) = (true, true);
        } else if update.update_type_type() == UpdateType::GCRanUpdate {
            self.was_swept = true;
        } else if let Some(branch) = update.update_type_as_branch_reset_update() {
            return self.moved(branch.name());
        } else if let Some(branch) = update.update_type_as_branch_created_update() {
            return self.moved(branch.name());
        } else if let Some(branch) = update.update_type_as_branch_deleted_update() {
            self.branches.oldest.remove(branch.name());
            return self.branches.gone(branch.name());
        } else if let Some(tag) = update.update_type_as_tag_created_update() {
            return self.tags.there(tag.name(), self.was_expired);
        } else if let Some(tag) = update.update_type_as_tag_deleted_update() {
            return self.tags.gone(tag.name());
        }
        Ok(())
    }

    /// A commit that made this version the branch's newest; `on_top` if its parent was the branch's newest version.
    fn commit(&mut self, branch: &'a str, id: &ObjectId12, on_top: bool) -> Result<()> {
        if !self.was_swept && !self.versions.has(&id.0) {
            return Err(bad(&format!("version {} was committed to {branch} and is not listed", shown(&id.0))));
        }
        if let Some(later) = self.branches.oldest.remove(branch) {
            self.versions.follows(&later, &id.0, self.was_expired)?;
        }
        if on_top {
            self.branches.oldest.insert(branch, id.0);
        }
        match self.branches.now.get(branch).copied() {
            Some(now) if now != id.0 && !self.branches.settled.contains(branch) => {
                let (now, last) = (shown(&now), shown(&id.0));
                Err(bad(&format!("the branch {branch} names version {now}, and the last commit to it is {last}")))
            }
            _ => self.branches.there(branch, self.was_expired),
        }
    }

    /// The branch was moved; its new position is not recorded.
    fn moved(&mut self, branch: &'a str) -> Result<()> {
        self.branches.oldest.remove(branch);
        self.branches.there(branch, self.was_expired)
    }

    /// If all updates are listed, every name must have been created by one.
    fn all_are_recorded(&self) -> Result<()> {
        for kind in [&self.branches, &self.tags] {
            if let Some(name) = kind.now.keys().find(|name| !kind.settled.contains(*name)) {
                return Err(bad(&format!("the {} {name} exists, but no listed update created it", kind.what)));
            }
        }
        Ok(())
    }
}

impl<'a> Kind<'a> {
    fn there(&mut self, name: &'a str, may_be_gone: bool) -> Result<()> {
        if self.settled.insert(name) && !may_be_gone && !self.now.contains_key(name) {
            return Err(bad(&format!("the {} {name} is missing, but no listed update removed it", self.what)));
        }
        Ok(())
    }

    fn gone(&mut self, name: &'a str) -> Result<()> {
        if self.settled.insert(name) && self.now.contains_key(name) {
            return Err(bad(&format!("there is a {} {name}, and its last update removed it", self.what)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use icechunk::format::format_constants::SpecVersionBin;
    use icechunk::format::repo_info::{RepoInfo, UpdateType as Made};
    use icechunk::format::snapshot::SnapshotInfo;

    use super::*;
    use crate::stores::storage::Root;

    const V2: SpecVersionBin = SpecVersionBin::V2;
    const KEPT: u16 = 100;

    fn version(name: u8, parent: Option<u8>) -> SnapshotInfo {
        let id = |name: u8| SnapshotId::new([name.wrapping_mul(37); 12]);
        SnapshotInfo {
            id: id(name),
            parent_id: Some(parent.map_or(Snapshot::INITIAL_SNAPSHOT_ID, id)),
            flushed_at: DateTime::UNIX_EPOCH,
            message: format!("version {name}"),
            metadata: Default::default(),
            pruned_ancestor_tx_logs: Vec::new(),
        }
    }

    fn start() -> RepoInfo {
        let id = Snapshot::INITIAL_SNAPSHOT_ID;
        let first = SnapshotInfo { id, parent_id: None, ..version(0, None) };
        RepoInfo::initial(V2, first, KEPT, None::<&()>, Some(Utc::now() - TimeDelta::days(1)))
    }

    /// Updates have different times.
    fn later() -> Option<DateTime<Utc>> {
        std::thread::sleep(std::time::Duration::from_micros(20));
        Some(Utc::now())
    }

    fn commit(info: &RepoInfo, branch: &str, name: u8, parent: Option<u8>) -> RepoInfo {
        let new = version(name, parent);
        let update = Made::NewCommitUpdate { branch: branch.to_owned(), new_snap_id: new.id.clone() };
        info.add_snapshot(V2, new, Some(branch), update, later(), "backup", KEPT).unwrap()
    }

    fn check(info: &RepoInfo) -> Result<()> {
        crate::open::root::check(&Root::Memory(String::new()), info)
    }

    /// Commits to main and to a branch.
    fn branched() -> RepoInfo {
        let info = commit(&commit(&start(), "main", 1, None), "main", 2, Some(1));
        later();
        let info = info.add_branch(V2, "dev", &version(1, None).id, "backup", KEPT).unwrap();
        commit(&commit(&info, "dev", 3, Some(1)), "main", 4, Some(2))
    }

    #[test]
    fn what_happens_to_names_agrees() {
        let mut info = branched();
        check(&info).unwrap();
        let first = version(1, None).id;
        let steps: [&dyn Fn(&RepoInfo) -> RepoInfo; 6] = [
            &|info| info.add_tag(V2, "v1", &first, "backup", KEPT).unwrap(),
            &|info| info.update_branch(V2, "main", &first, "backup", KEPT).unwrap(),
            &|info| commit(info, "main", 5, Some(1)),
            &|info| info.delete_branch(V2, "dev", "backup", KEPT).unwrap(),
            &|info| info.add_branch(V2, "dev", &first, "backup", KEPT).unwrap(),
            &|info| info.delete_tag(V2, "v1", "backup", KEPT).unwrap(),
        ];
        for step in steps {
            later();
            info = step(&info);
            check(&info).unwrap();
        }
    }

    #[test]
    fn a_flipped_bit_moves_no_branch_with_commits() {
        let whole = branched();
        let names = |info: &RepoInfo| {
            let branches = info.branches().unwrap().map(|(name, id)| (name.to_owned(), id)).collect::<Vec<_>>();
            // The version at which the branch of version 3 was created is not recorded.
            let known = info.all_snapshots().unwrap().map(|v| v.unwrap()).filter(|v| v.id != version(3, None).id);
            let parents = known.map(|v| (v.id, v.parent_id));
            (branches, parents.collect::<Vec<_>>())
        };
        let (expected, mut refused) = (names(&whole), 0);
        for at in 0..whole.bytes().len() {
            for bit in 0..8 {
                let mut bytes = whole.bytes().to_vec();
                bytes[at] ^= 1 << bit;
                match RepoInfo::from_buffer(bytes) {
                    Ok(info) if crate::runtime::guard(|| check(&info)).is_ok() => {
                        assert_eq!(names(&info), expected, "byte {at}, bit {bit}");
                    }
                    _ => refused += 1,
                }
            }
        }
        assert!(refused > 1000);
    }

    #[test]
    fn both_sides_are_reported() {
        let info = commit(&branched(), "dev", 6, Some(3));
        let (recorded, other) = (version(6, None).id, version(4, None).id);
        let mut bytes = info.bytes().to_vec();
        // The id occurs twice: in the list of versions and in the list of updates, which is written last and comes
        // first.
        let places: Vec<usize> = (0..bytes.len() - 12).filter(|at| bytes[*at..*at + 12] == recorded.0).collect();
        assert_eq!(places.len(), 2);
        bytes[places[0]..places[0] + 12].copy_from_slice(&other.0);
        let error = check(&RepoInfo::from_buffer(bytes).unwrap()).unwrap_err();
        let wanted = format!("the branch dev names version {recorded}, and the last commit to it is {other}");
        assert!(error.message.contains(&wanted) && error.hint.contains("overwritten"), "{}", error.message);
    }
}
