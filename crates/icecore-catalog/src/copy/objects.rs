//! Copy objects as they are stored, many at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::TryStreamExt;
use icechunk::format::snapshot::{Snapshot, SnapshotInfo};
use icechunk::format::{ChunkId, ManifestId, SnapshotId};
use icecore_grid::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;

use super::needed::{Needed, fetch_version};
use super::place::{Place, check, damaged};
use crate::runtime::cores;
use crate::seal;

/// Chunk objects in flight: between two directories the disk is the limit, else latency.
const CHUNKS: usize = 32;
const METADATA: usize = 64;
/// Mebibytes of chunk objects in memory at once.
const MEMORY: u32 = 512;
/// Objects above which the copy's own are listed, to skip them: below, copying them again costs less.
const LISTED: usize = 256;

/// What was done, and the caller's report of it.
pub(crate) struct Mover<'a> {
    pub from: &'a Place,
    pub to: &'a Place,
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    pub total: AtomicU64,
    pub done: AtomicU64,
    /// Bytes that were written.
    pub bytes: AtomicU64,
    pub copied: AtomicU64,
    pub present: AtomicU64,
}

impl<'a> Mover<'a> {
    pub fn new(from: &'a Place, to: &'a Place, progress: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        let (total, done, bytes, copied, present) = Default::default();
        Self { from, to, progress, total, done, bytes, copied, present }
    }

    pub fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.progress)(done, self.total.load(Ordering::Relaxed).max(done));
    }

    /// Copies the chunk objects that the copy lacks.
    pub async fn chunks(&self, needed: &HashMap<ChunkId, (u64, SnapshotId)>) -> Result<()> {
        let present = self.present(needed.len(), "chunks").await?;
        self.total.fetch_add(needed.values().map(|(end, _)| end).sum(), Ordering::Relaxed);
        let memory = Semaphore::new(MEMORY as usize);
        let limit = if self.both_local() { cores().clamp(2, 8) } else { CHUNKS };
        futures::stream::iter(needed.iter().map(Ok::<_, Error>))
            .try_for_each_concurrent(limit, |(id, (end, _))| {
                let (memory, name) = (&memory, format!("chunks/{id}"));
                let is_there = present.get(&id.to_string()).is_some_and(|size| size >= end);
                async move {
                    if is_there {
                        self.present.fetch_add(1, Ordering::Relaxed);
                    } else {
                        let weight = u32::try_from(end >> 20).unwrap_or(MEMORY).saturating_add(1).min(MEMORY);
                        let _room = memory.acquire_many(weight).await;
                        self.chunk(&name, *end).await?;
                        self.bytes.fetch_add(*end, Ordering::Relaxed);
                        self.copied.fetch_add(1, Ordering::Relaxed);
                    }
                    self.add(*end);
                    Ok(())
                }
            })
            .await
    }

    fn both_local(&self) -> bool {
        self.from.folder.is_some() && self.to.folder.is_some()
    }

    /// The objects that the copy has in a folder.
    async fn present(&self, needed: usize, folder: &str) -> Result<HashMap<String, u64>> {
        if self.to.folder.is_none() && needed < LISTED {
            return Ok(HashMap::new());
        }
        self.to.list(folder).await
    }

    async fn chunk(&self, name: &str, end: u64) -> Result<()> {
        let short = |length: u64| damaged(self.from, format!("bytes up to {end} are referred to, {name} has {length}"));
        if let (Some(folder), true) = (&self.from.folder, self.both_local()) {
            let source = folder.join(name);
            let length = match std::fs::metadata(&source) {
                Ok(metadata) => metadata.len(),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    return Err(damaged(self.from, format!("{name} is missing")));
                }
                Err(_) => end, // copying reports it
            };
            if length < end {
                return Err(short(length));
            }
            return tokio::task::block_in_place(|| self.to.copy_file(&source, name)).map(drop);
        }
        let bytes = self.from.must_read(name).await?;
        if (bytes.len() as u64) < end {
            return Err(short(bytes.len() as u64));
        }
        self.to.write(name, bytes).await
    }

    /// Copies manifests, each checked by the seal of a version that lists it.
    pub async fn manifests(&self, needed: &HashMap<ManifestId, (SnapshotId, u64)>) -> Result<()> {
        futures::stream::iter(needed.iter().map(Ok::<_, Error>))
            .try_for_each_concurrent(METADATA, |(id, (version, size))| async move {
                let name = format!("manifests/{id}");
                let bytes = self.from.must_read(&name).await?;
                if bytes.len() as u64 != *size {
                    let message = format!("{name} has {} bytes, its snapshot says {size}", bytes.len());
                    return Err(damaged(self.from, message));
                }
                check(self.from, &self.from.seal(&version.to_string()), &name, &bytes)?;
                self.metadata(&name, bytes).await
            })
            .await
    }

    /// Copies the versions' own files, and the logs of those that were pruned. `rewritten` are written already.
    pub async fn versions(&self, needed: &Needed, is_rewritten: bool) -> Result<()> {
        futures::stream::iter(needed.versions.iter().map(Ok::<_, Error>))
            .try_for_each_concurrent(METADATA, |version| self.version(version, is_rewritten))
            .await
    }

    async fn version(&self, info: &SnapshotInfo, is_rewritten: bool) -> Result<()> {
        let id = info.id.to_string();
        let seal = self.from.seal(&id);
        for log in info.pruned_ancestor_tx_logs.iter().chain([&info.id]) {
            let name = format!("transactions/{log}");
            match self.from.read(&name).await? {
                Some(bytes) => {
                    check(self.from, &seal, &name, &bytes)?;
                    self.metadata(&name, bytes).await?;
                }
                // The first version of a repository that was migrated has none; pruned ones may be collected.
                None if seal.names(&name) => return Err(damaged(self.from, format!("{name} is missing"))),
                None if *log == info.id && info.id != Snapshot::INITIAL_SNAPSHOT_ID => {
                    return Err(damaged(self.from, format!("{name} is missing")));
                }
                None => {}
            }
        }
        let name = format!("snapshots/{id}");
        if !is_rewritten {
            let bytes = self.from.must_read(&name).await?;
            check(self.from, &seal, &name, &bytes)?;
            self.metadata(&name, bytes).await?;
        }
        if let Some(folder) = &self.to.folder {
            self.seal(folder, info, is_rewritten).await?;
        }
        Ok(())
    }

    /// Records the checksums of a version: those of the source, which hold for the copied bytes, or new ones.
    async fn seal(&self, folder: &std::path::Path, info: &SnapshotInfo, is_rewritten: bool) -> Result<()> {
        let (id, name) = (info.id.to_string(), format!("{}/{}", seal::FOLDER, info.id));
        match self.from.seal_text(&id).filter(|_| !is_rewritten) {
            Some(text) => self.to.write(&name, text.into()).await,
            None => {
                let snapshot: Arc<Snapshot> = fetch_version(self.to, &info.id).await?;
                if seal::write(folder, &snapshot, None).is_ok() {
                    self.to.note(&name);
                }
                Ok(()) // without a seal its files are read unchecked
            }
        }
    }

    async fn metadata(&self, name: &str, bytes: bytes::Bytes) -> Result<()> {
        let length = bytes.len() as u64;
        self.to.write(name, bytes).await?;
        self.bytes.fetch_add(length, Ordering::Relaxed);
        self.total.fetch_add(length, Ordering::Relaxed);
        self.add(length);
        Ok(())
    }
}

/// Whether an error says that the object's content is wrong, and not that it could not be reached.
pub(crate) fn is_damage(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Corrupt | ErrorKind::NotFound)
}
