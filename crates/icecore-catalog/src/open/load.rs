//! Load an array's whole reference table, from a snapshot's manifests or from an uncommitted session.

use std::collections::HashSet;
use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icechunk::Repository;
use icechunk::asset_manager::decode_manifest;
use icechunk::format::manifest::{self, ChunkPayload, ChunkRef, Manifest, VirtualChunkRef};
use icechunk::format::snapshot::Snapshot;
use icechunk::format::{ChunkId, ManifestId};
use icechunk::session::Session;
use icecore_grid::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;

use crate::error::{self, damaged};
use crate::frame;
use crate::nodes::node::{self, ArrayEntry, Node};
use crate::nodes::shared_manifests::SharedManifests;
use crate::nodes::table::{Checksum, ChunkTable, Location, Object, TableBuilder};
use crate::open::precheck;
use crate::process::PerProcess;
use crate::runtime;
use crate::seal::Seal;

const CONCURRENT: usize = 16;
/// A snapshot's claim above this size is not trusted for preallocation.
const TRUSTED_SIZE: u64 = 1 << 30;

/// A committed version and the checksums of its files.
#[derive(Clone)]
pub(crate) struct Version {
    pub repository: Arc<Repository>,
    pub snapshot: Arc<Snapshot>,
    pub seal: Arc<Seal>,
    /// The repository's directory, for local repositories: manifests are then read by the thread that decodes them.
    pub folder: Option<PathBuf>,
}

/// Loads the table of an array in a committed version, decoded on its own thread. Remote manifests are fetched
/// concurrently.
pub(crate) async fn committed(version: Version, path: String, entry: ArrayEntry) -> Result<ChunkTable> {
    let during = format!("reading the references of {path}");
    let fetched = match version.folder {
        Some(_) => Vec::new(),
        None => {
            let requests = futures::stream::iter(entry.manifests.clone()).map(|id| version.fetch(id));
            requests.buffered(CONCURRENT).try_collect().await.map_err(error::during(&during))?
        }
    };
    blocking(move || version.build(&entry, fetched)).await.map_err(error::during(&during))
}

/// The table of an array some of whose manifests (`several`) hold other arrays too; these are decoded once for all of them.
pub(crate) async fn from_shared(
    version: Version,
    path: &str,
    entry: &ArrayEntry,
    (cache, several): (&SharedManifests, &HashSet<ManifestId>),
) -> Result<ChunkTable> {
    let during = format!("reading the references of {path}");
    let repository = Arc::clone(&version.repository);
    let manifests = futures::stream::iter(&entry.manifests).map(|id| {
        let decode = version.clone().decode(id.clone());
        async move { if several.contains(id) { cache.get(id, decode).await } else { decode.await } }
    });
    let manifests: Vec<_> = manifests.buffered(CONCURRENT).try_collect().await.map_err(error::during(&during))?;
    let mut table = Filler::new(&entry.counts, &repository)?;
    manifests.iter().try_for_each(|manifest| table.extend(manifest, entry)).map_err(error::during(&during))?;
    table.builder.finish()
}

impl Version {
    async fn decode(self, id: ManifestId) -> Result<Arc<Manifest>> {
        let name = format!("manifests/{id}");
        let fetched = match self.folder {
            Some(_) => None,
            None => Some(self.fetch(id).await?),
        };
        let decode = move || {
            let bytes = fetched.map_or_else(|| self.read(&name), Ok)?;
            self.unpack(&name, &bytes).map_err(error::during(&name))
        };
        blocking(decode).await
    }

    fn build(&self, entry: &ArrayEntry, fetched: Vec<Vec<u8>>) -> Result<ChunkTable> {
        let mut table = Filler::new(&entry.counts, &self.repository)?;
        let mut fetched = fetched.into_iter();
        for id in &entry.manifests {
            let name = format!("manifests/{id}");
            let bytes = fetched.next().map_or_else(|| self.read(&name), Ok)?;
            let filled = self.unpack(&name, &bytes).and_then(|manifest| table.extend(&manifest, entry));
            filled.map_err(error::during(&name))?;
        }
        table.builder.finish()
    }

    fn unpack(&self, name: &str, bytes: &[u8]) -> Result<Arc<Manifest>> {
        self.seal.check(name, bytes)?;
        frame::check(bytes, bytes.len() as u64, name)?;
        let manifest = decode_manifest(bytes, None).map_err(error::repository)?;
        precheck::check_name(name, &manifest.id())?;
        Ok(Arc::new(manifest))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.folder.as_deref().unwrap_or(Path::new("")).join(name);
        std::fs::read(&path).map_err(|e| match e.kind() {
            IoKind::NotFound => damaged(format!("{} is missing", path.display())),
            _ => error::during(path.display())(error::io(&e)),
        })
    }

    async fn fetch(&self, id: ManifestId) -> Result<Vec<u8>> {
        let name = format!("manifests/{id}");
        let info = self.snapshot.manifest_info(&id).map_err(error::format)?;
        let size = info.ok_or_else(|| damaged(format!("the snapshot does not list {name}")))?.size_bytes;
        let size = if size > TRUSTED_SIZE { 0 } else { size };
        let bytes = self.repository.asset_manager().fetch_manifest_bytes(&id, size).await;
        bytes.map_err(error::repository).map_err(error::during(&name))
    }
}

