//! Mend a damaged repository from a copy.
//!
//! Objects never change, so the same name means the same bytes. Metadata has checksums and is decoded; of chunk objects
//! that differ, the engine says which of the two can be decoded.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use futures::TryStreamExt;
use icechunk::asset_manager::AssetManager;
use icechunk::format::snapshot::{Snapshot, SnapshotInfo};
use icechunk::format::{ManifestId, SnapshotId};
use icecore_grid::{Error, Result};
use tokio::sync::Semaphore;

use crate::copy::needed::Needed;
use crate::copy::objects::is_damage;
use crate::copy::place::{Place, check};
use crate::error;
use crate::repo::Repo;
use crate::runtime::{run, until};
use crate::seal::{self, State};
use crate::versions::{clock, names};

/// Chunk objects that are compared at once, and mebibytes of them in memory.
const AT_ONCE: usize = 16;
const MEMORY: u32 = 512;

/// A chunk object that differs from the copy's.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    pub name: String,
    /// A version that refers to it.
    pub version: String,
}

/// What was found and mended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mending {
    /// Objects that were compared.
    pub objects: u64,
    pub bytes: u64,
    /// Names of objects that were replaced by the copy's.
    pub mended: Vec<String>,
    /// Damaged objects that the copy doesn't have, or not whole.
    pub lost: Vec<String>,
    /// Objects that the copy lacks and that are whole here.
    pub missing_in_copy: u64,
    pub suspects: Vec<Suspect>,
}

/// A kind of metadata file, by its folder.
#[derive(Clone, Copy, PartialEq)]
enum File {
    Version,
    Log,
    Manifest,
}

impl Repo {
    /// Replaces damaged metadata, and chunk objects that are missing or too short, by those of a copy; lists the chunk
    /// objects that differ. `progress(done, total)` counts bytes.
    ///
    /// # Errors
    /// Conflict if another process holds the repository's lock; Unsupported for repositories of Icechunk's first
    /// format; Io, Network, Permission, Interrupted.
    pub fn mend(&self, copy: &Self, progress: &(dyn Fn(u64, u64) + Sync), cancel: &AtomicBool) -> Result<Mending> {
        let (shared, theirs) = (self.shared()?, copy.shared()?);
        let (here, there) = (Place::of(shared)?, Place::of(theirs)?);
        let work = async {
            let (held, listed) = clock::turn(shared, None, cancel).await?;
            let mut bench = Bench { here: &here, there: &there, found: Mending::default() };
            let mut whole = Vec::new();
            for version in all(&listed)? {
                if bench.version(&version.id).await? {
                    whole.push(version);
                }
            }
            let mut needed = Needed::of(&here, whole, &HashSet::new(), None).await?;
            let manifests: Vec<_> = needed.manifests.iter().map(|(id, (v, _))| (id.clone(), v.clone())).collect();
            for (id, version) in manifests {
                if !bench.file(File::Manifest, &id.to_string(), &version).await? {
                    needed.manifests.remove(&id);
                }
            }
            needed.add_chunks(&here).await?;
            bench.chunks(&needed, progress).await?;
            for version in &needed.versions {
                bench.seal(version).await?;
            }
            shared.settle(held).await;
            Ok(bench.found)
        };
        let found = run(until(cancel, work))?;
        shared.synchronise()?;
        Ok(found)
    }

    /// Replaces chunk objects by the copy's.
    ///
    /// # Errors
    /// As [`Repo::mend`]; Corrupt if the copy has no such object.
    pub fn replace_objects(&self, copy: &Self, names: &[String]) -> Result<()> {
        let (shared, theirs) = (self.shared()?, copy.shared()?);
        let (here, there) = (Place::of(shared)?, Place::of(theirs)?);
        run(async {
            let held = shared.lock.hold()?;
            for name in names {
                here.write(name, there.must_read(name).await?).await?;
            }
            drop(held);
            Ok(())
        })?;
        shared.synchronise()
    }
}

