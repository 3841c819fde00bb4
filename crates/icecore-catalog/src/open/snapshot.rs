//! A version of a repository: its nodes and their reference tables.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icechunk::format::{ManifestId, SnapshotId};
use icechunk::session::Session;
use icecore_grid::{Error, ErrorKind, Result};
use once_cell::race::OnceBox;
use tokio::sync::RwLock;

use crate::error;
use crate::nodes::identity::{self, LinkIdentity};
use crate::nodes::node::{ArrayEntry, HIDDEN_GROUP, Node};
use crate::nodes::table::{ChunkTable, Location, Object, Place};
use crate::nodes::{identity_batches, shared_manifests};
use crate::open::handle::Handle;
use crate::open::load::Version;
use crate::open::recent_versions::{self, Decoded};
use crate::open::repo_state::RepoState;
use crate::open::{load, object, precheck};
use crate::process::Mine;
use crate::runtime::{guard, run};
use crate::seal::Seal;
use crate::stores::storage::Root;

/// Number of tables that are loaded concurrently.
const CONCURRENT: usize = 64;

/// A version of a repository, or a writer's uncommitted state. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    id: String,
    nodes: Arc<[Node]>,
    origin: Origin,
    url: String,
    /// Identities that the next commit will record.
    pending: HashMap<String, LinkIdentity>,
    /// Created without a lock, because a forked child could inherit a locked lock.
    sources: OnceBox<HashMap<String, LinkIdentity>>,
    /// Manifests that several arrays use.
    shared: OnceBox<HashSet<ManifestId>>,
}

enum Origin {
    Committed { handle: Arc<Handle>, snapshot: Arc<icechunk::format::snapshot::Snapshot>, seal: Arc<Seal> },
    Live(Mine<(Arc<RepoState>, Arc<RwLock<Session>>)>),
}

fn version(shared: &RepoState, snapshot: &Arc<icechunk::format::snapshot::Snapshot>, seal: &Arc<Seal>) -> Version {
    let folder = match &shared.root {
        Root::Local(path) => Some(path.clone()),
        _ => None,
    };
    Version { repository: shared.repository(), snapshot: Arc::clone(snapshot), seal: Arc::clone(seal), folder }
}

/// Reads a version and its nodes.
async fn decode(shared: &RepoState, id: &SnapshotId) -> Result<Decoded> {
    let fetched = shared.repository().asset_manager().fetch_snapshot(id).await;
    let snapshot = fetched.map_err(error::repository)?;
    let nodes = guard(|| {
        precheck::check_name(&format!("snapshots/{id}"), &snapshot.id())?;
        snapshot.iter().map(|node| node.map(Node::from).map_err(error::format)).collect()
    });
    Ok(Decoded { snapshot, nodes: sorted(nodes?) })
}

fn sorted(mut nodes: Vec<Node>) -> Arc<[Node]> {
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    nodes.into()
}

impl Snapshot {
    /// Reads a committed version.
    pub(crate) async fn committed(handle: &Arc<Handle>, shared: &RepoState, id: SnapshotId) -> Result<Self> {
        let during = format!("{}: version {id}", shared.url);
        let seal = read_seal(shared, &id).map_err(error::during(&during))?;
        let key = match &shared.root {
            Root::Local(root) => recent_versions::Key::of(root, &id.to_string()),
            _ => None,
        };
        let Decoded { snapshot, nodes } = match key.as_ref().and_then(recent_versions::get) {
            Some(known) => known,
            None => {
                let decoded = decode(shared, &id).await.map_err(error::during(&during))?;
                if let Some(key) = key {
                    recent_versions::put(key, &decoded);
                }
                decoded
            }
        };
        let origin = Origin::Committed { handle: Arc::clone(handle), snapshot, seal: Arc::new(seal) };
        Ok(Self::new(&shared.url, id.to_string(), nodes, origin, HashMap::new()))
    }

    /// The state that a writer sees.
    pub(crate) fn live(
        shared: Arc<RepoState>,
        id: String,
        nodes: Vec<Node>,
        session: Arc<RwLock<Session>>,
        pending: HashMap<String, LinkIdentity>,
    ) -> Self {
        let url = shared.url.clone();
        let origin = Origin::Live(Mine::new((shared, session)));
        Self::new(&url, id, sorted(nodes), origin, pending)
    }

