//! Wait for the clock: Icechunk rejects a change that is not later than the last change, and a version that is not
//! later than its parent. This happens if a clock was set back or if another machine's clock is ahead.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use icecore_grid::Result;

use crate::error;
use crate::open::lock::Held;
use crate::open::repo_state::RepoState;
use crate::runtime::until;
use crate::versions::names::{self, Names};

/// Maximum time to wait for the clock.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between looks at the clock, which may have been corrected.
const LOOK: Duration = Duration::from_secs(1);

/// Waits until the repository's root object can be changed at a valid time, and returns the current names. For a change
/// of a branch it also waits until the time is after the branch's newest version. Other writers are not blocked;
/// `cancel` aborts the wait.
pub(crate) async fn turn(shared: &RepoState, branch: Option<&str>, cancel: &AtomicBool) -> Result<(Held, Names)> {
    let start = Instant::now();
    loop {
        let held = shared.lock.hold()?;
        let names = names::all(shared).await?;
        let (newest, now) = (newest(&names, branch)?, Utc::now());
        let Some(newest) = newest.filter(|newest| now.timestamp_micros() <= newest.timestamp_micros()) else {
            return Ok((held, names));
        };
        drop(held);
        let behind = (newest - now + TimeDelta::microseconds(1)).to_std().unwrap_or_default();
        if behind > PATIENCE.saturating_sub(start.elapsed()) {
            return Err(error::ahead(newest, now));
        }
        let pause = async {
            tokio::time::sleep(behind.min(LOOK)).await;
            Ok(())
        };
        until(cancel, pause).await?;
    }
}

/// The time of the last change, which the next change must exceed; None in repositories of Icechunk's first format.
fn newest(names: &Names, branch: Option<&str>) -> Result<Option<DateTime<Utc>>> {
    let Some(info) = &names.info else { return Ok(None) };
    let changed = info.latest_updates().map_err(error::format)?.next().transpose().map_err(error::format)?;
    let tip = branch.and_then(|name| names.branches.get(name));
    let tip = tip.map(|id| info.find_snapshot(id)).transpose().map_err(error::format)?;
    Ok(changed.map(|(_, time, _)| time).max(tip.map(|version| version.flushed_at)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use icechunk::format::SnapshotId;
    use icechunk::format::repo_info::{RepoInfo, UpdateType};
    use icechunk::format::snapshot::SnapshotInfo;
    use icecore_grid::ErrorKind;
    use serde_json::json;

    use super::*;
    use crate::repo::Repo;
    use crate::runtime::run;
    use crate::stores::storage::Storage;

    /// A repository that was changed by a machine whose clock is ahead.
    fn changed_in(ahead: TimeDelta, name: &str) -> Repo {
        let repo = Repo::create(&Storage::new(format!("memory://{name}"))).unwrap();
        let repository = repo.shared().unwrap().repository();
        let id = SnapshotId::random();
        run(async {
            let update = |info: Arc<RepoInfo>, backup: &str, _| {
                let parent = info.resolve_branch("main").unwrap();
                let version = SnapshotInfo {
                    id: id.clone(),
                    parent_id: Some(parent.clone()),
                    ..info.find_snapshot(&parent).unwrap()
                };
                let kind = UpdateType::NewDetachedSnapshotUpdate { new_snap_id: id.clone() };
                let time = Some(Utc::now() + ahead);
                Ok(Arc::new(
                    info.add_snapshot(repository.spec_version(), version, None, kind, time, backup, 100).unwrap(),
                ))
            };
            let retries = repository.config().repo_update_retries();
            repository.asset_manager().update_repo_info(retries, update).await.map_err(error::repository)
        })
        .unwrap();
        repo
    }

    #[test]
    fn a_clock_that_is_a_little_behind_is_waited_for() {
        let repo = changed_in(TimeDelta::milliseconds(700), "behind");
        let writer = repo.writer("main").unwrap();
        writer.add_group("/g", &json!({})).unwrap();
        writer.commit("later").unwrap();
        repo.create_tag("v1", None).unwrap();
        assert_eq!(repo.log(None, None).unwrap().len(), 2);
    }

    #[test]
    fn one_that_is_far_behind_is_told_and_the_changes_stay() {
        let repo = changed_in(TimeDelta::hours(2), "far-behind");
        let writer = repo.writer("main").unwrap();
        writer.add_group("/g", &json!({})).unwrap();
        for error in [writer.commit("too early").unwrap_err(), repo.create_tag("v1", None).unwrap_err()] {
            assert_eq!(error.kind, ErrorKind::Conflict);
            assert!(error.message.contains("this machine's clock says"), "{}", error.message);
            assert!(error.hint.contains("7200 s") || error.hint.contains("7199 s"), "{}", error.hint);
        }
        assert!(writer.exists("/g").unwrap());
    }

    #[test]
    fn waiting_can_be_interrupted() {
        let repo = changed_in(TimeDelta::seconds(40), "interrupted");
        let writer = repo.writer("main").unwrap();
        writer.add_group("/g", &json!({})).unwrap();
        let error = writer.commit_unless(&AtomicBool::new(true), "never").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Interrupted);
        assert!(writer.exists("/g").unwrap());
    }
}
