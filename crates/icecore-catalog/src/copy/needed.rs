//! The objects that versions need: their manifests, and the chunk objects that these refer to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icechunk::format::manifest::{ChunkPayload, Manifest};
use icechunk::format::snapshot::{Snapshot, SnapshotInfo};
use icechunk::format::{ChunkId, ManifestId, NodeId, SnapshotId};
use icecore_grid::{ErrorKind, Result};

use super::place::{Place, damaged};
use crate::error;
use crate::nodes::node::{HIDDEN_GROUP, is_within};
use crate::open::precheck;
use crate::runtime::guard;

/// Versions and manifests that are read at once.
const AT_ONCE: usize = 32;
/// Files that a following directory keeps beside the data.
const FOLLOWED: &str = "/__followed__";

/// What some versions of a repository need.
#[derive(Default)]
pub(crate) struct Needed {
    /// In the order in which they are listed.
    pub versions: Vec<SnapshotInfo>,
    /// Manifest → a version that lists it, and its length.
    pub manifests: HashMap<ManifestId, (SnapshotId, u64)>,
    /// Chunk object → the least length that it has, and a version that refers to it.
    pub chunks: HashMap<ChunkId, (u64, SnapshotId)>,
    /// Nodes in the group that is copied; None: all.
    pub nodes: Option<HashSet<NodeId>>,
    /// Known versions that the others were committed on top of.
    pub parents: HashSet<SnapshotId>,
    pub links: u64,
}

/// Whether a copy of `group` has this node: those in it, the groups above it, and icecore's own.
pub(crate) fn is_kept(path: &str, group: &str) -> bool {
    is_within(path, group) || is_within(group, path) || is_within(path, HIDDEN_GROUP) || is_within(path, FOLLOWED)
}

impl Needed {
    /// Reads which manifests the versions list, without those that the versions in `known` list too.
    pub async fn of(
        place: &Place,
        versions: Vec<SnapshotInfo>,
        known: &HashSet<SnapshotId>,
        group: Option<&str>,
    ) -> Result<Self> {
        let parents: HashSet<SnapshotId> =
            versions.iter().filter_map(|v| v.parent_id.clone()).filter(|id| known.contains(id)).collect();
        let mut needed = Self { versions, nodes: group.map(|_| HashSet::new()), ..Self::default() };
        let ids: Vec<SnapshotId> = needed.versions.iter().map(|v| v.id.clone()).collect();
        let mut read =
            futures::stream::iter(ids).map(|id| async move { version(place, &id, group).await }).buffered(AT_ONCE);
        while let Some((id, manifests, nodes)) = read.try_next().await? {
            for (manifest, size) in manifests {
                needed.manifests.entry(manifest).or_insert((id.clone(), size));
            }
            if let Some(all) = &mut needed.nodes {
                all.extend(nodes);
            }
        }
        drop(read);
        for id in &parents {
            for (manifest, _) in version(place, id, None).await?.1 {
                needed.manifests.remove(&manifest);
            }
        }
        needed.parents = parents;
        Ok(needed)
    }

    /// Reads which chunk objects the manifests refer to.
    pub async fn add_chunks(&mut self, place: &Place) -> Result<()> {
        let manifests: Vec<_> = self.manifests.iter().map(|(id, (version, _))| (id.clone(), version.clone())).collect();
        let nodes = self.nodes.as_ref();
        let mut read = futures::stream::iter(manifests)
            .map(|(id, version)| async move {
                let manifest = fetch(place, &id).await?;
                Ok::<_, icecore_grid::Error>((version, guard(|| references(&manifest, nodes))?))
            })
            .buffer_unordered(AT_ONCE);
        while let Some((version, (chunks, links))) = read.try_next().await? {
            self.links += links;
            for (id, end) in chunks {
                let known = self.chunks.entry(id).or_insert_with(|| (0, version.clone()));
                known.0 = known.0.max(end);
            }
        }
        Ok(())
    }
}

/// A manifest, whose id is checked.
pub(crate) async fn fetch(place: &Place, id: &ManifestId) -> Result<Arc<Manifest>> {
    let name = format!("manifests/{id}");
    let fetched = place.assets.fetch_manifest_without_node(id).await.map_err(error::repository);
    let manifest = fetched.map_err(|e| lost(place, &name, e))?;
    guard(|| precheck::check_name(&name, &manifest.id()))?;
    Ok(manifest)
}

/// A version's file, whose id is checked.
pub(crate) async fn fetch_version(place: &Place, id: &SnapshotId) -> Result<Arc<Snapshot>> {
    let name = format!("snapshots/{id}");
    let snapshot =
        place.assets.fetch_snapshot(id).await.map_err(error::repository).map_err(|e| lost(place, &name, e))?;
    guard(|| precheck::check_name(&name, &snapshot.id()))?;
    Ok(snapshot)
}

fn lost(place: &Place, name: &str, e: icecore_grid::Error) -> icecore_grid::Error {
    match e.kind {
        ErrorKind::NotFound | ErrorKind::Corrupt => damaged(place, format!("{name}: {}", e.message)),
        _ => error::during(format!("{}/{name}", place.url))(e),
    }
}

type Listed = (SnapshotId, Vec<(ManifestId, u64)>, Vec<NodeId>);

/// The manifests that a version lists, and its nodes in the group.
async fn version(place: &Place, id: &SnapshotId, group: Option<&str>) -> Result<Listed> {
    let snapshot = fetch_version(place, id).await?;
    guard(|| {
        let files = snapshot.manifest_files().map(|file| file.map(|f| (f.id, f.size_bytes)));
        let files = files.collect::<std::result::Result<_, _>>().map_err(error::format)?;
        let mut nodes = Vec::new();
        if let Some(group) = group {
            for node in snapshot.iter() {
                let node = node.map_err(error::format)?;
                if is_kept(node.path.as_str(), group) {
                    nodes.push(node.id);
                }
            }
        }
        Ok((id.clone(), files, nodes))
    })
}

/// The chunk objects that a manifest refers to with the ends of the last references, and the number of links.
fn references(manifest: &Arc<Manifest>, nodes: Option<&HashSet<NodeId>>) -> Result<(HashMap<ChunkId, u64>, u64)> {
    let (mut chunks, mut links) = (HashMap::new(), 0);
    let mut add = |payload: ChunkPayload| match payload {
        ChunkPayload::Ref(chunk) => {
            let end = chunk.offset.saturating_add(chunk.length);
            let known = chunks.entry(chunk.id).or_default();
            *known = end.max(*known);
        }
        ChunkPayload::Virtual(_) => links += 1,
        _ => {}
    };
    match nodes {
        None => {
            for payload in manifest.chunk_payloads().map_err(error::format)? {
                add(payload.map_err(error::format)?);
            }
        }
        Some(nodes) => {
            for node in manifest.arrays().filter(|node| nodes.contains(node)) {
                for item in Arc::clone(manifest).iter(node).map_err(error::format)? {
                    add(item.map_err(error::format)?.1);
                }
            }
        }
    }
    Ok((chunks, links))
}
