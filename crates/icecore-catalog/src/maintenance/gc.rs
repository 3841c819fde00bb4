//! Garbage collection: delete objects that no version refers to.

use std::collections::HashSet;
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use futures::StreamExt;
use icechunk::format::SnapshotId;
use icechunk::ops::gc::{Action, GCConfig, GCSummary, garbage_collect};
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::maintenance::expire;
use crate::open::backups;
use crate::open::precheck::{self, Which};
use crate::open::repo_state::RepoState;
use crate::repo::Repo;
use crate::runtime::run;
use crate::seal::{FOLDER, ROOT};
use crate::stores::storage::Root;
use crate::versions::{clock, names};

/// Younger objects may belong to a commit in preparation.
const SAFE_AGE: Duration = Duration::from_secs(24 * 3600);
const MEMORY: usize = 256 << 20;

/// Objects that were deleted, or would be deleted in a dry run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GcReport {
    /// True in a dry run: nothing was deleted.
    pub dry_run: bool,
    pub bytes: u64,
    pub chunks: u64,
    pub manifests: u64,
    pub snapshots: u64,
    pub transaction_logs: u64,
    /// Old copies of the root object; in a directory also the remains of interrupted writes, and checksums of deleted
    /// versions.
    pub remains: u64,
    /// Objects that could not be deleted, with the reasons.
    pub failed: u64,
    pub errors: Vec<String>,
}

impl GcReport {
    fn add(&mut self, done: GCSummary) {
        self.bytes += done.bytes_deleted;
        self.chunks += done.chunks_deleted;
        self.manifests += done.manifests_deleted;
        self.snapshots += done.snapshots_deleted;
        self.transaction_logs += done.transaction_logs_deleted;
        self.failed += done.objects_failed_to_delete;
        self.errors.extend(done.delete_errors);
    }
}

impl Repo {
    /// Removes objects that no branch or tag leads to and that were written before `older_than_us` (microseconds since
    /// 1970; None: a day ago). Uncommitted objects of a writer count as unreferenced once they are that old: in a
    /// directory the writer's commit then fails. Versions that [`Repo::expire`] removed stay for an hour.
    ///
    /// # Errors
    /// ReadOnly, Conflict (another process holds the repository's lock), Permission, Io, Network, Corrupt.
    pub fn gc(&self, older_than_us: Option<i64>, dry_run: bool) -> Result<GcReport> {
        let before = before(older_than_us)?;
        let shared = self.shared()?;
        if matches!(shared.root, Root::Http(_)) {
            return Err(error::read_only("a web server neither lists nor deletes objects"));
        }
        run(async {
            // A dry run needs neither write permission nor the lock.
            let held = if dry_run { None } else { Some(clock::turn(shared, None, &AtomicBool::new(false)).await?.0) };
            let repository = shared.repository();
            check_all(shared).await?;
            let updates = repository.config().num_updates_per_repo_info_file();
            let retries = Some(repository.config().repo_update_retries());
            let info = names::all(shared).await?.info;
            let leases = expire::leases(repository.asset_manager(), info.as_deref()).await?;
            // Listed before the next update, which may create another copy.
            let mut copies = backups::old(repository.asset_manager(), before).await?;
            let mut report = GcReport { dry_run, ..GcReport::default() };
            let collect = async |metadata: fn(_) -> Action| {
                let config = config(before, metadata, leases.held.clone(), dry_run);
                let done = garbage_collect(Arc::clone(repository.asset_manager()), &config, retries, updates);
                done.await.map_err(error::gc)
            };
            let mut done = collect(Action::DeleteIfCreatedBefore).await;
            if let (Err(Error { kind: ErrorKind::Io, .. }), Root::Local(root), false) = (&done, &shared.root, dry_run) {
                // On a full disk there is no room for another root object. These deletions need none and free space.
                remains(root, before, &mut report);
                remove_copies(root, std::mem::take(&mut copies), &mut report);
                report.add(collect(|_| Action::Keep).await?);
                done = collect(Action::DeleteIfCreatedBefore).await;
            }
            report.add(done?);
            if let Root::Local(root) = &shared.root {
                remains(root, before, &mut report);
                remove_copies(root, copies, &mut report);
            } else {
                let (wished, sum) = (copies.len() as u64, copies.iter().map(|(_, bytes)| bytes).sum());
                let (count, bytes) = match dry_run {
                    true => (wished, sum),
                    false => backups::remove(repository.asset_manager(), copies).await?,
                };
                report.remains += count;
                report.bytes += bytes;
                report.failed += wished.saturating_sub(count);
                if count < wished {
                    report.errors.push(format!("{} of {wished} objects in {}/", wished - count, backups::FOLDER));
                }
            }
            if !dry_run && !leases.over.is_empty() {
                let (context, over) = (repository.asset_manager().storage_context(), leases.over);
                let ids = futures::stream::iter(over).boxed();
                let done = repository.storage().delete_objects(&context, expire::FOLDER, ids).await;
                done.map_err(error::storage)?;
            }
            if let Some(held) = held {
                shared.settle(held).await;
            }
            Ok(report)
        })
        .map_err(error::at(self.url()))
    }
}

