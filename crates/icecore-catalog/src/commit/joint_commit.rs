//! Commit in which small arrays share manifests.
//!
//! Icechunk's own commit writes one manifest for each array. A table of 124 columns then has 124 of them: 20 kB, and 124 requests to
//! open all columns. The format allows several arrays in a manifest, and every Icechunk reader and collector follows them.

use std::collections::HashMap;
use std::sync::Arc;

use icechunk::asset_manager::AssetManager;
use icechunk::change_set::{ChangeSet, transaction_log_from_change_set};
use icechunk::error::ICError;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::format::manifest::{ChunkInfo, ChunkPayload, Manifest, ManifestExtents, ManifestRef, Overlap};
use icechunk::format::repo_info::{RepoInfo, UpdateType};
use icechunk::format::snapshot::{ManifestFileInfo, NodeData, NodeSnapshot, Snapshot, SnapshotInfo};
use icechunk::format::{ChunkIndices, IcechunkFormatErrorKind, ManifestId, NodeId, Path, SnapshotId};
use icechunk::repository::{RepositoryError, RepositoryErrorKind};
use icechunk::session::{Session, SessionError, SessionErrorKind, SessionResult};
use icechunk::virtual_chunks::VirtualChunkResolver;

use crate::nodes::manifest_parts::{divide, runs, share, weight};

/// New references of a commit up to which it is done here: the change set is copied.
const REFERENCES: usize = 1 << 16;
/// Bytes of references, before compression, up to which arrays share a manifest: one short request.
const SHARED: usize = 256 << 10;
/// Bytes of a reference beside inline data or a URL.
const REFERENCE: usize = 64;
/// Largest difference between this machine's clock and the store's, as in Icechunk's own commit.
const DRIFT_SECONDS: i64 = 600;

/// Whether a commit with this many new references can be done here: `None` leaves it to Icechunk.
pub(crate) fn changes(session: &Session, assets: &AssetManager, references: usize) -> Option<ChangeSet> {
    let is_small = (1..=REFERENCES).contains(&references) && assets.spec_version() >= SpecVersionBin::V2;
    is_small.then(|| ChangeSet::from(session.clone()))
}

/// The session's changes as a version that isn't on a branch yet, its files written.
pub(crate) async fn version(
    session: &Session,
    assets: &AssetManager,
    changes: &ChangeSet,
    message: &str,
) -> SessionResult<Arc<Snapshot>> {
    let old = assets.fetch_snapshot(session.snapshot_id()).await.map_err(inject)?;
    let mut nodes: Vec<NodeSnapshot> = session.list_nodes(&Path::root()).await?.collect::<SessionResult<_>>()?;
    nodes.sort_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
    let mut files = write_manifests(&old, assets, changes, &mut nodes).await?;
    keep_manifests(&old, &nodes, &mut files)?;
    let files = files.into_values().collect();
    let nodes = nodes.into_iter().map(Ok);
    let snapshot = Snapshot::from_iter(None, None, assets.spec_version(), message, None, files, None, nodes);
    let snapshot = Arc::new(snapshot.map_err(inject)?);
    check_order(&old, &snapshot)?;
    let log = transaction_log_from_change_set(&snapshot.id(), changes);
    let written = futures::try_join!(
        assets.write_snapshot(Arc::clone(&snapshot)),
        assets.write_transaction_log(snapshot.id(), Arc::new(log)),
    );
    written.map_err(inject)?;
    check_clock(assets, &snapshot).await?;
    Ok(snapshot)
}

/// Puts a version at the end of its branch, whose newest version must still be the session's. Returns the root objects
/// before and after.
pub(crate) async fn publish(
    session: &Session,
    assets: &AssetManager,
    branch: &str,
    version: &Snapshot,
) -> SessionResult<Option<[Arc<RepoInfo>; 2]>> {
    let parent = session.snapshot_id();
    let updates = session.config().num_updates_per_repo_info_file();
    let mut made = None;
    let add = |info: Arc<RepoInfo>, backup: &str, _| {
        let tip = info.resolve_branch(branch).map_err(ICError::inject::<RepositoryErrorKind>)?;
        if tip != *parent {
            let (expected_parent, actual_parent) = (Some(parent.clone()), Some(tip));
            return Err(RepositoryError::capture(RepositoryErrorKind::Conflict { expected_parent, actual_parent }));
        }
        let own = SnapshotInfo::from_snapshot_file(version).map_err(ICError::inject::<RepositoryErrorKind>)?;
        let listed = SnapshotInfo { parent_id: Some(parent.clone()), ..own };
        let kind = UpdateType::NewCommitUpdate { branch: branch.to_owned(), new_snap_id: version.id() };
        let added = info.add_snapshot(assets.spec_version(), listed, Some(branch), kind, None, backup, updates);
        let added = Arc::new(added.map_err(ICError::inject::<RepositoryErrorKind>)?);
        made = Some([info, Arc::clone(&added)]);
        Ok(added)
    };
    match assets.update_repo_info(session.config().repo_update_retries(), add).await {
        Ok(_) => Ok(made),
        Err(RepositoryError { kind: RepositoryErrorKind::Conflict { expected_parent, actual_parent }, context }) => {
            Err(SessionError { kind: SessionErrorKind::Conflict { expected_parent, actual_parent }, context })
        }
        Err(error) => Err(inject(error)),
    }
}

