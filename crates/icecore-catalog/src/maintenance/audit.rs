//! Check that a version's files exist, are unchanged and are valid.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, TryStreamExt};
use icechunk::asset_manager::AssetManager;
use icechunk::format::manifest::{ChunkPayload, Manifest};
use icechunk::format::repo_info::RepoInfo;
use icechunk::format::snapshot::{Snapshot, SnapshotInfo};
use icechunk::format::{ChunkId, ManifestId, SnapshotId};
use icechunk::repository::RepositoryErrorKind;
use icechunk::storage::StorageErrorKind;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error::{self, damaged};
use crate::open::precheck;
use crate::open::repo_state::RepoState;
use crate::repo::Repo;
use crate::runtime::{guard, run, until};
use crate::seal::{self, Seal, State};
use crate::stores::storage::Root;
use crate::versions::{history, names, resolve};

/// Versions that are checked concurrently.
const CONCURRENT: usize = 16;

/// A missing, changed or invalid file of the repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Damage {
    /// The file's name in the repository (`snapshots/…`, `chunks/…`).
    pub place: String,
    pub error: Error,
}

impl Repo {
    /// Checks a version's seal, snapshot and transaction log. With None it checks all versions of the whole history,
    /// their manifests, and that every referenced object exists and is long enough; `progress(done, total)` counts
    /// versions. Linked files are not checked, because older versions may legitimately refer to files that have
    /// changed. Stops soon after `cancel` is set.
    ///
    /// # Errors
    /// Only errors that prevent the check itself, and Interrupted. Damage is returned as findings.
    pub fn audit(
        &self,
        reference: Option<&str>,
        progress: &(dyn Fn(u64, u64) + Sync),
        cancel: &AtomicBool,
    ) -> Result<Vec<Damage>> {
        let shared = self.shared()?;
        run(until(cancel, async {
            let repository = shared.repository();
            let listed = names::all(shared).await?.info;
            let audit = Audit { shared, assets: repository.asset_manager(), listed, seen: Mutex::default(), cancel };
            audit.seal(seal::ROOT);
            match reference {
                Some(_) => audit.version(&resolve::snapshot_id(shared, reference).await?, false).await,
                None => audit.whole_history(progress).await?,
            }
            let mut found = audit.seen.into_inner().unwrap_or_else(PoisonError::into_inner).damages;
            found.sort_by(|a, b| a.place.cmp(&b.place));
            Ok(found)
        }))
    }

    /// Local versions without recorded checksums: committed by other software, or the seal was removed.
    ///
    /// # Errors
    /// Network, Io, Corrupt.
    pub fn unsealed(&self) -> Result<Vec<String>> {
        let shared = self.shared()?;
        let Root::Local(folder) = &shared.root else { return Ok(Vec::new()) };
        let all = run(versions(shared))?.into_iter().map(|id| id.to_string());
        Ok(all.filter(|id| matches!(seal::state(folder, id), State::None)).collect())
    }
}

/// All versions of all branches and tags.
async fn versions(shared: &RepoState) -> Result<Vec<SnapshotId>> {
    let names = names::all(shared).await?;
    if let Some(info) = names.info {
        let all = info.all_snapshots().map_err(error::format)?;
        return all.map(|snapshot| Ok(snapshot.map_err(error::format)?.id)).collect();
    }
    let mut all = HashSet::new();
    for tip in names.branches.values().chain(names.tags.values()) {
        all.extend(history::back_from(shared, tip, |_| false).await?.into_iter().map(|commit| commit.id));
    }
    Ok(all.into_iter().collect())
}

struct Audit<'a> {
    shared: &'a RepoState,
    assets: &'a AssetManager,
    /// The root object, if there is one.
    listed: Option<Arc<RepoInfo>>,
    seen: Mutex<Seen>,
    cancel: &'a AtomicBool,
}

#[derive(Default)]
struct Seen {
    damages: Vec<Damage>,
    manifests: HashSet<ManifestId>,
    /// Objects that hold chunks, and the minimum length of each.
    needed: HashMap<ChunkId, u64>,
}