    fn new(url: &str, id: String, nodes: Arc<[Node]>, origin: Origin, pending: HashMap<String, LinkIdentity>) -> Self {
        let (sources, shared) = (OnceBox::new(), OnceBox::new());
        Self(Arc::new(Inner { id, nodes, origin, url: url.to_owned(), pending, sources, shared }))
    }

    /// The snapshot's id; each uncommitted state has a unique one.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Whether it is a committed version.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(self.0.origin, Origin::Committed { .. })
    }

    /// All groups and arrays, sorted by path, including [`HIDDEN_GROUP`].
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.0.nodes
    }

    /// The node at this path.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<&Node> {
        self.0.nodes.binary_search_by(|node| node.path.as_str().cmp(path)).ok().and_then(|at| self.0.nodes.get(at))
    }

    /// The groups and arrays directly in a group, sorted by path.
    pub fn members<'a>(&'a self, group: &str) -> impl Iterator<Item = &'a Node> + use<'a> {
        let prefix = format!("{}/", group.trim_end_matches('/'));
        let nodes = &self.0.nodes;
        let below = nodes.get(nodes.partition_point(|node| node.path.as_str() < prefix.as_str())..).unwrap_or_default();
        let inside = |name: &str| !name.is_empty() && !name.contains('/');
        below
            .iter()
            .map_while(move |node| node.path.strip_prefix(prefix.as_str()).map(|name| (node, inside(name))))
            .filter_map(|(node, is_member)| is_member.then_some(node))
    }

    /// The identity of a linked file at link time; None if it was not recorded.
    ///
    /// # Errors
    /// The errors of reading the list of linked files.
    pub fn source_identity(&self, url: &str) -> Result<Option<LinkIdentity>> {
        Ok(self.known_sources()?.get(url).cloned())
    }

    /// The URLs of all files that this version has linked, sorted.
    ///
    /// # Errors
    /// The errors of reading the list of linked files.
    pub fn sources(&self) -> Result<Vec<String>> {
        let mut urls: Vec<String> = self.known_sources()?.keys().cloned().collect();
        urls.sort_unstable();
        Ok(urls)
    }

    fn known_sources(&self) -> Result<&HashMap<String, LinkIdentity>> {
        self.0.sources.get_or_try_init(|| self.identities().map(Box::new))
    }

    fn identities(&self) -> Result<HashMap<String, LinkIdentity>> {
        let mut found = self.node(HIDDEN_GROUP).map(|node| identity::parse(&node.zarr_json)).unwrap_or_default();
        if self.node(identity_batches::PATH).is_some() {
            let (shared, table) = (self.shared()?, self.table(identity_batches::PATH)?);
            for (_, place) in table.iter() {
                let bytes = match place {
                    Place::Missing => continue,
                    Place::Inline(bytes) => bytes,
                    Place::Range { object, offset, length } => match table.objects.get(object as usize) {
                        Some(Object { location: Location::Native(name), .. }) => {
                            object::read(shared, name, offset, length)?
                        }
                        _ => continue, // our own lists are never links
                    },
                };
                found.extend(identity_batches::decode(&bytes)?);
            }
        }
        found.extend(self.0.pending.clone());
        Ok(found)
    }

    /// The reference table of an array. Cached by (snapshot, path), except for uncommitted states.
    ///
    /// # Errors
    /// `not-found` or `mismatch` if `path` is not an array; `corrupt`, `network`, … if its references can't be read.
    pub fn table(&self, path: &str) -> Result<Arc<ChunkTable>> {
        self.tables(&[path])?.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "no table was loaded"))
    }

    /// The number of chunk references in this version's manifests, and the bytes of the manifests.
    ///
    /// # Errors
    /// Mismatch for an uncommitted version, whose manifests are not written yet.
    pub fn references(&self) -> Result<(u64, u64)> {
        let Origin::Committed { snapshot, .. } = &self.0.origin else {
            let message = format!("{}: an uncommitted version has no manifests yet", self.0.url);
            return Err(Error::new(ErrorKind::Mismatch, message));
        };
        guard(|| {
            snapshot.manifest_files().try_fold((0, 0), |(count, bytes), file| {
                let file = file.map_err(error::format)?;
                Ok((count + u64::from(file.num_chunk_refs), bytes + file.size_bytes))
            })
        })
    }

    /// The whole tables of several arrays in the requested order, loaded concurrently.
    ///
    /// # Errors
    /// As for [`Snapshot::table`].
    pub fn tables(&self, paths: &[&str]) -> Result<Vec<Arc<ChunkTable>>> {
        let shared = self.shared()?;
        run(futures::stream::iter(paths.to_vec())
            .map(|path| self.load(shared, path))
            .buffered(CONCURRENT)
            .try_collect())
    }

    /// Whether [`Snapshot::tables_with`] may read less than the whole table of an array.
    #[must_use]
    pub fn is_divided(&self, path: &str) -> bool {
        self.is_committed() && self.node(path).and_then(|node| node.array.as_ref()).is_some_and(ArrayEntry::is_divided)
    }

    /// The tables of several arrays, each with at least the references of its chunks (flat numbers), and whether it is
    /// whole. Of an array of several manifests only those are read that may hold these references. In the requested
    /// order, loaded concurrently.
    ///
    /// # Errors
    /// As for [`Snapshot::table`].
    pub fn tables_with(&self, needs: &[(&str, &[u64])]) -> Result<Vec<(Arc<ChunkTable>, bool)>> {
        let shared = self.shared()?;
        run(futures::stream::iter(needs.to_vec())
            .map(|(path, flats)| self.load_with(shared, path, flats))
            .buffered(CONCURRENT)
            .try_collect())
    }

    fn shared(&self) -> Result<&Arc<RepoState>> {
        match &self.0.origin {
            Origin::Committed { handle, .. } => handle.shared(),
            Origin::Live(live) => Ok(&live.of("an uncommitted version")?.0),
        }
    }

    async fn load_with(&self, shared: &RepoState, path: &str, flats: &[u64]) -> Result<(Arc<ChunkTable>, bool)> {
        let part = self.node(path).and_then(|node| node.array.as_ref()).and_then(|entry| entry.part(flats));
        let (Origin::Committed { snapshot, seal, .. }, Some(part)) = (&self.0.origin, part) else {
            return Ok((self.load(shared, path).await?, true));
        };
        if let Some(table) = shared.cache.get(&self.0.id, path) {
            return Ok((table, true));
        }
        let names = part.manifests.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let key = format!("{path}\0{names}"); // no path has a zero byte
        if let Some(table) = shared.cache.get(&self.0.id, &key) {
            return Ok((table, false));
        }
        let table = Arc::new(self.fill(shared, version(shared, snapshot, seal), path, part).await?);
        shared.cache.put(&self.0.id, &key, &table);
        Ok((table, false))
    }

    async fn load(&self, shared: &RepoState, path: &str) -> Result<Arc<ChunkTable>> {
        let inner = &*self.0;
        let node = self
            .node(path)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{}: there is no array {path}", inner.url)))?;
        let Some(entry) = &node.array else {
            return Err(Error::new(ErrorKind::Mismatch, format!("{}: {path} is a group, not an array", inner.url)));
        };
        match &inner.origin {
            Origin::Live(live) => {
                let (_, session) = live.of("an uncommitted version")?;
                Ok(Arc::new(load::live(&shared.repository(), &*session.read().await, path).await?))
            }
            Origin::Committed { snapshot, seal, .. } => {
                if let Some(table) = shared.cache.get(&inner.id, path) {
                    return Ok(table);
                }
                let table = self.fill(shared, version(shared, snapshot, seal), path, entry.clone()).await?;
                let table = Arc::new(table);
                shared.cache.put(&inner.id, path, &table);
                Ok(table)
            }
        }
    }

    /// Loads the references of an array from its manifests.
    async fn fill(&self, shared: &RepoState, version: Version, path: &str, entry: ArrayEntry) -> Result<ChunkTable> {
        let several = self.0.shared.get_or_init(|| Box::new(shared_manifests::shared(&self.0.nodes)));
        if entry.manifests.iter().any(|id| several.contains(id)) {
            return load::from_shared(version, path, &entry, (&shared.manifests, several)).await;
        }
        load::committed(version, path.to_owned(), entry).await
    }
}

/// The seal of a version in a directory, after the snapshot's file was checked.
fn read_seal(shared: &RepoState, id: &SnapshotId) -> Result<Seal> {
    let Root::Local(root) = &shared.root else { return Ok(Seal::default()) };
    let seal = Seal::load(root, &id.to_string());
    seal.check_file(root, &format!("snapshots/{id}"))?;
    Ok(seal)
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("url", &self.0.url)
            .field("id", &self.0.id)
            .field("nodes", &self.0.nodes.len())
            .finish_non_exhaustive()
    }
}