/// A session that has committed this version, as Icechunk's own commit leaves one: it reads nothing, and a writer renews it.
pub(crate) fn committed(session: &Session, assets: &Arc<AssetManager>, id: SnapshotId) -> Session {
    let settings = assets.storage_settings();
    let no_links = VirtualChunkResolver::new(std::iter::empty(), HashMap::new(), settings.clone());
    Session::create_readonly_session(
        session.config().clone(),
        settings.clone(),
        Arc::clone(assets.storage()),
        Arc::clone(assets),
        Arc::new(no_links),
        id,
    )
}

fn inject<E: Into<SessionErrorKind>>(error: ICError<E>) -> SessionError {
    error.inject()
}

/// Whether an array needs new manifests: chunks were set, or it was cut to a shape that its old manifests go beyond.
fn is_changed(node: &NodeSnapshot, changes: &ChangeSet) -> bool {
    let NodeData::Array { shape, manifests, .. } = &node.node_data else { return false };
    let whole = ManifestExtents::new(&vec![0; shape.len()], &shape.num_chunks().collect::<Vec<_>>());
    changes.has_chunk_changes(&node.id)
        || manifests.iter().any(|manifest| manifest.extents.overlap_with(&whole) != Overlap::Complete)
}

/// Writes the references of all changed arrays, except those in manifests that stay as they are, and notes in the nodes
/// where they are.
async fn write_manifests(
    old: &Snapshot,
    assets: &AssetManager,
    changes: &ChangeSet,
    nodes: &mut [NodeSnapshot],
) -> SessionResult<HashMap<ManifestId, ManifestFileInfo>> {
    let mut files = HashMap::new();
    let mut shared = Shared::default();
    let arrays = nodes.iter().filter(|node| is_changed(node, changes)).count();
    for node in nodes.iter_mut().filter(|node| is_changed(node, changes)) {
        let path = node.path.clone();
        let NodeData::Array { shape, manifests, .. } = &mut node.node_data else { continue };
        let whole = ManifestExtents::new(&vec![0; shape.len()], &shape.num_chunks().collect::<Vec<_>>());
        let mut changed: Vec<u32> = changes.changed_node_chunks(&node.id).map(row).collect();
        changed.sort_unstable();
        let payloads = changes.array_chunks_iterator(&node.id, &path).filter_map(|(_, payload)| payload.as_ref());
        let fresh = payloads.map(|payload| weight(1, data(payload))).sum();
        let share_of = |manifest: &ManifestRef| match old.manifest_info(&manifest.object_id) {
            Ok(Some(info)) => share(&manifest.extents, u64::from(info.num_chunk_refs), info.size_bytes),
            _ => 0, // reading it reports the error
        };
        let parts = divide(manifests, &whole, (&changed, fresh), share_of, arrays);
        let mut chunks = stored(old, assets, &path, &node.id, &parts.again).await?;
        chunks.retain(|chunk| changes.get_chunk_ref(&node.id, &chunk.coord).is_none());
        chunks.extend(changes.array_chunks_iterator(&node.id, &path).filter_map(|(coord, payload)| {
            Some(ChunkInfo { node: node.id.clone(), coord: coord.clone(), payload: payload.clone()? })
        }));
        chunks.retain(|chunk| shape.valid_chunk_coord(&chunk.coord));
        chunks.sort_by(|a, b| a.coord.cmp(&b.coord));
        *manifests = parts.kept;
        let rows: Vec<_> = chunks.iter().map(|chunk| (row(&chunk.coord), weight(1, data(&chunk.payload)))).collect();
        let mut chunks = chunks.into_iter();
        for run in runs(&rows, manifests) {
            let chunks: Vec<ChunkInfo> = chunks.by_ref().take(run.len()).collect();
            let Some(extents) = extents(&chunks) else { continue };
            let size = chunks.iter().map(size).sum();
            // An array refers to a manifest once: readers take all of its references there.
            let is_second = manifests.iter().any(|manifest| manifest.object_id == shared.id);
            if is_second || shared.size + size > SHARED {
                files.extend(shared.write(assets).await?);
            }
            manifests.push(ManifestRef { object_id: shared.id.clone(), extents });
            shared.add(path.clone(), chunks, size);
        }
    }
    files.extend(shared.write(assets).await?);
    Ok(files)
}

