//! Resolve a user's reference to a snapshot.

use chrono::{DateTime, Utc};
use icechunk::format::SnapshotId;
use icechunk::format::repo_info::RepoInfo;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::open::repo_state::RepoState;
use crate::versions::names::{self, Names};
use crate::versions::revision::{self, Revision};
use crate::versions::{history, time};

pub(crate) const MAIN: &str = "main";
/// Minimum length of an abbreviated snapshot id.
const SHORTEST_ID: usize = 6;
const SHOWN: usize = 8;

/// Resolves, in this order: snapshot id, branch, tag, abbreviated id, time, revision (`main~1`, `@{2026-11-01}`). An id always
/// means its snapshot, even if a tag has the same name. New branches and tags can't be named like a time or a revision, but
/// other software may have created such names: they take precedence.
pub(crate) async fn snapshot_id(shared: &RepoState, reference: Option<&str>) -> Result<SnapshotId> {
    let names = names::all(shared).await?;
    let reference = reference.unwrap_or(MAIN);
    if let Some(id) = absolute(shared, reference, &names).await? {
        return Ok(id);
    }
    match revision::parse(reference) {
        Some(found) => relative(shared, reference, found, &names).await,
        None => Err(unknown(shared, reference, &names)),
    }
}

/// The snapshot of a name, an id or a time. None: the text is none of them.
async fn absolute(shared: &RepoState, text: &str, names: &Names) -> Result<Option<SnapshotId>> {
    if let Some(id) = names.info.as_deref().and_then(|info| of_id(info, text)) {
        return Ok(Some(id));
    }
    if let Some(id) = names.branches.get(text).or_else(|| names.tags.get(text)) {
        return Ok(Some(id.clone()));
    }
    if let Some(id) = by_id(shared, names.info.as_deref(), text).await? {
        return Ok(Some(id));
    }
    match time::parse(text) {
        Some(at) => by_time(shared, text, at, MAIN, names.branches.get(MAIN)).await.map(Some),
        None => Ok(None),
    }
}

/// The snapshot of a revision: first the base, then its last commit until a time, then the steps back.
async fn relative(shared: &RepoState, text: &str, revision: Revision<'_>, names: &Names) -> Result<SnapshotId> {
    let base = if revision.base.is_empty() { MAIN } else { revision.base };
    let Some(mut id) = absolute(shared, base, names).await? else { return Err(unknown(shared, base, names)) };
    if let Some(written) = revision.time {
        let Some(at) = time::parse(written) else {
            let message = format!("{}: {written:?} in {text} is not a time", shared.url);
            return Err(Error::new(ErrorKind::NotFound, message)
                .hint("ISO 8601, without an offset in UTC: @{2026-11-01} or @{2026-11-01T12:30}"));
        };
        id = by_time(shared, written, at, base, Some(&id)).await?;
    }
    if revision.steps == 0 {
        return Ok(id);
    }
    let mut seen = 0;
    let commits = history::back_from(shared, &id, |_| {
        seen += 1;
        seen > revision.steps
    })
    .await?;
    let known = commits.len();
    commits.into_iter().nth(revision.steps).map(|commit| commit.id).ok_or_else(|| {
        let message = format!("{}: {text} is {} commits back; the history has {known}", shared.url, revision.steps);
        Error::new(ErrorKind::NotFound, message).hint("see `icecore log` for the commits")
    })
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

/// The last commit at or before a time in the history of `tip`; `base` is its name in the error.
async fn by_time(
    shared: &RepoState,
    text: &str,
    at: DateTime<Utc>,
    base: &str,
    tip: Option<&SnapshotId>,
) -> Result<SnapshotId> {
    if let Some(tip) = tip {
        let commits = history::back_from(shared, tip, |commit| commit.flushed_at <= at).await?;
        if let Some(found) = commits.into_iter().last().filter(|commit| commit.flushed_at <= at) {
            return Ok(found.id);
        }
    }
    let message = format!("{}: {base} has no commit at or before {text}", shared.url);
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
