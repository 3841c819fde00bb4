//! Loads an array's whole reference table: from a snapshot's manifests, or from a session that is not committed yet.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icechunk::Repository;
use icechunk::asset_manager::decode_manifest;
use icechunk::format::manifest::{self, ChunkPayload, Manifest};
use icechunk::format::snapshot::{NodeData, Snapshot};
use icechunk::format::{ManifestId, Path};
use icechunk::session::Session;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error::{self, damaged};
use crate::frame;
use crate::node::ArrayEntry;
use crate::runtime;
use crate::table::{Checksum, ChunkTable, Location, Object, TableBuilder};

const CONCURRENT: usize = 16;
/// Above this a size in a snapshot is not trusted for an allocation in advance.
const TRUSTED_SIZE: u64 = 1 << 30;

/// The table of an array in a committed snapshot. Manifests are fetched side by side and unpacked on other threads.
pub(crate) async fn committed(
    repository: Arc<Repository>,
    snapshot: Arc<Snapshot>,
    path: String,
    entry: ArrayEntry,
) -> Result<ChunkTable> {
    let fetched = futures::stream::iter(entry.manifests.clone())
        .map(|id| manifest(&repository, &snapshot, id))
        .buffered(CONCURRENT)
        .try_collect::<Vec<_>>()
        .await
        .map_err(error::during(format!("reading the references of {path}")))?;
    let (named, names) = (path.clone(), Arc::clone(&repository));
    let build = move || -> Result<ChunkTable> {
        let mut builder = TableBuilder::new(&entry.counts)?;
        for manifest in fetched {
            for item in manifest.iter(entry.id.clone()).map_err(error::format)? {
                let (coords, payload) = item.map_err(error::format)?;
                push(&mut builder, &names, &coords.0, payload)?;
            }
        }
        builder.finish()
    };
    blocking(build).await.map_err(error::during(format!("reading the references of {named}")))
}

async fn manifest(repository: &Repository, snapshot: &Snapshot, id: ManifestId) -> Result<Arc<Manifest>> {
    let name = format!("manifests/{id}");
    let info = snapshot.manifest_info(&id).map_err(error::format)?;
    let size = info.ok_or_else(|| damaged(format!("the snapshot does not list {name}")))?.size_bytes;
    let size = if size > TRUSTED_SIZE { 0 } else { size };
    let bytes = repository.asset_manager().fetch_manifest_bytes(&id, size).await;
    let bytes = bytes.map_err(error::repository).map_err(error::during(&name))?;
    frame::check(&bytes, bytes.len() as u64, &name)?;
    let decode = move || decode_manifest(&bytes, None).map(Arc::new).map_err(error::repository);
    blocking(decode).await.map_err(error::during(&name))
}

/// Runs on a thread where computing does not hold up other requests.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) if e.is_panic() => Err(runtime::unexpected(e.into_panic().as_ref())),
        Err(e) => Err(Error::new(ErrorKind::Interrupted, e.to_string())),
    }
}

/// The table of an array as a writer sees it, uncommitted changes included.
pub(crate) async fn live(repository: &Repository, session: &Session, path: &str) -> Result<ChunkTable> {
    let at = Path::new(path).map_err(|e| Error::new(ErrorKind::Invalid, format!("{path}: {e}")))?;
    let node = session.get_array(&at).await.map_err(error::session)?;
    let NodeData::Array { shape, .. } = node.node_data else {
        return Err(Error::new(ErrorKind::Mismatch, format!("{path} is not an array")));
    };
    let counts: Vec<u32> = shape.num_chunks().collect();
    let mut builder = TableBuilder::new(&counts)?;
    let mut chunks = std::pin::pin!(session.array_chunk_iterator(&at).await);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(error::session)?;
        push(&mut builder, repository, &chunk.coord.0, chunk.payload)?;
    }
    builder.finish()
}

fn push(builder: &mut TableBuilder, repository: &Repository, coords: &[u32], payload: ChunkPayload) -> Result<()> {
    let Some(flat) = builder.flat(coords) else { return Ok(()) };
    match payload {
        ChunkPayload::Inline(bytes) => {
            builder.inline(flat, bytes);
            Ok(())
        }
        ChunkPayload::Ref(chunk) => {
            let name = format!("chunks/{}", chunk.id);
            let is_same = |o: &Object| matches!(&o.location, Location::Native(n) if *n == name);
            builder.range(flat, chunk.offset, chunk.length, is_same, || {
                Ok(Object { location: Location::Native(name.clone()), checksum: None })
            })
        }
        ChunkPayload::Virtual(link) => {
            let url = link.location.url();
            let is_same = |o: &Object| {
                matches!(&o.location, Location::Link(u) if u == url)
                    && same(o.checksum.as_ref(), link.checksum.as_ref())
            };
            let object = || {
                Ok(Object {
                    location: Location::Link(expand(repository, url)?),
                    checksum: link.checksum.clone().map(checksum),
                })
            };
            builder.range(flat, link.offset, link.length, is_same, object)
        }
        _ => Err(Error::new(ErrorKind::Unsupported, "a kind of chunk reference that this version does not know")),
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

/// `vcc://name/rest` → the URL that the repository's configuration gives for the name.
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
