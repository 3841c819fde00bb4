//! The history of a version.

use std::collections::{BTreeMap, HashSet};

use futures::{Stream, StreamExt, TryStreamExt};
use icechunk::format::SnapshotId;
use icechunk::format::snapshot::SnapshotInfo;
use icechunk::repository::VersionInfo;
use icecore_grid::Result;
use serde_json::Value;

use crate::repo::Repo;
use crate::runtime::run;
use crate::{error, resolve};

/// One commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    pub id: String,
    pub parent: Option<String>,
    pub message: String,
    /// Microseconds since 1970, UTC.
    pub time_us: i64,
    pub metadata: BTreeMap<String, Value>,
}

impl From<SnapshotInfo> for Commit {
    fn from(info: SnapshotInfo) -> Self {
        let parent = info.parent_id.map(|id| id.to_string());
        Self {
            id: info.id.to_string(),
            parent,
            message: info.message,
            time_us: info.flushed_at.timestamp_micros(),
            metadata: info.metadata,
        }
    }
}

impl Repo {
    /// The commits that lead to a version, newest first; `limit` of them, or all.
    ///
    /// # Errors
    /// NotFound when the reference names nothing; Network, Io, Corrupt.
    pub fn log(&self, reference: Option<&str>, limit: Option<usize>) -> Result<Vec<Commit>> {
        run(async {
            let id = resolve::snapshot_id(&self.0, reference).await?;
            self.history(id).await?.take(limit.unwrap_or(usize::MAX)).map_ok(Commit::from).try_collect().await
        })
    }

    /// A version and its ancestors, newest first.
    pub(crate) async fn history(&self, id: SnapshotId) -> Result<impl Stream<Item = Result<SnapshotInfo>>> {
        let commits = self.0.repository().ancestry(&VersionInfo::SnapshotId(id)).await.map_err(error::repository)?;
        let mut seen = HashSet::new();
        Ok(commits.map(move |commit| {
            let commit = commit.map_err(error::repository)?;
            // Damage can bend a history into a circle, and following that would never end.
            match seen.insert(commit.id.clone()) {
                true => Ok(commit),
                false => Err(error::damaged(format!("the history returns to {}", commit.id))),
            }
        }))
    }
}
