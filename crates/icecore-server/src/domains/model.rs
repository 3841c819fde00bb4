//! HDF5 objects of a domain: ids, links of all classes, typed attributes, committed types.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use icecore::grid::Result;
use serde_json::{Map, Value, json};

use super::ids::{self, Collection};

/// The group for objects without a path in the tree of links.
pub(crate) const UNPLACED: &str = "/__hdf5__";

/// Parts of a response beyond an object's own metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Include {
    pub attributes: bool,
    pub links: bool,
    pub path: bool,
}

impl Include {
    pub const ALL: Self = Self { attributes: true, links: true, path: false };
}

/// A group, a dataset or a committed type.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub id: String,
    pub collection: Collection,
    pub created: f64,
    pub modified: f64,
    /// `type`, `shape` and `creationProperties`.
    pub metadata: Map<String, Value>,
    /// `{type, shape, value, created}` by name, in the order of creation.
    pub attributes: Map<String, Value>,
    /// Links by title, in the order of creation.
    pub links: Map<String, Value>,
    /// The node that stores it; None before the first commit or value.
    pub path: Option<String>,
    /// Whether the node has a stored HDF5 description; otherwise it is read like any Zarr node.
    pub marked: bool,
}

impl Object {
    /// The object as JSON.
    pub fn json(&self, model: &Model, domain: &str, include: Include) -> Map<String, Value> {
        let mut out = Map::new();
        let mut set = |name: &str, value: Value| out.insert(name.to_owned(), value);
        set("id", json!(self.id));
        set("root", json!(model.root));
        set("created", json!(self.created));
        set("lastModified", json!(self.modified));
        set("domain", json!(domain));
        set("attributeCount", json!(self.attributes.len()));
        for (name, value) in &self.metadata {
            set(name, value.clone());
        }
        if let Some(layout) = self.metadata.get("creationProperties").and_then(|p| p.get("layout")) {
            set("layout", layout.clone());
        }
        if self.collection == Collection::Groups {
            set("linkCount", json!(self.links.len()));
            if include.links {
                set("links", self.links.clone().into());
            }
        }
        if include.attributes {
            set("attributes", self.attributes.clone().into());
        }
        if include.path {
            set("alias", json!(model.alias(&self.id).into_iter().collect::<Vec<_>>()));
        }
        out
    }

    /// Whether names are listed in the order of creation.
    pub fn is_ordered(&self) -> bool {
        let order = self.metadata.get("creationProperties").and_then(|p| p.get("CreateOrder"));
        order.is_some_and(|flag| flag.as_u64() == Some(1) || flag.as_bool() == Some(true) || flag.as_str() == Some("1"))
    }
}

/// All objects of a domain at one time. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub root: String,
    pub owner: String,
    pub created: f64,
    /// By user's name.
    pub acls: Map<String, Value>,
    objects: HashMap<String, Arc<Object>>,
}

impl Model {
    pub fn new(root: Object) -> Self {
        let (id, created) = (root.id.clone(), root.created);
        let objects = HashMap::from([(id.clone(), Arc::new(root))]);
        Self { root: id, owner: String::new(), created, acls: Map::new(), objects }
    }

    pub fn insert(&mut self, object: Object) {
        self.objects.insert(object.id.clone(), Arc::new(object));
    }

    pub fn remove(&mut self, id: &str) -> Option<Arc<Object>> {
        self.objects.remove(id)
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Object>> {
        self.objects.get(id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Object> {
        self.objects.get_mut(id).map(Arc::make_mut)
    }

    /// The object of a collection with this id.
    ///
    /// # Errors
    /// `invalid` for a malformed id, `not-found`.
    pub fn object(&self, collection: Collection, id: &str) -> Result<&Arc<Object>> {
        ids::check(collection, id, &self.root)?;
        self.get(id).ok_or_else(|| ids::unknown(id))
    }

    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values()
    }

    pub fn count(&self, collection: Collection) -> usize {
        self.objects().filter(|object| object.collection == collection).count()
    }

    /// Groups with a hard link to an object, and its title, in the order in which the links were created.
    pub fn parents(&self, id: &str) -> Vec<(String, String)> {
        let mut found: Vec<(f64, &str, &str)> = Vec::new();
        for group in self.objects() {
            let to = group.links.iter().filter(|(_, link)| link.get("id").and_then(Value::as_str) == Some(id));
            let created = |link: &Value| link.get("created").and_then(Value::as_f64).unwrap_or(0.0);
            found.extend(to.map(|(title, link)| (created(link), group.id.as_str(), title.as_str())));
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        found.into_iter().map(|(_, group, title)| (group.to_owned(), title.to_owned())).collect()
    }

    /// The shortest path of hard links from the root group to an object.
    pub fn alias(&self, id: &str) -> Option<String> {
        let (mut open, mut seen) = (VecDeque::from([(self.root.as_str(), String::new())]), HashSet::new());
        while let Some((group, path)) = open.pop_front() {
            if group == id {
                return Some(if path.is_empty() { "/".to_owned() } else { path });
            }
            for (title, link) in self.get(group).into_iter().flat_map(|object| &object.links) {
                if let Some(next) = link.get("id").and_then(Value::as_str).filter(|next| seen.insert(*next)) {
                    open.push_back((next, format!("{path}/{title}")));
                }
            }
        }
        None
    }

    pub fn is_linked(&self, id: &str) -> bool {
        let points = |link: &Value| link.get("id").and_then(Value::as_str) == Some(id);
        id == self.root || self.objects().any(|group| group.links.values().any(points))
    }

    /// Nodes that store objects.
    pub fn paths(&self) -> HashSet<&str> {
        self.objects().filter_map(|object| object.path.as_deref()).collect()
    }
}
