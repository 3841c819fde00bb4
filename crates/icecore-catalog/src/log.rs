//! History of a version.

use std::collections::BTreeMap;

use icechunk::format::snapshot::SnapshotInfo;
use icecore_grid::Result;
use serde_json::Value;

use crate::repo::Repo;
use crate::runtime::run;
use crate::versions::{history, resolve};

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
    /// The commits that lead to a version, newest first; at most `limit`, or all.
    ///
    /// # Errors
    /// NotFound if the reference does not exist; Network, Io, Corrupt.
    pub fn log(&self, reference: Option<&str>, limit: Option<usize>) -> Result<Vec<Commit>> {
        let limit = limit.unwrap_or(usize::MAX);
        let shared = self.shared()?;
        run(async {
            let id = resolve::snapshot_id(shared, reference).await?;
            let mut count = 0;
            let commits = history::back_from(shared, &id, |_| {
                count += 1;
                count >= limit
            });
            Ok(commits.await?.into_iter().take(limit).map(Commit::from).collect())
        })
    }
}
