//! Expiration: take versions out of the histories of branches and tags.
//!
//! Only the root object changes, in one update, as in Icechunk's own expiration: the children of a removed version name its
//! transaction log, so that differences and conflicts stay complete. Its objects stay until garbage collection, and for an
//! hour in any case, because a reader may have opened it. A mark `expired/<version>` records that hour.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use chrono::{TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt};
use icechunk::asset_manager::AssetManager;
use icechunk::error::ICError;
use icechunk::format::SnapshotId;
use icechunk::format::repo_info::{RepoInfo, UpdateInfo, UpdateType};
use icechunk::format::snapshot::SnapshotInfo;
use icechunk::repository::{RepositoryErrorKind, RepositoryResult};
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::open::repo_state::RepoState;
use crate::repo::Repo;
use crate::runtime::run;
use crate::versions::clock;

/// Directory of the marks.
pub(crate) const FOLDER: &str = "expired";
/// Concurrent writes of marks.
const CONCURRENT: usize = 16;

/// For this long after a version was removed, its objects are kept for its readers.
fn lease() -> TimeDelta {
    TimeDelta::hours(1)
}

/// The versions of the histories, by what an expiration does with them; newest first.
pub(crate) struct Plan {
    pub kept: Vec<SnapshotId>,
    pub released: Vec<SnapshotId>,
}

impl Plan {
    /// Keeps the named versions, the first one of each history, and those of branches and tags. `None` keeps all.
    pub(crate) fn of(info: &RepoInfo, kept: Option<&[String]>) -> Result<Self> {
        let tips: Vec<SnapshotId> = {
            let branches = info.branches().map_err(error::format)?.map(|(_, id)| id);
            branches.chain(info.tags().map_err(error::format)?.map(|(_, id)| id)).collect()
        };
        let (mut seen, mut plan) = (HashSet::new(), Self { kept: Vec::new(), released: Vec::new() });
        for tip in &tips {
            for version in info.ancestry(tip).map_err(error::format)? {
                let version = version.map_err(error::format)?;
                if !seen.insert(version.id.clone()) {
                    break; // the rest is shared with another history
                }
                let is_kept = kept.is_none_or(|kept| kept.contains(&version.id.to_string()))
                    || version.parent_id.is_none()
                    || tips.contains(&version.id);
                if is_kept { &mut plan.kept } else { &mut plan.released }.push(version.id);
            }
        }
        Ok(plan)
    }
}

impl Repo {
    /// Removes versions from the histories of branches and tags, except `kept` (ids), the versions that branches and tags
    /// point to, and the first one. Returns the ids of the removed ones. A later [`Repo::gc`] removes the objects that only
    /// they needed, an hour later at the earliest.
    ///
    /// # Errors
    /// As for [`Repo::gc`]; Unsupported in repositories of Icechunk's first format.
    pub fn expire(&self, kept: &[String]) -> Result<Vec<String>> {
        let shared = self.shared()?;
        run(async {
            let (held, known) = clock::turn(shared, None, &AtomicBool::new(false)).await?;
            let info = root(known.info)?;
            let plan = Plan::of(&info, Some(kept))?;
            if !plan.released.is_empty() {
                mark(shared, &plan.released).await?;
                remove(shared, kept).await?;
            }
            shared.settle(held).await;
            Ok(plan.released.iter().map(ToString::to_string).collect())
        })
    }
}

/// The root object, which only Icechunk's second format has.
pub(crate) fn root(info: Option<Arc<RepoInfo>>) -> Result<Arc<RepoInfo>> {
    info.ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "expiration needs a repository of Icechunk's second format")
            .hint("migrate it with Icechunk: icechunk.upgrade_icechunk_repository(…)")
    })
}

/// Writes the marks of versions that will be removed.
async fn mark(shared: &RepoState, released: &[SnapshotId]) -> Result<()> {
    let repository = shared.repository();
    let assets = repository.asset_manager();
    let context = assets.storage_context();
    let puts = released.iter().map(|id| {
        let (name, bytes) = (format!("{FOLDER}/{id}"), Bytes::from_static(b"\n"));
        async move {
            let put = assets.storage().put_object(&context, &name, bytes, None, Vec::new(), None).await;
            put.map(|_| ()).map_err(error::storage)
        }
    });
    futures::stream::iter(puts).buffer_unordered(CONCURRENT).try_collect::<()>().await
}

