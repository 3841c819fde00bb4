//! One version of a repository: its nodes and their reference tables.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use futures::{StreamExt, TryStreamExt};
use icechunk::format::SnapshotId;
use icechunk::session::Session;
use icecore_grid::{Error, ErrorKind, Result};
use tokio::sync::RwLock;

use crate::identity::{self, LinkIdentity};
use crate::load::Version;
use crate::node::{HIDDEN_GROUP, Node};
use crate::runtime::{guard, run};
use crate::seal::Seal;
use crate::shared::Shared;
use crate::storage::Root;
use crate::table::ChunkTable;
use crate::{error, load};

/// Tables that are loaded side by side.
const CONCURRENT: usize = 64;

/// A version of a repository, or what a writer would commit. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    id: String,
    nodes: Vec<Node>,
    origin: Origin,
    shared: Arc<Shared>,
    sources: OnceLock<HashMap<String, LinkIdentity>>,
}

enum Origin {
    Committed { snapshot: Arc<icechunk::format::snapshot::Snapshot>, seal: Arc<Seal> },
    Live(Arc<RwLock<Session>>),
}

impl Snapshot {
    /// Reads a committed version.
    pub(crate) async fn committed(shared: Arc<Shared>, id: SnapshotId) -> Result<Self> {
        let during = format!("{}: version {id}", shared.url);
        let seal = read_seal(&shared, &id).map_err(error::during(&during))?;
        let fetched = shared.repository().asset_manager().fetch_snapshot(&id).await;
        let snapshot = fetched.map_err(error::repository).map_err(error::during(&during))?;
        let nodes = guard(|| snapshot.iter().map(|node| node.map(Node::from).map_err(error::format)).collect());
        let nodes = nodes.map_err(error::during(&during))?;
        let origin = Origin::Committed { snapshot, seal: Arc::new(seal) };
        Ok(Self::new(shared, id.to_string(), nodes, origin, OnceLock::new()))
    }

    /// What a writer sees.
    pub(crate) fn live(
        shared: Arc<Shared>,
        id: String,
        nodes: Vec<Node>,
        session: Arc<RwLock<Session>>,
        sources: HashMap<String, LinkIdentity>,
    ) -> Self {
        Self::new(shared, id, nodes, Origin::Live(session), OnceLock::from(sources))
    }

    fn new(
        shared: Arc<Shared>,
        id: String,
        mut nodes: Vec<Node>,
        origin: Origin,
        sources: OnceLock<HashMap<String, LinkIdentity>>,
    ) -> Self {
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        Self(Arc::new(Inner { id, nodes, origin, shared, sources }))
    }

    /// The snapshot's id; a writer's uncommitted state has one that no other state has.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// All groups and arrays, sorted by path; [`HIDDEN_GROUP`] too.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.0.nodes
    }

    /// The node at exactly this path.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<&Node> {
        self.0.nodes.binary_search_by(|node| node.path.as_str().cmp(path)).ok().and_then(|at| self.0.nodes.get(at))
    }

    /// What a linked file was when it was linked; None when that was not recorded.
    #[must_use]
    pub fn source_identity(&self, url: &str) -> Option<LinkIdentity> {
        let sources = self
            .0
            .sources
            .get_or_init(|| self.node(HIDDEN_GROUP).map(|node| identity::parse(&node.zarr_json)).unwrap_or_default());
        sources.get(url).cloned()
    }

    /// Where the chunks of an array lie. Cached by (snapshot, path), except for uncommitted states.
    ///
    /// # Errors
    /// NotFound or Mismatch when there is no array at the path; Corrupt, Network, … when its references cannot be read.
    pub fn table(&self, path: &str) -> Result<Arc<ChunkTable>> {
        self.tables(&[path])?.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "no table was loaded"))
    }

    /// The tables of several arrays in the order asked for, loaded side by side.
    ///
    /// # Errors
    /// As for [`Snapshot::table`].
    pub fn tables(&self, paths: &[&str]) -> Result<Vec<Arc<ChunkTable>>> {
        run(futures::stream::iter(paths.to_vec()).map(|path| self.load(path)).buffered(CONCURRENT).try_collect())
    }

    async fn load(&self, path: &str) -> Result<Arc<ChunkTable>> {
        let inner = &*self.0;
        let node = self.node(path).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("{}: there is no array {path}", inner.shared.url))
        })?;
        let Some(entry) = &node.array else {
            return Err(Error::new(
                ErrorKind::Mismatch,
                format!("{}: {path} is a group, not an array", inner.shared.url),
            ));
        };
        let repository = inner.shared.repository();
        match &inner.origin {
            Origin::Live(session) => Ok(Arc::new(load::live(&repository, &*session.read().await, path).await?)),
            Origin::Committed { snapshot, seal } => {
                if let Some(table) = inner.shared.cache.get(&inner.id, path) {
                    return Ok(table);
                }
                let folder = match &inner.shared.root {
                    Root::Local(path) => Some(path.clone()),
                    _ => None,
                };
                let version = Version { repository, snapshot: Arc::clone(snapshot), seal: Arc::clone(seal), folder };
                let table = Arc::new(load::committed(version, path.to_owned(), entry.clone()).await?);
                inner.shared.cache.put(&inner.id, path, &table);
                Ok(table)
            }
        }
    }
}

/// The checksums of a version in a folder, after a look at the snapshot's file.
fn read_seal(shared: &Shared, id: &SnapshotId) -> Result<Seal> {
    let Root::Local(root) = &shared.root else { return Ok(Seal::default()) };
    let seal = Seal::load(root, &id.to_string());
    seal.check_file(root, &format!("snapshots/{id}"))?;
    Ok(seal)
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("url", &self.0.shared.url)
            .field("id", &self.0.id)
            .field("nodes", &self.0.nodes.len())
            .finish_non_exhaustive()
    }
}
