//! Commits that lead to a version; the repository may be damaged.

use std::collections::HashSet;

use chrono::Datelike;
use futures::TryStreamExt;
use icechunk::format::SnapshotId;
use icechunk::format::snapshot::SnapshotInfo;
use icechunk::repository::VersionInfo;
use icecore_grid::Result;

use crate::error::{self, damaged};
use crate::open::repo_state::RepoState;

/// The commits from a version back to the first one, or to the first for which `is_last` is true. A cycle is an error.
pub(crate) async fn back_from(
    shared: &RepoState,
    id: &SnapshotId,
    mut is_last: impl FnMut(&SnapshotInfo) -> bool,
) -> Result<Vec<SnapshotInfo>> {
    let version = VersionInfo::SnapshotId(id.clone());
    let mut commits = std::pin::pin!(shared.repository().ancestry(&version).await.map_err(error::repository)?);
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    while let Some(commit) = commits.try_next().await.map_err(error::repository)? {
        if !seen.insert(commit.id.clone()) {
            return Err(circle(shared, &commit.id));
        }
        // a flipped bit of a time that no checksum covers; Python's years end at 9999 too
        if !(1..=9999).contains(&commit.flushed_at.year()) {
            return Err(impossible_time(shared, &commit));
        }
        let is_end = is_last(&commit);
        found.push(commit);
        if is_end {
            break;
        }
    }
    Ok(found)
}

fn circle(shared: &RepoState, id: &SnapshotId) -> icecore_grid::Error {
    damaged(format!("{}: the history goes round in a circle at version {id}", shared.url))
}

fn impossible_time(shared: &RepoState, commit: &SnapshotInfo) -> icecore_grid::Error {
    damaged(format!("{}: version {} claims to be from {}", shared.url, commit.id, commit.flushed_at))
}
