//! Versions of a copy that differ from the original: only the nodes of a group, and links replaced by their bytes.
//!
//! Versions and manifests keep their ids, so that names, times and histories are those of the original.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::format::manifest::{ChunkInfo, ChunkPayload, ChunkRef, Manifest, VirtualChunkRef};
use icechunk::format::snapshot::{ManifestFileInfo, NodeData, NodeSnapshot, Snapshot, SnapshotInfo};
use icechunk::format::{ChunkId, ManifestId};
use icecore_grid::{Error, ErrorKind, Result};

use super::needed::{Needed, fetch, fetch_version, is_kept};
use super::place::Place;
use crate::error;
use crate::process::own_numbers;
use crate::runtime::{guard, run};

/// Bytes of linked chunks that one new object holds.
const OBJECT: usize = 16 << 20;

/// A linked chunk: a version that refers to it, its file, and where it is in there.
#[derive(Clone, Debug)]
pub struct Link {
    pub version: String,
    pub url: String,
    pub offset: u64,
    pub length: u64,
}

/// Reads linked chunks, in their order.
pub type ReadLinks<'a> = dyn Fn(&[Link]) -> Result<Vec<Bytes>> + Sync + 'a;

/// Writes the manifests as the copy has them; empty ones are missing in the result.
pub(crate) fn manifests(
    from: &Place,
    to: &Place,
    needed: &Needed,
    links: Option<&ReadLinks<'_>>,
    mut count: impl FnMut(u64),
) -> Result<HashMap<ManifestId, ManifestFileInfo>> {
    let mut files = HashMap::new();
    for parent in &needed.parents {
        let copied = run(fetch_version(to, parent))?;
        files.extend(copied.manifest_files().filter_map(std::result::Result::ok).map(|file| (file.id.clone(), file)));
    }
    for (id, (version, _)) in &needed.manifests {
        let mut chunks = run(async {
            let manifest = fetch(from, id).await?;
            guard(|| kept(&manifest, needed))
        })?;
        if let Some(read) = links {
            pack(to, &version.to_string(), &mut chunks, read, &mut count)?;
        }
        let made = guard(|| Manifest::from_sorted_vec(id, chunks, None).map_err(error::format))?;
        let Some(manifest) = made.map(Arc::new) else { continue };
        let written = to.assets.write_manifest("/", Arc::clone(&manifest));
        let bytes = run(async { written.await.map_err(error::repository) })?;
        files.insert(id.clone(), ManifestFileInfo::new(&manifest, bytes));
    }
    Ok(files)
}

/// The references of the nodes that are kept, sorted.
fn kept(manifest: &Arc<Manifest>, needed: &Needed) -> Result<Vec<ChunkInfo>> {
    let mut chunks = Vec::new();
    for node in manifest.arrays().filter(|node| needed.nodes.as_ref().is_none_or(|all| all.contains(node))) {
        for item in Arc::clone(manifest).iter(node.clone()).map_err(error::format)? {
            let (coord, payload) = item.map_err(error::format)?;
            chunks.push(ChunkInfo { node: node.clone(), coord, payload });
        }
    }
    chunks.sort_by(|a, b| (&a.node, &a.coord).cmp(&(&b.node, &b.coord)));
    Ok(chunks)
}

/// Replaces links by objects that hold their bytes.
fn pack(
    to: &Place,
    version: &str,
    chunks: &mut [ChunkInfo],
    read: &ReadLinks<'_>,
    count: &mut impl FnMut(u64),
) -> Result<()> {
    let mut linked: Vec<(&mut ChunkInfo, Link)> = Vec::new();
    for chunk in chunks {
        if let ChunkPayload::Virtual(VirtualChunkRef { location, offset, length, .. }) = &chunk.payload {
            if location.is_relative() {
                let message = format!("{}: links by relative addresses can't be packed", location.url());
                return Err(Error::new(ErrorKind::Unsupported, message).hint("clone without --pack-links"));
            }
            let link =
                Link { version: version.to_owned(), url: location.url().to_owned(), offset: *offset, length: *length };
            linked.push((chunk, link));
        }
    }
    let mut rest = linked.as_mut_slice();
    while !rest.is_empty() {
        let mut size = 0;
        let taken = rest.iter().take_while(|(_, link)| {
            let fits = size == 0 || size + link.length <= OBJECT as u64;
            size += link.length;
            fits
        });
        let (group, later) = rest.split_at_mut(taken.count());
        let wanted: Vec<Link> = group.iter().map(|(_, link)| link.clone()).collect();
        let read = read(&wanted)?;
        own_numbers();
        let (id, mut bytes) = (ChunkId::random(), BytesMut::new());
        for ((chunk, link), part) in group.iter_mut().zip(read) {
            let (offset, length) = (bytes.len() as u64, part.len() as u64);
            if length != link.length {
                return Err(error::damaged(format!(
                    "{}: {} bytes were requested, {length} came",
                    link.url, link.length
                )));
            }
            bytes.extend_from_slice(&part);
            chunk.payload = ChunkPayload::Ref(ChunkRef { id: id.clone(), offset, length });
        }
        count(bytes.len() as u64);
        run(to.write(&format!("chunks/{id}"), bytes.freeze()))?;
        rest = later;
    }
    Ok(())
}

/// Writes a version's file with the nodes of the group, and the manifests as they are now.
pub(crate) async fn version(
    from: &Place,
    to: &Place,
    info: &SnapshotInfo,
    group: Option<&str>,
    files: &HashMap<ManifestId, ManifestFileInfo>,
) -> Result<()> {
    let old = fetch_version(from, &info.id).await?;
    let made = guard(|| {
        let mut nodes = Vec::new();
        for node in old.iter() {
            let mut node: NodeSnapshot = node.map_err(error::format)?;
            if group.is_some_and(|group| !is_kept(node.path.as_str(), group)) {
                continue;
            }
            if let NodeData::Array { manifests, .. } = &mut node.node_data {
                manifests.retain(|manifest| files.contains_key(&manifest.object_id));
            }
            nodes.push(Ok(node));
        }
        let listed = old.manifest_files().filter_map(std::result::Result::ok);
        let listed = listed.filter_map(|file| files.get(&file.id).cloned()).collect();
        let metadata = Some(old.metadata().map_err(error::format)?);
        let (message, time) = (old.message(), old.flushed_at().map_err(error::format)?);
        let (id, version) = (Some(info.id.clone()), SpecVersionBin::V2);
        Snapshot::from_iter(id, None, version, &message, metadata, listed, Some(time), nodes).map_err(error::format)
    })?;
    to.assets.write_snapshot(Arc::new(made)).await.map_err(error::repository).map_err(error::during(&to.url))
}
