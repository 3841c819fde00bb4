//! The session: opening, versions, groups as roots, and services for the other modules.

use std::sync::Arc;

use icecore_catalog::{Commit, Repo, Snapshot, Storage};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use super::arrays::Arrays;
use super::limits::Limits;
use super::tree::{Node, Tree};
use crate::read::ArrayView;

/// A version of a repository, or of one group in it. Cheap to clone; many threads may use it.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    repo: Repo,
    snapshot: Snapshot,
    /// The group that is this session's root: `/`, or a path in the repository.
    top: String,
    tree: Tree,
    arrays: Arrays,
    limits: Limits,
}

impl Session {
    /// Opens a repository at a branch, tag, snapshot or time; None: `main`.
    ///
    /// # Errors
    /// `not-found` for an unknown repository or version; `format`, `corrupt`, `permission`, `io`, `network`.
    pub fn open(storage: &Storage, reference: Option<&str>, limits: Limits) -> Result<Self> {
        let repo = Repo::open(storage)?;
        let snapshot = repo.snapshot(reference)?;
        Self::new(repo, snapshot, "/", limits)
    }

    /// A session on an open repository; `top` is the path of the group that becomes its root.
    ///
    /// # Errors
    /// `not-found` if the group `top` does not exist.
    pub fn new(repo: Repo, snapshot: Snapshot, top: &str, limits: Limits) -> Result<Self> {
        let tree = Tree::new(&snapshot, top)?;
        let arrays = Arrays::new(limits.arrays);
        Ok(Self(Arc::new(Inner { repo, snapshot, top: top.to_owned(), tree, arrays, limits })))
    }

    /// The same repository at another version.
    ///
    /// # Errors
    /// `not-found` for an unknown version, or a version without this session's group.
    pub fn at(&self, reference: Option<&str>) -> Result<Self> {
        let snapshot = self.0.repo.snapshot(reference)?;
        Self::new(self.0.repo.clone(), snapshot, &self.0.top, self.0.limits.clone())
    }

    /// A group of this version as the root of its own session.
    ///
    /// # Errors
    /// `not-found` if the group does not exist.
    pub fn group(&self, path: &str) -> Result<Self> {
        Self::new(self.0.repo.clone(), self.0.snapshot.clone(), &self.absolute(path), self.0.limits.clone())
    }

    #[must_use]
    pub fn repo(&self) -> &Repo {
        &self.0.repo
    }

    #[must_use]
    pub fn snapshot_id(&self) -> &str {
        self.0.snapshot.id()
    }

    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// All groups and arrays of this version, except icecore's hidden ones.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.0.tree
    }

    /// The node at a path of this session.
    ///
    /// # Errors
    /// `not-found`.
    pub fn node(&self, path: &str) -> Result<&Node> {
        let found = self.0.tree.find(path).and_then(|number| self.0.tree.node(number));
        found.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("there is no group or array {path}"))
                .hint("list a group's children to see the paths that exist")
        })
    }

    /// The metadata document (`zarr.json`) of a node.
    ///
    /// # Errors
    /// `not-found`; `format` if it is not a JSON object.
    pub fn document(&self, node: &Node) -> Result<Map<String, Value>> {
        let Some(stored) = self.0.snapshot.node(&self.absolute(&node.path)) else { return Ok(super::tree::implied()) };
        serde_json::from_slice(&stored.zarr_json)
            .map_err(|e| Error::new(ErrorKind::Format, format!("{}: zarr.json is not a JSON object: {e}", node.path)))
    }

    /// Bytes of a node's metadata document.
    #[must_use]
    pub fn stored_bytes(&self, node: &Node) -> u64 {
        self.0.snapshot.node(&self.absolute(&node.path)).map_or(0, |stored| stored.zarr_json.len() as u64)
    }

    /// The commit of this session's version.
    ///
    /// # Errors
    /// `network`, `io`, `corrupt`.
    pub fn commit(&self) -> Result<Commit> {
        let found = self.0.repo.log(Some(self.0.snapshot.id()), Some(1))?.pop();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, "the version has no commit"))
    }

    /// Opens an array, or returns it from the cache.
    ///
    /// # Errors
    /// `not-found` for a group or a missing node; `format` or `unsupported` for its metadata.
    pub fn array(&self, path: &str) -> Result<Arc<ArrayView>> {
        self.0.arrays.get(path, || ArrayView::open(&self.0.repo, &self.0.snapshot, &self.absolute(path)))
    }

    fn absolute(&self, path: &str) -> String {
        match (self.0.top.as_str(), path) {
            ("/", path) => path.to_owned(),
            (top, "/") => top.to_owned(),
            (top, path) => format!("{top}{path}"),
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("url", &self.0.repo.url())
            .field("version", &self.snapshot_id())
            .field("top", &self.0.top)
            .finish_non_exhaustive()
    }
}
