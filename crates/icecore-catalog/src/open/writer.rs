//! Changes to a repository that become visible all at once.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use icechunk::Store;
use icechunk::format::ChunkIndices;
use icechunk::format::manifest::{ChunkPayload, ChunkRef};
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icechunk::session::{Session, SessionErrorKind};
use icechunk::virtual_chunks::VirtualChunkContainer;
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value};
use tokio::sync::RwLock;

use crate::nodes::chunk_objects::{ChunkPlace, ObjectId};
use crate::nodes::identity::LinkIdentity;
use crate::nodes::node::{self, HIDDEN_GROUP, Node};
use crate::open::repo_state::RepoState;
use crate::open::snapshot::Snapshot;
use crate::open::{lock, object};
use crate::runtime::run;
use crate::stores::storage::Root;
use crate::{error, open};

/// Collects changes to one branch and commits them, any number of times. All functions may be called from many threads.
/// Functions that change the tree are serialised; [`Writer::put_object`] does not wait for them.
pub struct Writer {
    pub(crate) shared: Arc<RepoState>,
    pub(crate) branch: String,
    pub(crate) session: Arc<RwLock<Session>>,
    pub(crate) store: Store,
    pending: Mutex<Pending>,
}

/// Changes that are resolved at the commit, because another writer may have made the same ones in the meantime.
#[derive(Default)]
pub(crate) struct Pending {
    /// New groups and their attributes.
    pub groups: BTreeMap<String, Map<String, Value>>,
    /// Identities of linked files.
    pub sources: BTreeMap<String, LinkIdentity>,
    /// Prefixes that the repository did not link to before.
    pub containers: Vec<VirtualChunkContainer>,
    /// Arrays whose references Icechunk will merge with those of the parent version.
    pub touched: HashSet<String>,
    /// References that were set.
    pub references: usize,
    /// Objects that chunks refer to.
    pub objects: HashSet<ObjectId>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<RepoState>, branch: &str) -> Result<Self> {
        let during = error::during(format!("{}: writing to {branch}", shared.url));
        let session = run(async { shared.repository().writable_session(branch).await.map_err(error::repository) })
            .map_err(during)?;
        let session = Arc::new(RwLock::new(session));
        let store = Store::from_session_and_config(Arc::clone(&session), 1);
        Ok(Self { shared, branch: branch.to_owned(), session, store, pending: Mutex::default() })
    }

    /// Locks the pending changes. After a commit it renews the session at the branch's newest version.
    pub(crate) fn begin(&self) -> Result<MutexGuard<'_, Pending>> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        run(async {
            let mut session = self.session.write().await;
            if session.read_only() {
                *session = self.shared.repository().writable_session(&self.branch).await.map_err(error::repository)?;
            }
            Ok(())
        })?;
        Ok(pending)
    }

    /// As [`crate::Repo::read_object`], for the repository that is being written.
    ///
    /// # Errors
    /// Corrupt if the object is missing or shorter.
    pub fn read_object(&self, name: &str, offset: u64, length: u64) -> Result<Bytes> {
        object::read(&self.shared, name, offset, length)
    }

    /// The id of the version that the changes are based on: after a commit the branch's newest.
    ///
    /// # Errors
    /// The errors of reading the repository.
    pub fn base(&self) -> Result<String> {
        let _turn = self.begin()?;
        run(async { Ok(self.session.read().await.snapshot_id().to_string()) })
    }

    /// An array's metadata document as a commit would store it now.
    ///
    /// # Errors
    /// Invalid for a bad path; the errors of reading the repository.
    pub fn array_document(&self, path: &str) -> Result<Option<Bytes>> {
        let _turn = self.begin()?;
        Ok(self.find(path)?.filter(|node| node.node_data != NodeData::Group).map(|node| node.user_data))
    }

    /// All nodes as a commit would store them now.
    pub(crate) fn all_nodes(&self, pending: &Pending) -> Result<Vec<Node>> {
        let committed = run(async { list(&*self.session.read().await).await })?;
        let mut nodes: BTreeMap<String, Node> =
            committed.into_iter().map(Node::from).map(|n| (n.path.clone(), n)).collect();
        for (path, attributes) in &pending.groups {
            nodes.entry(path.clone()).or_insert_with(|| Node::group(path, &Value::Object(attributes.clone())));
        }
        let implied: Vec<String> = nodes.keys().flat_map(|path| node::parents(path)).map(str::to_owned).collect();
        for path in implied.into_iter().chain((!nodes.is_empty()).then(|| "/".to_owned())) {
            nodes.entry(path.clone()).or_insert_with(|| Node::group(&path, &Value::Object(Map::new())));
        }
        Ok(nodes.into_values().collect())
    }

    /// Stores bytes that chunks can then refer to, without waiting for other threads' changes. In a directory the
    /// object appears whole or not at all.
    ///
    /// # Errors
    /// Io (also for a full disk), Permission, Network; NotFound if the repository was removed in the meantime.
    pub fn put_object(&self, bytes: Bytes) -> Result<ObjectId> {
        let id = ObjectId::random();
        let during = error::during(format!("{}: writing {} bytes", self.shared.url, bytes.len()));
        let repository = self.shared.repository();
        run(async {
            repository.asset_manager().write_chunk("/", &[], id.chunk_id(), bytes).await.map_err(error::repository)
        })
        .map_err(during)?;
        if let Root::Local(folder) = &self.shared.root
            && !open::is_repository(folder)
        {
            object::take_back(folder, &format!("chunks/{}", id.chunk_id()));
            return Err(lock::gone(&folder.join(lock::FILE)));
        }
        Ok(id)
    }

    /// Returns when all stored objects are on disk, for a commit by another process. Object stores need no call.
    ///
    /// # Errors
    /// Io.
    pub fn synchronise(&self) -> Result<()> {
        self.shared.synchronise()
    }

    /// Sets the locations of chunks, by their flat index in C order over the array's chunk grid.
    ///
    /// # Errors
    /// NotFound; Mismatch for a group; Invalid if a chunk is outside the grid or has no bytes.
    pub fn set_chunks(&self, path: &str, chunks: &[(u64, ChunkPlace)]) -> Result<()> {
        writable(path)?;
        let at = node::path(path)?;
        let mut pending = self.begin()?;
        pending.touched.insert(path.to_owned());
        pending.references += chunks.len();
        let counts = self.counts(path)?;
        let mut references = Vec::with_capacity(chunks.len());
        for (flat, place) in chunks {
            if let ChunkPlace::Object { id, .. } = place {
                pending.objects.insert(*id);
            }
            references.push((coordinates(path, *flat, &counts)?, payload(path, *flat, place)?));
        }
        run(async {
            let mut session = self.session.write().await;
            for (coords, payload) in references {
                session.set_chunk_ref(at.clone(), coords, payload).await.map_err(error::session)?;
            }
            Ok(())
        })
    }

    /// The state that a commit would store now. It may or may not show later changes.
    ///
    /// # Errors
    /// The errors of reading the repository.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let pending = self.begin()?;
        let nodes = self.all_nodes(&pending)?;
        let sources = pending.sources.iter().map(|(url, identity)| (url.clone(), identity.clone())).collect();
        let base = run(async { Ok(self.session.read().await.snapshot_id().to_string()) })?;
        // The counter is global to the process: an id derived from the writer (its address, say) could be reused by the
        // next writer, and decoded chunks are cached under this id.
        static STATES: AtomicU64 = AtomicU64::new(0);
        let id = format!("{base}+{}", STATES.fetch_add(1, Ordering::Relaxed));
        Ok(Snapshot::live(Arc::clone(&self.shared), id, nodes, Arc::clone(&self.session), sources))
    }

    /// Chunks along each axis of an array.
    pub(crate) fn counts(&self, path: &str) -> Result<Vec<u32>> {
        let found =
            self.find(path)?.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no array {path}")))?;
        match Node::from(found).array {
            Some(entry) => Ok(entry.counts),
            None => Err(Error::new(ErrorKind::Mismatch, format!("{path} is a group, not an array"))),
        }
    }

    /// The node at a path, as Icechunk has it: without the groups that are resolved at the commit.
    pub(crate) fn find(&self, path: &str) -> Result<Option<NodeSnapshot>> {
        let at = node::path(path)?;
        run(async {
            match self.session.read().await.get_node(&at).await {
                Ok(node) => Ok(Some(node)),
                Err(e) if matches!(e.kind, SessionErrorKind::NodeNotFound { .. }) => Ok(None),
                Err(e) => Err(error::session(e)),
            }
        })
    }
}