impl Audit<'_> {
    async fn whole_history(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<()> {
        let versions = versions(self.shared).await?;
        let total = versions.len() as u64;
        let mut checked =
            futures::stream::iter(&versions).map(|id| self.version(id, true)).buffer_unordered(CONCURRENT);
        let mut done = 0;
        while checked.next().await.is_some() {
            done += 1;
            progress(done, total);
        }
        self.objects().await
    }

    /// Checks one version; with `all` its manifests too.
    async fn version(&self, id: &SnapshotId, all: bool) {
        let seal = self.seal(&id.to_string());
        let name = format!("transactions/{id}");
        let log = self.assets.fetch_transaction_log_with_header(id);
        // A repository that was created in Icechunk's first format has no transaction log for its first version.
        let may_lack = *id == Snapshot::INITIAL_SNAPSHOT_ID && !seal.names(&name);
        let unpacked = async {
            match log.await {
                Err(e) if may_lack && is_missing(&e.kind) => Ok(()),
                done => done.map(drop),
            }
        };
        self.file(&seal, name, unpacked).await;
        let fetched = self.assets.fetch_snapshot_with_header(id);
        let fetched =
            self.file(&seal, format!("snapshots/{id}"), async { fetched.await.map(|(snapshot, _)| snapshot) });
        let Some(snapshot) = fetched.await else { return };
        if let Err(error) = guard(|| precheck::check_name(&format!("snapshots/{id}"), &snapshot.id())) {
            return self.note(format!("snapshots/{id}"), error);
        }
        if let Err(error) = self.as_listed(&snapshot) {
            self.note(seal::ROOT.to_owned(), error);
        }
        if !all {
            return;
        }
        match guard(|| manifests(&snapshot)) {
            Ok(listed) => {
                for (manifest, size) in listed {
                    self.manifest(&seal, &manifest, size).await;
                }
            }
            Err(error) => self.note(format!("snapshots/{id}"), error),
        }
    }

    /// The root object repeats the commit information of the version's own file.
    fn as_listed(&self, snapshot: &Snapshot) -> Result<()> {
        let Some(listed) = &self.listed else { return Ok(()) };
        let theirs = guard(|| SnapshotInfo::from_snapshot_file(snapshot).map_err(error::format))?;
        let ours = guard(|| listed.find_snapshot(&snapshot.id()).map_err(error::format))?;
        if (&ours.message, ours.flushed_at, &ours.metadata) == (&theirs.message, theirs.flushed_at, &theirs.metadata) {
            return Ok(());
        }
        let described = |info: &SnapshotInfo| format!("{:?}, {}", info.message, info.flushed_at);
        let (id, ours, theirs) = (&theirs.id, described(&ours), described(&theirs));
        Err(damaged(format!(
            "version {id} is listed as {ours}; its own file says {theirs}, or they differ in metadata"
        )))
    }

    fn seal(&self, id: &str) -> Seal {
        let Root::Local(folder) = &self.shared.root else { return Seal::default() };
        match seal::state(folder, id) {
            State::Whole(seal) => seal,
            State::None => Seal::default(),
            State::Damaged(why) => {
                let error = damaged(why).hint("the data can still be read, but damage can no longer be detected");
                self.note(format!("{}/{id}", seal::FOLDER), error);
                Seal::default()
            }
        }
    }

    async fn manifest(&self, seal: &Seal, id: &ManifestId, size: u64) {
        if !self.seen().manifests.insert(id.clone()) {
            return;
        }
        let name = format!("manifests/{id}");
        let fetched = self.assets.fetch_manifest_with_header(id, 0);
        let Some(manifest) = self.file(seal, name.clone(), async { fetched.await.map(|(manifest, _)| manifest) }).await
        else {
            return;
        };
        let whole = self.length(&name, size).and_then(|()| guard(|| precheck::check_name(&name, &manifest.id())));
        if let Err(error) = whole.and_then(|()| guard(|| self.references(&manifest))) {
            self.note(name, error);
        }
    }

    /// Whether a file in a directory has the length that its snapshot records.
    fn length(&self, name: &str, expected: u64) -> Result<()> {
        let Root::Local(folder) = &self.shared.root else { return Ok(()) };
        match std::fs::metadata(folder.join(name)).map_or(0, |m| m.len()) {
            found if found == expected => Ok(()),
            found => Err(damaged(format!("{name} has {found} bytes, its snapshot says {expected}"))),
        }
    }

    fn references(&self, manifest: &Manifest) -> Result<()> {
        for payload in manifest.chunk_payloads().map_err(error::format)? {
            if self.cancel.load(Ordering::Relaxed) {
                break; // the receiver was dropped: stop checking
            }
            if let ChunkPayload::Ref(chunk) = payload.map_err(error::format)? {
                let end = chunk.offset.saturating_add(chunk.length);
                let mut seen = self.seen();
                let needed = seen.needed.entry(chunk.id).or_default();
                *needed = end.max(*needed);
            }
        }
        Ok(())
    }

    /// Compares the referenced objects with a listing of the stored ones.
    async fn objects(&self) -> Result<()> {
        let mut needed = std::mem::take(&mut self.seen().needed);
        if let Root::Http(url) = &self.shared.root {
            let message = format!("{url}: a web server does not list the objects that it has");
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint("check the history on the machine of the repository")
            );
        }
        let mut listed = self.assets.list_chunks().await.map_err(error::repository)?;
        while let Some(object) = listed.try_next().await.map_err(error::repository)? {
            if let Some(end) = needed.remove(&object.id).filter(|end| *end > object.size_bytes) {
                let (name, size) = (format!("chunks/{}", object.id), object.size_bytes);
                self.note(name.clone(), damaged(format!("bytes up to {end} are referred to, {name} has {size}")));
            }
        }
        for id in needed.into_keys() {
            self.note(format!("chunks/{id}"), damaged(format!("chunks/{id} is missing")));
        }
        Ok(())
    }

    /// Decodes one file, after its checksum was verified if one is recorded.
    async fn file<T>(
        &self,
        seal: &Seal,
        name: String,
        unpack: impl Future<Output = std::result::Result<T, icechunk::repository::RepositoryError>>,
    ) -> Option<T> {
        let checked = match &self.shared.root {
            Root::Local(folder) => seal.check_file(folder, &name),
            _ => Ok(()),
        };
        let unpacked = match checked {
            Ok(()) => unpack.await.map_err(error::repository),
            Err(error) => Err(error),
        };
        match unpacked {
            Ok(unpacked) => return Some(unpacked),
            Err(error) if error.kind == ErrorKind::NotFound => self.note(name.clone(), damaged(error.message)),
            Err(error) => self.note(name, error),
        }
        None
    }

    fn note(&self, place: String, error: Error) {
        self.seen().damages.push(Damage { place, error });
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_missing(kind: &RepositoryErrorKind) -> bool {
    matches!(kind, RepositoryErrorKind::StorageError(StorageErrorKind::ObjectNotFound))
}

/// The manifests that a version lists, and their lengths.
fn manifests(snapshot: &Snapshot) -> Result<Vec<(ManifestId, u64)>> {
    snapshot.manifest_files().map(|file| file.map(|file| (file.id, file.size_bytes)).map_err(error::format)).collect()
}