/// Rejects damaged references, because they do not show which objects are needed.
async fn check_all(shared: &RepoState) -> Result<()> {
    let Some(info) = names::all(shared).await?.info else { return Ok(()) };
    let mut known = HashSet::new();
    for snapshot in info.all_snapshots().map_err(error::format)? {
        let id = snapshot.map_err(error::format)?.id;
        precheck::check(shared, &id, &Which::All, &mut known).await?;
    }
    Ok(())
}

fn before(older_than_us: Option<i64>) -> Result<DateTime<Utc>> {
    match older_than_us {
        None => Ok(DateTime::<Utc>::from(SystemTime::now() - SAFE_AGE)),
        Some(us) => DateTime::from_timestamp_micros(us)
            .ok_or_else(|| Error::new(ErrorKind::Invalid, format!("{us} µs since 1970 is not a valid time"))),
    }
}

/// The objects to remove: chunks, and `metadata`, except those of `leased` versions.
fn config(
    before: DateTime<Utc>,
    metadata: fn(DateTime<Utc>) -> Action,
    leased: HashSet<SnapshotId>,
    dry_run: bool,
) -> GCConfig {
    let small = |n: u16| NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN);
    let memory = NonZeroUsize::new(MEMORY).unwrap_or(NonZeroUsize::MIN);
    GCConfig::new(
        leased,
        Action::DeleteIfCreatedBefore(before),
        metadata(before),
        metadata(before),
        metadata(before),
        metadata(before),
        small(50),
        memory,
        memory,
        small(16),
        small(8),
        small(10),
        None,
        dry_run,
    )
}

/// Files in a directory that Icechunk does not list. A local write goes to `NAME#N` first and is renamed when complete,
/// so a killed process leaves that file behind. Seals of deleted versions are listed too.
fn remains(root: &Path, before: DateTime<Utc>, report: &mut GcReport) {
    let folders =
        ["", "chunks", "manifests", "snapshots", "transactions", "overwritten", FOLDER].map(|name| root.join(name));
    for entry in folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_seal = path.parent().is_some_and(|folder| folder == root.join(FOLDER));
        let is_useless =
            is_unfinished(&name) || is_seal && name != ROOT && !root.join("snapshots").join(&name).exists();
        let Ok(metadata) = entry.metadata() else { continue };
        let is_old = metadata.modified().is_ok_and(|time| DateTime::<Utc>::from(time) < before);
        if is_useless && is_old && metadata.is_file() {
            remove(&path, metadata.len(), report);
        }
    }
}

fn remove_copies(root: &Path, copies: Vec<backups::Copy>, report: &mut GcReport) {
    let folder = root.join(backups::FOLDER);
    copies.into_iter().for_each(|(name, bytes)| remove(&folder.join(name), bytes, report));
}

fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn remove(path: &Path, bytes: u64, report: &mut GcReport) {
    match if report.dry_run { Ok(()) } else { std::fs::remove_file(path) } {
        Ok(()) => {
            report.remains += 1;
            report.bytes += bytes;
        }
        Err(e) => {
            report.failed += 1;
            report.errors.push(format!("{}: {e}", path.display()));
        }
    }
}