/// The references of one array in some manifests.
async fn stored(
    old: &Snapshot,
    assets: &AssetManager,
    path: &Path,
    node: &NodeId,
    manifests: &[ManifestRef],
) -> SessionResult<Vec<ChunkInfo>> {
    let mut chunks = Vec::new();
    for reference in manifests {
        let id = &reference.object_id;
        let size = old.manifest_info(id).map_err(inject)?.map_or(0, |info| info.size_bytes);
        let manifest = assets.fetch_manifest(path.as_str(), id, size).await.map_err(inject)?;
        for item in manifest.iter(node.clone()).map_err(inject)? {
            let (coord, payload) = item.map_err(inject)?;
            if !reference.extents.contains(&coord.0) {
                continue;
            }
            chunks.push(ChunkInfo { node: node.clone(), coord, payload });
        }
    }
    Ok(chunks)
}

/// A chunk's index along the first axis.
fn row(coord: &ChunkIndices) -> u32 {
    coord.0.first().copied().unwrap_or_default()
}

/// The least box around chunks; None if there are none.
fn extents(chunks: &[ChunkInfo]) -> Option<ManifestExtents> {
    let mut from = chunks.first()?.coord.0.clone();
    let mut to = from.clone();
    for chunk in chunks {
        for ((from, to), at) in from.iter_mut().zip(&mut to).zip(&chunk.coord.0) {
            (*from, *to) = ((*from).min(*at), (*to).max(*at));
        }
    }
    to.iter_mut().for_each(|last| *last += 1);
    Some(ManifestExtents::new(&from, &to))
}

fn size(chunk: &ChunkInfo) -> usize {
    let url = match &chunk.payload {
        ChunkPayload::Virtual(link) => link.location.url().len(),
        _ => 0,
    };
    REFERENCE + url + data(&chunk.payload)
}

/// Bytes of data in a reference.
fn data(payload: &ChunkPayload) -> usize {
    match payload {
        ChunkPayload::Inline(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The manifest that is being filled.
struct Shared {
    id: ManifestId,
    label: Option<Path>,
    chunks: Vec<ChunkInfo>,
    size: usize,
}

impl Default for Shared {
    fn default() -> Self {
        Self { id: ManifestId::random(), label: None, chunks: Vec::new(), size: 0 }
    }
}

impl Shared {
    fn add(&mut self, path: Path, mut chunks: Vec<ChunkInfo>, size: usize) {
        self.label.get_or_insert(path);
        self.chunks.append(&mut chunks);
        self.size += size;
    }

    /// Writes the manifest, if anything is in it, and begins the next one.
    async fn write(&mut self, assets: &AssetManager) -> SessionResult<Option<(ManifestId, ManifestFileInfo)>> {
        let Self { id, label, mut chunks, .. } = std::mem::take(self);
        chunks.sort_by(|a, b| (&a.node, &a.coord).cmp(&(&b.node, &b.coord)));
        let Some(manifest) = Manifest::from_sorted_vec(&id, chunks, None).map_err(inject)? else { return Ok(None) };
        let manifest = Arc::new(manifest);
        let label = label.as_ref().map_or("/", Path::as_str);
        let bytes = assets.write_manifest(label, Arc::clone(&manifest)).await.map_err(inject)?;
        Ok(Some((id, ManifestFileInfo::new(&manifest, bytes))))
    }
}

/// Adds the manifests that the version takes over from the one before.
fn keep_manifests(
    old: &Snapshot,
    nodes: &[NodeSnapshot],
    files: &mut HashMap<ManifestId, ManifestFileInfo>,
) -> SessionResult<()> {
    for node in nodes {
        let NodeData::Array { manifests, .. } = &node.node_data else { continue };
        for id in manifests.iter().map(|manifest| &manifest.object_id) {
            if !files.contains_key(id) {
                let missing =
                    || ICError::capture(IcechunkFormatErrorKind::ManifestInfoNotFound { manifest_id: id.clone() });
                let known = old.manifest_info(id).map_err(inject)?.ok_or_else(missing).map_err(inject)?;
                files.insert(id.clone(), known);
            }
        }
    }
    Ok(())
}

/// Rejects a version that would be older than its parent.
fn check_order(old: &Snapshot, new: &Snapshot) -> SessionResult<()> {
    let (parent, child) = (old.flushed_at().map_err(inject)?, new.flushed_at().map_err(inject)?);
    if child <= parent {
        return Err(SessionError::capture(SessionErrorKind::InvalidSnapshotTimestampOrdering { parent, child }));
    }
    Ok(())
}

/// Rejects a version if the store's clock differs: expiring orders versions by time.
async fn check_clock(assets: &AssetManager, version: &Snapshot) -> SessionResult<()> {
    let snapshot_time = version.flushed_at().map_err(inject)?;
    let object_store_time = assets.get_snapshot_last_modified(&version.id()).await.map_err(inject)?;
    if (object_store_time - snapshot_time).num_seconds().abs() > DRIFT_SECONDS {
        let kind = SessionErrorKind::InvalidSnapshotTimestamp { object_store_time, snapshot_time };
        return Err(SessionError::capture(kind));
    }
    Ok(())
}