/// All nodes of a session.
pub(crate) async fn list(session: &Session) -> Result<Vec<NodeSnapshot>> {
    let nodes = session.list_nodes(&icechunk::format::Path::root()).await.map_err(error::session)?;
    nodes.map(|node| node.map_err(error::session)).collect()
}

/// A chunk's coordinates, if the index is inside the grid.
pub(crate) fn coordinates(path: &str, flat: u64, counts: &[u32]) -> Result<ChunkIndices> {
    let mut rest = flat;
    let mut coords: Vec<u32> = counts
        .iter()
        .rev()
        .map(|count| {
            let count = u64::from(*count).max(1);
            let index = rest % count;
            rest /= count;
            index as u32 // below a count that is a u32
        })
        .collect();
    coords.reverse();
    if rest > 0 || counts.contains(&0) {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!("{path} has a grid of {counts:?} chunks and no chunk number {flat}"),
        ));
    }
    Ok(ChunkIndices(coords))
}

fn payload(path: &str, flat: u64, place: &ChunkPlace) -> Result<Option<ChunkPayload>> {
    let bad = |what: &str| Err(Error::new(ErrorKind::Invalid, format!("{path}: chunk {flat} {what}")));
    match place {
        ChunkPlace::Missing => Ok(None),
        ChunkPlace::Inline(bytes) if bytes.is_empty() => bad("has no bytes"),
        ChunkPlace::Inline(bytes) => Ok(Some(ChunkPayload::Inline(bytes.clone()))),
        ChunkPlace::Object { length: 0, .. } => bad("has no bytes"),
        ChunkPlace::Object { offset, length, .. } if offset.checked_add(*length).is_none() => {
            bad("ends beyond any object")
        }
        ChunkPlace::Object { id, offset, length } => {
            Ok(Some(ChunkPayload::Ref(ChunkRef { id: id.chunk_id(), offset: *offset, length: *length })))
        }
    }
}

/// Users may not write to the hidden group.
pub(crate) fn writable(path: &str) -> Result<()> {
    node::path(path)?;
    if node::is_within(path, HIDDEN_GROUP) {
        return Err(Error::new(ErrorKind::Invalid, format!("{path}: {HIDDEN_GROUP} is kept by icecore itself")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_indexes_become_coordinates() {
        assert_eq!(coordinates("/a", 7, &[3, 4]).unwrap().0, [1, 3]);
        assert_eq!(coordinates("/a", 0, &[]).unwrap().0, [0u32; 0]);
        assert_eq!(coordinates("/a", 12, &[3, 4]).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(coordinates("/a", 0, &[3, 0]).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(coordinates("/a", 1, &[]).unwrap_err().kind, ErrorKind::Invalid);
    }
}
