//! Which versions and names a copy has, and the root object that lists them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use chrono::Utc;
use icechunk::format::SnapshotId;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::format::repo_info::{RepoAvailability, RepoInfo, RepoStatus, UpdateInfo, UpdateType};
use icechunk::format::snapshot::{Snapshot, SnapshotInfo};
use icecore_grid::{Error, ErrorKind, Result};

use super::scope::Scope;
use crate::error;
use crate::open::repo_state::RepoState;
use crate::versions::names;
use crate::versions::names::Names;
use crate::versions::resolve::{self, MAIN};

/// Updates that a root object lists; a copy begins with one.
const UPDATES: u16 = 1000;

/// The names and versions of a copy.
pub(crate) struct Versions {
    pub branches: BTreeMap<String, SnapshotId>,
    pub tags: BTreeMap<String, SnapshotId>,
    deleted_tags: Vec<String>,
    pub all: HashMap<SnapshotId, SnapshotInfo>,
    info: Arc<RepoInfo>,
}

impl Versions {
    /// Those of the source that the scope includes.
    pub async fn of(source: &RepoState, scope: &Scope) -> Result<Self> {
        let Names { branches, tags, info } = names::all(source).await?;
        let info = info.ok_or_else(|| {
            let message = format!("{} is in Icechunk's first format, which can't be cloned", source.url);
            Error::new(ErrorKind::Unsupported, message).hint("migrate it with the package icechunk, or pack it again")
        })?;
        let mut found = Self { branches, tags, deleted_tags: Vec::new(), all: HashMap::new(), info };
        match scope.reference.as_deref() {
            None => {
                let deleted = found.info.deleted_tags().map_err(error::format)?.map(str::to_owned).collect();
                found.deleted_tags = deleted;
            }
            Some(name) => {
                let id = resolve::snapshot_id(source, Some(name)).await?;
                found.branches.retain(|branch, tip| branch == name && *tip == id);
                found.tags.retain(|tag, version| tag == name && *version == id);
                found.branches.insert(MAIN.to_owned(), id);
            }
        }
        found.add_histories(scope.is_shallow)?;
        Ok(found)
    }

    fn add_histories(&mut self, is_shallow: bool) -> Result<()> {
        let tips: HashSet<SnapshotId> = self.branches.values().chain(self.tags.values()).cloned().collect();
        for tip in tips {
            if is_shallow {
                self.add_alone(&tip)?;
                continue;
            }
            for version in self.info.ancestry(&tip).map_err(error::format)? {
                let version = version.map_err(error::format)?;
                if self.all.insert(version.id.clone(), version).is_some() {
                    break; // its own history is known
                }
            }
        }
        Ok(())
    }

    /// A version on top of the first, empty one.
    fn add_alone(&mut self, id: &SnapshotId) -> Result<()> {
        let first = Snapshot::INITIAL_SNAPSHOT_ID;
        let has_first = self.info.find_snapshot(&first).is_ok();
        for (id, parent_id) in [(id, has_first.then(|| first.clone())), (&first, None)] {
            if let Ok(found) = self.info.find_snapshot(id) {
                let parent_id = parent_id.filter(|parent| parent != id);
                let alone = SnapshotInfo { parent_id, pruned_ancestor_tx_logs: Vec::new(), ..found };
                self.all.insert(id.clone(), alone);
            }
        }
        Ok(())
    }

    /// The root object.
    pub fn root(&self) -> Result<RepoInfo> {
        let info = &self.info;
        let config = info.config_bytes_raw().map_err(error::format)?;
        let now = Utc::now();
        // A history that was put together: it says nothing of the updates that led to it.
        let from = SpecVersionBin::V2;
        let update = UpdateInfo {
            update_type: UpdateType::RepoMigratedUpdate { from_version: from, to_version: from },
            update_time: now,
            previous_updates: [],
        };
        let status =
            RepoStatus { availability: RepoAvailability::Online, set_at: now, limited_availability_reason: None };
        RepoInfo::new(
            from,
            self.tags.iter().map(|(name, id)| (name.as_str(), id.clone())),
            self.branches.iter().map(|(name, id)| (name.as_str(), id.clone())),
            self.deleted_tags.iter().map(String::as_str),
            self.all.values().cloned(),
            &info.metadata().map_err(error::format)?,
            update,
            None,
            UPDATES,
            None,
            config.as_deref(),
            info.enabled_feature_flags().map_err(error::format)?,
            info.disabled_feature_flags().map_err(error::format)?,
            &status,
        )
        .map_err(error::format)
    }

    /// Whether a root object lists the same names and versions.
    pub fn equal(&self, other: &Names) -> Result<bool> {
        let Some(info) = &other.info else { return Ok(false) };
        let mut listed = HashMap::new();
        for version in info.all_snapshots().map_err(error::format)? {
            let version = version.map_err(error::format)?;
            listed.insert(version.id, version.parent_id);
        }
        let own: HashMap<_, _> = self.all.values().map(|v| (v.id.clone(), v.parent_id.clone())).collect();
        let config = |info: &RepoInfo| info.config_bytes_raw().map_err(error::format);
        Ok(other.branches == self.branches
            && other.tags == self.tags
            && listed == own
            && config(info)? == config(&self.info)?)
    }

    /// Rejects a copy that has commits or names of its own: they would be lost. `last` are the names that were copied
    /// last.
    pub fn covers(&self, copy: &Names, last: &BTreeMap<String, String>, url: &str) -> Result<()> {
        let kinds = [("branch", &copy.branches, &self.branches), ("tag", &copy.tags, &self.tags)];
        for (kind, theirs, ours) in kinds {
            for (name, id) in theirs {
                let was_copied = last.get(&key(kind, name)).is_some_and(|last| *last == id.to_string());
                let is_older = ours.contains_key(name)
                    && (self.all.contains_key(id) || self.info.find_snapshot(id).is_ok() || id.is_initial());
                if !was_copied && !is_older {
                    let message = format!("{url}: the {kind} {name} is at version {id}, which the source doesn't have");
                    return Err(Error::new(ErrorKind::Conflict, message).hint(
                        "a copy that is written to can't be brought up to date: clone to another place, or write to the source",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The names and the versions they point to, as a copy records them.
    pub fn names(&self) -> BTreeMap<String, String> {
        let kinds = [("branch", &self.branches), ("tag", &self.tags)];
        let all = kinds.into_iter().flat_map(|(kind, names)| names.iter().map(move |(name, id)| (kind, name, id)));
        all.map(|(kind, name, id)| (key(kind, name), id.to_string())).collect()
    }
}

fn key(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}