/// Updates the root object. The plan is made again for the state that is updated.
async fn remove(shared: &RepoState, kept: &[String]) -> Result<()> {
    let repository = shared.repository();
    let assets = repository.asset_manager();
    let updates = repository.config().num_updates_per_repo_info_file();
    let update = |info: Arc<RepoInfo>, backup: &str, _| {
        let without = without(assets, &info, kept, (backup, updates));
        without.map(Arc::new)
    };
    let done = assets.update_repo_info(repository.config().repo_update_retries(), update).await;
    done.map(|_| ()).map_err(error::repository)
}

/// The root object with histories that leave out the released versions. It still lists those, as it lists the versions of
/// deleted branches: collection removes them.
fn without(
    assets: &AssetManager,
    info: &RepoInfo,
    kept: &[String],
    (backup, updates): (&str, u16),
) -> RepositoryResult<RepoInfo> {
    let inject = ICError::inject::<RepositoryErrorKind>;
    let plan = Plan::of(info, Some(kept)).map_err(|e| ICError::capture(RepositoryErrorKind::Other(e.to_string())))?;
    let released: HashSet<SnapshotId> = plan.released.into_iter().collect();
    let mut versions = Vec::new();
    for version in info.all_snapshots().map_err(inject)? {
        let version = version.map_err(inject)?;
        let is_released = released.contains(&version.id);
        versions.push(if is_released { version } else { joined(info, version, &released)? });
    }
    RepoInfo::new(
        assets.spec_version(),
        info.tags().map_err(inject)?,
        info.branches().map_err(inject)?,
        info.deleted_tags().map_err(inject)?,
        versions,
        &info.metadata().map_err(inject)?,
        UpdateInfo {
            update_type: UpdateType::ExpirationRanUpdate,
            update_time: Utc::now(),
            previous_updates: info.latest_updates().map_err(inject)?,
        },
        Some(backup),
        updates,
        info.repo_before_updates().map_err(inject)?,
        info.config_bytes_raw().map_err(inject)?.as_deref(),
        info.enabled_feature_flags().map_err(inject)?,
        info.disabled_feature_flags().map_err(inject)?,
        &info.status().map_err(inject)?,
    )
    .map_err(inject)
}

/// A version whose parent is its newest ancestor that stays. It names the transaction logs of the versions between, the
/// oldest first.
fn joined(info: &RepoInfo, version: SnapshotInfo, released: &HashSet<SnapshotId>) -> RepositoryResult<SnapshotInfo> {
    let inject = ICError::inject::<RepositoryErrorKind>;
    if version.parent_id.as_ref().is_none_or(|parent| !released.contains(parent)) {
        return Ok(version);
    }
    let (mut parent_id, mut between) = (None, Vec::new());
    for ancestor in info.ancestry(&version.id).map_err(inject)?.skip(1) {
        let ancestor = ancestor.map_err(inject)?;
        if !released.contains(&ancestor.id) {
            parent_id = Some(ancestor.id);
            break;
        }
        between.push((ancestor.id, ancestor.pruned_ancestor_tx_logs));
    }
    let older = between.into_iter().rev().flat_map(|(id, pruned)| pruned.into_iter().chain([id]));
    let pruned_ancestor_tx_logs = older.chain(version.pruned_ancestor_tx_logs).collect();
    Ok(SnapshotInfo { parent_id, pruned_ancestor_tx_logs, ..version })
}

/// Removed versions that readers may still use, and the marks of the others.
pub(crate) struct Leases {
    pub held: HashSet<SnapshotId>,
    pub over: Vec<(String, u64)>,
}

/// Reads the marks.
pub(crate) async fn leases(assets: &AssetManager, info: Option<&RepoInfo>) -> Result<Leases> {
    let listed = assets.storage().list_objects(&assets.storage_context(), FOLDER).await.map_err(error::storage)?;
    let marks: Vec<_> = listed.try_collect().await.map_err(error::storage)?;
    let (now, mut found) = (Utc::now(), Leases { held: HashSet::new(), over: Vec::new() });
    for mark in marks {
        let Ok(id) = SnapshotId::try_from(mark.id.as_str()) else { continue };
        if now - mark.created_at > lease() {
            found.over.push((mark.id, mark.size_bytes));
        } else if info.is_some_and(|info| info.find_snapshot(&id).is_ok()) {
            found.held.insert(id); // unless other software collected it
        }
    }
    Ok(found)
}