/// One thread per core: a thread for each of a hundred arrays would cost more to start than its work.
static TURNS: PerProcess<Semaphore> = PerProcess::new();

/// Runs work on a thread where computation does not delay requests.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let turns = TURNS.get_or(|_| Semaphore::new(runtime::cores()));
    let _turn = turns.acquire().await.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) if e.is_panic() => Err(runtime::tripped(e.into_panic().as_ref())),
        Err(e) => Err(Error::new(ErrorKind::Interrupted, e.to_string())),
    }
}

/// The table of an array as a writer sees it, including uncommitted changes.
pub(crate) async fn live(repository: &Repository, session: &Session, path: &str) -> Result<ChunkTable> {
    let at = node::path(path)?;
    let node = Node::from(session.get_array(&at).await.map_err(error::session)?);
    let counts = node.array.map(|entry| entry.counts).unwrap_or_default();
    let mut table = Filler::new(&counts, repository)?;
    let mut chunks = std::pin::pin!(session.array_chunk_iterator(&at).await);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(error::session)?;
        table.push(&chunk.coord.0, chunk.payload)?;
    }
    table.builder.finish()
}

/// Puts Icechunk's references into a table.
struct Filler<'a> {
    builder: TableBuilder,
    repository: &'a Repository,
    /// The object of the previous native reference, which is often the next one's too.
    last: Option<ChunkId>,
}

impl<'a> Filler<'a> {
    fn new(counts: &[u32], repository: &'a Repository) -> Result<Self> {
        Ok(Self { builder: TableBuilder::new(counts)?, repository, last: None })
    }

    fn extend(&mut self, manifest: &Arc<Manifest>, entry: &ArrayEntry) -> Result<()> {
        for item in Arc::clone(manifest).iter(entry.id.clone()).map_err(error::format)? {
            let (coords, payload) = item.map_err(error::format)?;
            self.push(&coords.0, payload)?;
        }
        Ok(())
    }

    fn push(&mut self, coords: &[u32], payload: ChunkPayload) -> Result<()> {
        let Some(flat) = self.builder.flat(coords) else { return Ok(()) };
        match payload {
            ChunkPayload::Inline(bytes) => {
                self.builder.inline(flat, bytes);
                Ok(())
            }
            ChunkPayload::Ref(chunk) => self.native(flat, chunk),
            ChunkPayload::Virtual(link) => self.link(flat, &link),
            _ => {
                let message = "a kind of chunk reference that this version does not know";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    fn native(&mut self, flat: u64, chunk: ChunkRef) -> Result<()> {
        let is_same = self.last.as_ref() == Some(&chunk.id);
        let object = || Ok(Object { location: Location::Native(format!("chunks/{}", chunk.id)), checksum: None });
        let is_same = |o: &Object| is_same && matches!(o.location, Location::Native(_));
        self.builder.range(flat, chunk.offset, chunk.length, is_same, object)?;
        self.last = Some(chunk.id);
        Ok(())
    }

    fn link(&mut self, flat: u64, link: &VirtualChunkRef) -> Result<()> {
        let (url, theirs) = (link.location.url(), link.checksum.as_ref());
        let is_same =
            |o: &Object| matches!(&o.location, Location::Link(u) if u == url) && same(o.checksum.as_ref(), theirs);
        let object = || {
            let location = Location::Link(expand(self.repository, url)?);
            Ok(Object { location, checksum: theirs.cloned().map(checksum) })
        };
        self.builder.range(flat, link.offset, link.length, is_same, object)
    }
}

fn same(ours: Option<&Checksum>, theirs: Option<&manifest::Checksum>) -> bool {
    match (ours, theirs) {
        (None, None) => true,
        (Some(Checksum::LastModified(a)), Some(manifest::Checksum::LastModified(b))) => *a == b.0,
        (Some(Checksum::ETag(a)), Some(manifest::Checksum::ETag(b))) => *a == b.0,
        _ => false,
    }
}

fn checksum(theirs: manifest::Checksum) -> Checksum {
    match theirs {
        manifest::Checksum::LastModified(seconds) => Checksum::LastModified(seconds.0),
        manifest::Checksum::ETag(etag) => Checksum::ETag(etag.0),
    }
}

/// Converts `vcc://name/rest` to the URL that the repository's configuration records for the name.
fn expand(repository: &Repository, url: &str) -> Result<String> {
    let Some((name, rest)) = url.strip_prefix("vcc://").and_then(|rest| rest.split_once('/')) else {
        return Ok(url.to_owned());
    };
    let container = repository.config().virtual_chunk_containers().find(|c| c.name() == Some(name));
    let container = container.ok_or_else(|| {
        Error::new(ErrorKind::LinkNotAllowed, format!("{url}: the repository does not say where {name} is"))
    })?;
    Ok(format!("{}{rest}", container.url_prefix()))
}