fn all(listed: &names::Names) -> Result<Vec<SnapshotInfo>> {
    let Some(info) = &listed.info else {
        return Err(Error::new(
            icecore_grid::ErrorKind::Unsupported,
            "repositories in Icechunk's first format can't be repaired",
        )
        .hint("copy the damaged files that `icecore verify` lists by hand"));
    };
    info.all_snapshots().map_err(error::format)?.map(|version| version.map_err(error::format)).collect()
}

struct Bench<'a> {
    here: &'a Place,
    there: &'a Place,
    found: Mending,
}

impl Bench<'_> {
    /// Mends the files of one version, except its manifests; returns whether they are whole now.
    async fn version(&mut self, id: &SnapshotId) -> Result<bool> {
        let log = self.file(File::Log, &id.to_string(), id).await?;
        Ok(self.file(File::Version, &id.to_string(), id).await? && log)
    }

    /// Mends one metadata file; returns whether it is whole now.
    async fn file(&mut self, kind: File, name: &str, version: &SnapshotId) -> Result<bool> {
        self.found.objects += 1;
        let full = format!("{}/{name}", kind.folder());
        if kind == File::Log && *version == Snapshot::INITIAL_SNAPSHOT_ID && self.here.read(&full).await?.is_none() {
            return Ok(true); // a repository that was migrated has none
        }
        if self.is_whole(self.here, kind, name, version).await? {
            return Ok(true);
        }
        let bytes = match self.is_whole(self.there, kind, name, version).await? {
            true => self.there.read(&full).await?,
            false => None,
        };
        match bytes.filter(|bytes| self.here.seal(&version.to_string()).check(&full, bytes).is_ok()) {
            Some(bytes) => {
                self.here.write(&full, bytes).await?;
                self.found.mended.push(full);
                Ok(true)
            }
            None => {
                self.found.lost.push(full);
                Ok(false)
            }
        }
    }

    /// Whether a metadata file has its checksum and can be decoded.
    async fn is_whole(&self, place: &Place, kind: File, name: &str, version: &SnapshotId) -> Result<bool> {
        let full = format!("{}/{name}", kind.folder());
        let Some(bytes) = place.read(&full).await? else { return Ok(false) };
        let checked = check(place, &place.seal(&version.to_string()), &full, &bytes);
        let done = match checked {
            Ok(()) => kind.decode(&place.assets, name).await,
            Err(e) => Err(e),
        };
        match done {
            Ok(()) => Ok(true),
            Err(e) if is_damage(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Replaces a damaged list of checksums.
    async fn seal(&mut self, version: &SnapshotInfo) -> Result<()> {
        let (id, Some(folder)) = (version.id.to_string(), &self.here.folder) else { return Ok(()) };
        if !matches!(seal::state(folder, &id), State::Damaged(_)) {
            return Ok(());
        }
        let name = format!("{}/{id}", seal::FOLDER);
        if self.write_seal(folder, version).await? {
            self.here.note(&name);
            self.found.mended.push(name);
        } else {
            self.found.lost.push(name);
        }
        Ok(())
    }

    /// Without its checksums a damaged file may look whole: new ones are written unless the copy contradicts.
    async fn write_seal(&self, folder: &Path, version: &SnapshotInfo) -> Result<bool> {
        let snapshot = crate::copy::needed::fetch_version(self.here, &version.id).await?;
        let mut names = vec![format!("snapshots/{}", version.id), format!("transactions/{}", version.id)];
        for file in snapshot.manifest_files() {
            names.push(format!("manifests/{}", file.map_err(error::format)?.id));
        }
        for name in names {
            let (ours, theirs) = futures::try_join!(self.here.read(&name), self.there.read(&name))?;
            if theirs.is_some() && theirs != ours {
                return Ok(false);
            }
        }
        Ok(seal::write(folder, &snapshot, None).is_ok())
    }

    /// Compares all chunk objects with the copy's.
    async fn chunks(&mut self, needed: &Needed, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<()> {
        let total = needed.chunks.values().map(|(end, _)| end).sum();
        let (memory, done) = (Semaphore::new(MEMORY as usize), AtomicU64::new(0));
        let found = Mutex::new(std::mem::take(&mut self.found));
        let (here, there) = (self.here, self.there);
        let compared = futures::stream::iter(needed.chunks.iter().map(Ok::<_, Error>))
            .try_for_each_concurrent(AT_ONCE, |(id, (end, version))| {
                let (memory, done, found) = (&memory, &done, &found);
                async move {
                    let name = format!("chunks/{id}");
                    let weight = u32::try_from(end >> 19).unwrap_or(MEMORY).saturating_add(1).min(MEMORY);
                    let _room = memory.acquire_many(weight).await;
                    let (ours, theirs) = futures::try_join!(here.read(&name), there.read(&name))?;
                    let outcome = compare(ours.as_ref(), theirs.as_ref(), *end);
                    if outcome == Outcome::Mend {
                        here.write(&name, theirs.unwrap_or_default()).await?;
                    }
                    note(&mut found.lock().unwrap_or_else(std::sync::PoisonError::into_inner), outcome, name, version);
                    progress(done.fetch_add(*end, Ordering::Relaxed) + end, total);
                    Ok(())
                }
            })
            .await;
        self.found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.found.objects += needed.chunks.len() as u64;
        self.found.bytes += total;
        compared
    }
}

#[derive(PartialEq)]
enum Outcome {
    Equal,
    /// The copy's object takes the place of ours.
    Mend,
    Lost,
    MissingInCopy,
    Differs,
}

/// `end`: the least length of the whole object.
fn compare(ours: Option<&Bytes>, theirs: Option<&Bytes>, end: u64) -> Outcome {
    let is_long = |bytes: &&Bytes| bytes.len() as u64 >= end;
    match (ours.filter(is_long), theirs.filter(is_long)) {
        (Some(ours), Some(theirs)) if ours == theirs => Outcome::Equal,
        (Some(_), Some(_)) => Outcome::Differs,
        (Some(_), None) => Outcome::MissingInCopy,
        (None, Some(_)) => Outcome::Mend,
        (None, None) => Outcome::Lost,
    }
}

fn note(found: &mut Mending, outcome: Outcome, name: String, version: &SnapshotId) {
    match outcome {
        Outcome::Equal => {}
        Outcome::Mend => found.mended.push(name),
        Outcome::Lost => found.lost.push(name),
        Outcome::MissingInCopy => found.missing_in_copy += 1,
        Outcome::Differs => found.suspects.push(Suspect { name, version: version.to_string() }),
    }
}

impl File {
    fn folder(self) -> &'static str {
        match self {
            Self::Version => "snapshots",
            Self::Log => "transactions",
            Self::Manifest => "manifests",
        }
    }

    /// Decodes the file, past all caches.
    async fn decode(self, assets: &AssetManager, name: &str) -> Result<()> {
        let bad = || error::damaged(format!("{}/{name} is not the name of a file", self.folder()));
        let read = match self {
            Self::Version => {
                let id = SnapshotId::try_from(name).map_err(|_| bad())?;
                assets.fetch_snapshot_with_header(&id).await.map(|(file, _)| file.id().to_string())
            }
            Self::Log => {
                let id = SnapshotId::try_from(name).map_err(|_| bad())?;
                assets.fetch_transaction_log_with_header(&id).await.map(|_| name.to_owned())
            }
            Self::Manifest => {
                let id = ManifestId::try_from(name).map_err(|_| bad())?;
                assets.fetch_manifest_with_header(&id, 0).await.map(|(file, _)| file.id().to_string())
            }
        };
        match read.map_err(error::repository)? {
            found if found == name => Ok(()),
            found => Err(error::damaged(format!("{}/{name} has the content of {found}", self.folder()))),
        }
    }
}
