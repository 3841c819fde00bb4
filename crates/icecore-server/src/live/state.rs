//! Objects and writer of a domain, and the immutable copy for readers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use icecore::cancel;
use icecore::catalog::{Repo, Storage};
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Limits, Session};
use icecore::write::{WriteOptions, Writing};
use serde_json::Value;

use crate::domains::ids::{self, Ids};
use crate::domains::{Collection, Domain, Model, Object, domain};
use crate::http::error::Answer;
use crate::kept::{Kept, Texts};
use crate::unique::{now, random};

/// Reads the objects of a domain.
pub(crate) type Loader = fn(&Domain) -> Answer<Model>;

/// The objects, the changed ones, and the unlinked ones: the state before a request.
pub(super) type Before = (Model, HashSet<String>, HashMap<String, Instant>);

pub(crate) struct State {
    name: String,
    pub(super) repo: Repo,
    /// The version that the changes are based on.
    pub(super) base: String,
    pub(crate) model: Model,
    pub(super) session: Session,
    pub(super) writing: Option<Writing>,
    /// Objects whose documents differ from the stored ones.
    pub(super) dirty: HashSet<String>,
    /// Whether values or nodes have changed since the session was opened.
    pub(super) stale: bool,
    pub(super) has_written: bool,
    /// Objects without links, with the time at which they lost the last one.
    pub(super) unlinked: HashMap<String, Instant>,
    /// Documents of arrays that the current request changed, as they were before: the oldest first.
    pub(super) replaced: Vec<(String, Vec<u8>)>,
    /// Number of commits since the domain was opened.
    pub(super) commits: u32,
    revision: u64,
    salt: u64,
    pub(super) picture: Option<Arc<Domain>>,
    pub(super) touched: Instant,
    pub(super) looked: Instant,
}

impl State {
    pub fn open(name: &str, storage: &Storage, loader: Loader) -> Answer<Self> {
        let session = Session::open(storage, None, Limits::default())?;
        let domain = domain(name, name, session.clone())?;
        let model = loader(&domain)?;
        Ok(Self {
            name: name.to_owned(),
            repo: session.repo().clone(),
            base: session.snapshot_id().to_owned(),
            model,
            session,
            writing: None,
            dirty: HashSet::new(),
            stale: false,
            has_written: false,
            unlinked: HashMap::new(),
            replaced: Vec::new(),
            commits: 0,
            revision: 0,
            salt: random(),
            picture: None,
            touched: Instant::now(),
            looked: Instant::now(),
        })
    }

    pub fn has_changes(&self) -> bool {
        self.has_written || !self.dirty.is_empty()
    }

    /// Whether another program has committed since.
    pub(super) fn moved(&self) -> Result<bool> {
        Ok(self.repo.snapshot(None)?.id() != self.base)
    }

    pub(super) fn changed(&mut self) {
        self.picture = None;
        self.revision += 1;
        self.touched = Instant::now();
    }

    /// The state before a request.
    pub(super) fn begin(&mut self) -> Before {
        self.replaced.clear();
        (self.model.clone(), self.dirty.clone(), self.unlinked.clone())
    }

    /// Reverts the changes of a failed request. Nodes that it created for older objects are kept, its own are removed.
    pub(super) fn undo(&mut self, before: Before) -> Result<()> {
        let placed: Vec<(String, Option<String>)> =
            self.model.objects().map(|object| (object.id.clone(), object.path.clone())).collect();
        (self.model, self.dirty, self.unlinked) = before;
        for (id, path) in placed {
            let Some(path) = path else { continue };
            if let Some(object) = self.model.get_mut(&id) {
                if object.path.is_none() {
                    object.path = Some(path);
                    self.dirty.insert(id);
                }
            } else if self.writing()?.writer().exists(&path)? {
                self.writing()?.delete(&path)?;
                self.stale = true;
            }
        }
        // An unlinked object whose node the request has removed cannot come back.
        let paths = self.unlinked.keys().filter_map(|id| Some((id.clone(), self.model.get(id)?.path.clone()?)));
        for (id, path) in paths.collect::<Vec<_>>() {
            if !self.writing()?.writer().exists(&path)? {
                self.model.remove(&id);
                self.unlinked.remove(&id);
                self.dirty.remove(&id);
            }
        }
        for (path, document) in std::mem::take(&mut self.replaced).into_iter().rev() {
            self.writing()?.writer().update_array(&path, &document)?;
            self.stale = true;
        }
        Ok(())
    }

    /// An immutable copy for readers.
    pub fn current(&mut self) -> Answer<Arc<Domain>> {
        if let Some(domain) = self.picture.as_ref().filter(|_| !self.stale) {
            return Ok(Arc::clone(domain));
        }
        self.refresh()?;
        let domain = Arc::new(Domain {
            name: self.name.clone(),
            session: self.session.clone(),
            ids: Ids::stored(&self.model.root),
            time: self.model.get(&self.model.root).map_or(0.0, |root| root.modified),
            tag: format!("{}-{:x}-{}", self.base, self.salt, self.revision),
            is_marked: true,
            model: OnceLock::from(Arc::new(self.model.clone())),
            in_file: None,
            file_objects: OnceLock::new(),
            objects: OnceLock::new(),
            datasets: Kept::default(),
            texts: Texts::default(),
        });
        self.picture = Some(Arc::clone(&domain));
        Ok(domain)
    }

    /// A session that sees the uncommitted writes.
    pub(super) fn refresh(&mut self) -> Result<()> {
        if !self.stale {
            return Ok(());
        }
        if let Some(writing) = &self.writing {
            writing.flush()?;
            let snapshot = writing.writer().snapshot()?;
            self.session = Session::new(self.repo.clone(), snapshot, "/", Limits::default())?;
        }
        self.stale = false;
        self.changed();
        Ok(())
    }

