//! Resolve a user's reference to a snapshot.

use chrono::{DateTime, Utc};
use icechunk::format::SnapshotId;
use icechunk::format::repo_info::RepoInfo;
use icecore_grid::{Error, ErrorKind, Result};

use crate::names::{self, Names};
use crate::repo_state::RepoState;
use crate::{error, history, time};

pub(crate) const MAIN: &str = "main";
/// Minimum length of an abbreviated snapshot id.
const SHORTEST_ID: usize = 6;
const SHOWN: usize = 8;

/// Resolves, in this order: snapshot id, branch, tag, abbreviated id, time. An id always means its snapshot, even if a
/// tag has the same name. New branches and tags can't be named like a time, but other software may have created such
/// names: they take precedence over times.
pub(crate) async fn snapshot_id(shared: &RepoState, reference: Option<&str>) -> Result<SnapshotId> {
    let names = names::all(shared).await?;
    let reference = reference.unwrap_or(MAIN);
    if let Some(id) = names.info.as_deref().and_then(|info| of_id(info, reference)) {
        return Ok(id);
    }
    if let Some(id) = names.branches.get(reference).or_else(|| names.tags.get(reference)) {
        return Ok(id.clone());
    }
    if let Some(id) = by_id(shared, names.info.as_deref(), reference).await? {
        return Ok(id);
    }
    match time::parse(reference) {
        Some(at) => by_time(shared, reference, at, &names).await,
        None => Err(unknown(shared, reference, &names)),
    }
}

/// The snapshot with this id.
pub(crate) fn of_id(info: &RepoInfo, text: &str) -> Option<SnapshotId> {
    exact(text).filter(|id| info.find_snapshot(id).is_ok())
}

fn exact(text: &str) -> Option<SnapshotId> {
    SnapshotId::try_from(text).ok().filter(|id| id.to_string().eq_ignore_ascii_case(text))
}

async fn by_id(shared: &RepoState, info: Option<&RepoInfo>, text: &str) -> Result<Option<SnapshotId>> {
    let Some(info) = info else {
        let Some(id) = exact(text) else { return Ok(None) };
        return Ok(shared.repository().lookup_snapshot(&id).await.ok().map(|_| id));
    };
    if text.len() < SHORTEST_ID || !text.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Ok(None);
    }
    let start = text.to_ascii_uppercase();
    let mut found = Vec::new();
    for snapshot in info.all_snapshots().map_err(error::format)? {
        let id = snapshot.map_err(error::format)?.id;
        if id.to_string().starts_with(&start) {
            found.push(id);
        }
    }
    match found.len() {
        0 => Ok(None),
        1 => Ok(found.pop()),
        count => Err(Error::new(ErrorKind::Invalid, format!("{}: {count} snapshots begin with {text}", shared.url))
            .hint("give more of the id")),
    }
}

async fn by_time(shared: &RepoState, text: &str, at: DateTime<Utc>, names: &Names) -> Result<SnapshotId> {
    if let Some(main) = names.branches.get(MAIN) {
        let commits = history::back_from(shared, main, |commit| commit.flushed_at <= at).await?;
        if let Some(found) = commits.into_iter().last().filter(|commit| commit.flushed_at <= at) {
            return Ok(found.id);
        }
    }
    let message = format!("{}: main has no commit at or before {text}", shared.url);
    Err(Error::new(ErrorKind::NotFound, message).hint("see `icecore log` for the times of the commits"))
}

fn unknown(shared: &RepoState, reference: &str, names: &Names) -> Error {
    let list = |what: &str, names: Vec<&str>, all: usize| match (names.len(), all) {
        (0, _) => format!("no {what}"),
        (shown, all) if shown < all => format!("{what} {} (and {} more)", names.join(", "), all - shown),
        _ => format!("{what} {}", names.join(", ")),
    };
    let branches = list("branches", names::nearest(reference, names.branches.keys(), SHOWN), names.branches.len());
    let tags = list("tags", names::nearest(reference, names.tags.keys(), SHOWN), names.tags.len());
    Error::new(
        ErrorKind::NotFound,
        format!("{}: {reference:?} is not a branch, tag, snapshot or time; known: {branches}; {tags}", shared.url),
    )
    .hint("see `icecore log` for snapshots, `icecore branch` and `icecore tag` for names")
}