    /// The writer, started by the first change.
    pub(super) fn writing(&mut self) -> Result<&Writing> {
        if self.writing.is_none() {
            let writer = self.repo.writer("main")?;
            self.writing = Some(Writing::new(Arc::new(writer), WriteOptions::default()));
        }
        self.writing.as_ref().ok_or_else(|| Error::new(ErrorKind::Internal, "there is no writer"))
    }

    /// An object, for changing.
    pub fn object(&mut self, collection: Collection, id: &str) -> Answer<&mut Object> {
        self.model.object(collection, id)?;
        let time = now();
        self.dirty.insert(id.to_owned());
        let object = self.model.get_mut(id).ok_or_else(|| ids::unknown(id))?;
        object.modified = time;
        Ok(object)
    }

    /// Initialises a new domain: its root group's id, owner and properties.
    pub fn found(&mut self, root: &str, owner: &str, properties: Option<Value>) {
        let old = self.model.root.clone();
        let time = now();
        let mut metadata = serde_json::Map::new();
        if let Some(properties) = properties {
            metadata.insert("creationProperties".to_owned(), properties);
        }
        let (attributes, links) = Default::default();
        let collection = Collection::Groups;
        let path = Some("/".to_owned());
        let object = Object {
            id: root.to_owned(),
            collection,
            created: time,
            modified: time,
            metadata,
            attributes,
            links,
            path,
            marked: true,
        };
        self.model = Model::new(object);
        self.model.owner = owner.to_owned();
        self.dirty.remove(&old);
        self.dirty.insert(root.to_owned());
    }

    /// The node of an object, created if needed.
    pub fn placed_path(&mut self, id: &str) -> Answer<String> {
        self.place(id)
    }

    /// A session that sees the writes so far.
    pub fn session(&self) -> Session {
        self.session.clone()
    }

    /// Adds an object.
    ///
    /// # Errors
    /// `exists`, `invalid`.
    pub fn add(
        &mut self,
        collection: Collection,
        id: Option<&str>,
        metadata: serde_json::Map<String, Value>,
    ) -> Answer<String> {
        let id = match id {
            Some(id) => {
                ids::check(collection, id, &self.model.root)?;
                id.to_owned()
            }
            None => ids::new_id(collection, &self.model.root, random()),
        };
        if self.model.get(&id).is_some() {
            return Err(Error::new(ErrorKind::Exists, format!("{id} exists already")).hint("leave out the id").into());
        }
        let time = now();
        let (attributes, links) = Default::default();
        let object = Object {
            id: id.clone(),
            collection,
            created: time,
            modified: time,
            metadata,
            attributes,
            links,
            path: None,
            marked: true,
        };
        self.model.insert(object);
        self.dirty.insert(id.clone());
        Ok(id)
    }

    /// Adds a link; false if it existed.
    pub fn link(&mut self, group: &str, title: &str, mut link: Value) -> Answer<bool> {
        cancel::check()?;
        if title.is_empty() || title.contains('/') {
            return Err(crate::http::error::Failure::invalid(
                format!("the link's title {title:?}"),
                "a name without slashes",
            ));
        }
        if let Some(id) = link.get("id").and_then(Value::as_str) {
            let target = self.model.get(id).ok_or_else(|| ids::unknown(id))?.id.clone();
            self.unlinked.remove(&target);
            self.mark(&target);
        }
        let group = self.object(Collection::Groups, group)?;
        if let Some(there) = group.links.get(title) {
            let same = ["class", "id", "h5path", "file"].iter().all(|key| there.get(*key) == link.get(*key));
            if same {
                return Ok(false);
            }
            return Err(Error::new(ErrorKind::Exists, format!("the group has a link {title:?} already"))
                .hint("delete it first, or use another title")
                .into());
        }
        if link.get("created").is_none() {
            link["created"] = Value::from(now());
        }
        group.links.insert(title.to_owned(), link);
        Ok(true)
    }

    /// Removes a link; the object is removed later if it stays unlinked.
    pub fn unlink(&mut self, group: &str, title: &str) -> Answer<()> {
        let group = self.object(Collection::Groups, group)?;
        let link = group.links.shift_remove(title).ok_or_else(|| {
            crate::http::error::Failure::missing(
                format!("the group has no link {title:?}"),
                "GET its links to see the titles",
            )
        })?;
        if let Some(id) = link.get("id").and_then(Value::as_str)
            && !self.model.is_linked(id)
        {
            self.mark(id);
            self.unlinked.insert(id.to_owned(), Instant::now());
        }
        Ok(())
    }

    /// Stores the id in the object's node. Names then no longer link it, so its parent groups store their links and ids
    /// too.
    pub(super) fn mark(&mut self, id: &str) {
        let mut open = vec![id.to_owned()];
        while let Some(id) = open.pop() {
            let Some(object) = self.model.get_mut(&id).filter(|object| !object.marked) else { continue };
            object.marked = true;
            self.dirty.insert(id.clone());
            for (group, _) in self.model.parents(&id) {
                self.dirty.insert(group.clone());
                open.push(group);
            }
        }
    }

    /// Removes an object and all links to it.
    pub fn delete(&mut self, id: &str) -> Answer<()> {
        if id == self.model.root {
            return Err(Error::new(ErrorKind::Permission, "the root group cannot be deleted")
                .hint("delete the domain")
                .into());
        }
        for (group, title) in self.model.parents(id) {
            self.object(Collection::Groups, &group)?.links.shift_remove(&title);
        }
        self.drop_object(id)?;
        Ok(())
    }
}
