//! HDF5 objects of a file that is served in place: what its index can't hold. `icecore serve` describes them beside the
//! index, by their paths in the file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::Tree;
use serde_json::{Map, Value, json};

use super::ids::{Collection, Ids};

/// The name of the description in an index.
const NAME: &str = ".icecore-objects.json";
/// Maximum bytes of a description.
const MOST: u64 = 64 << 20;

/// The index of a file, and the group in it that is the domain.
#[derive(Clone, Debug)]
pub(crate) struct InFile {
    pub index: PathBuf,
    pub group: String,
}

/// Attributes and links of an object that has a node in the index.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub attributes: Map<String, Value>,
    pub links: Map<String, Value>,
    /// Attributes that can't be sent, and why.
    pub left_out: Value,
}

/// An object without a node: a committed type, or a dataset whose values are not in the index.
#[derive(Debug)]
pub(crate) struct Other {
    pub id: String,
    pub path: String,
    pub collection: Collection,
    /// `type` and `shape`.
    pub metadata: Map<String, Value>,
    pub described: Described,
    pub why: String,
}

#[derive(Debug, Default)]
pub(crate) struct FileObjects {
    nodes: HashMap<usize, Described>,
    others: BTreeMap<String, Other>,
    /// Nodes of further names of an object, whose links lead to its first one.
    aliases: HashSet<usize>,
}

impl FileObjects {
    /// Reads the description of a file's objects; None if there is none.
    ///
    /// # Errors
    /// `format`.
    pub fn read(place: &InFile, tree: &Tree, ids: &Ids, time: f64) -> Result<Option<Self>> {
        let path = place.index.join(NAME);
        if std::fs::metadata(&path).map_or(true, |about| about.len() > MOST) {
            return Ok(None);
        }
        let failed = |what: String| {
            Error::new(ErrorKind::Format, format!("the index of the file can't be read: {what}"))
                .hint("remove the cache of indexes; they are made again")
        };
        let text = std::fs::read(&path).map_err(|e| failed(e.to_string()))?;
        let all: Map<String, Value> = serde_json::from_slice(&text).map_err(|e| failed(e.to_string()))?;
        let all: BTreeMap<String, Value> =
            all.into_iter().filter_map(|(path, each)| Some((inside(&place.group, &path)?, each))).collect();
        let names = names(&place.group, &all);
        Ok(Some(Reading { is_whole: place.group == "/", group: &place.group, names, tree, ids, time }.all(all)))
    }

    pub fn node(&self, number: usize) -> Option<&Described> {
        self.nodes.get(&number)
    }

    pub fn other(&self, id: &str) -> Option<&Other> {
        self.others.get(id)
    }

    pub fn others(&self) -> impl Iterator<Item = &Other> {
        self.others.values()
    }

    pub fn is_alias(&self, number: usize) -> bool {
        self.aliases.contains(&number)
    }
}

/// The path inside a group of the file.
fn inside(group: &str, path: &str) -> Option<String> {
    if group == "/" {
        return Some(path.to_owned());
    }
    match path.strip_prefix(group)? {
        "" => Some("/".to_owned()),
        rest => rest.starts_with('/').then(|| rest.to_owned()),
    }
}

/// The object of each hard link.
fn names(group: &str, all: &BTreeMap<String, Value>) -> HashMap<String, String> {
    let links = all.iter().flat_map(|(path, object)| {
        let links = object.get("links").and_then(Value::as_object).into_iter().flatten();
        links.map(move |(title, link)| (joined(path, title), link))
    });
    links.filter_map(|(name, link)| Some((name, inside(group, link.get("path")?.as_str()?)?))).collect()
}

/// The path that a link's target names, seen from a group.
fn joined(group: &str, target: &str) -> String {
    let base = if target.starts_with('/') { "" } else { group };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            other => parts.push(other),
        }
    }
    format!("/{}", parts.join("/"))
}

struct Reading<'a> {
    is_whole: bool,
    group: &'a str,
    /// The object of each hard link, by the path of its group and its title.
    names: HashMap<String, String>,
    tree: &'a Tree,
    ids: &'a Ids,
    time: f64,
}

impl Reading<'_> {
    fn all(&self, all: BTreeMap<String, Value>) -> FileObjects {
        let places: HashMap<String, (String, Option<usize>)> =
            all.iter().map(|(path, each)| (path.clone(), self.place(path, each))).collect();
        let claimed: HashSet<usize> = places.values().filter_map(|(_, number)| *number).collect();
        let mut found = FileObjects::default();
        for (path, object) in all {
            let Some((id, number)) = places.get(&path).cloned() else { continue };
            let described = Described {
                attributes: self.attributes(&object, &places),
                links: self.links(&path, &object, number, &places, &claimed, &mut found.aliases),
                left_out: object.get("left_out").cloned().unwrap_or_default(),
            };
            if let Some(number) = number {
                found.nodes.insert(number, described);
                continue;
            }
            let kept = ["type", "shape"].into_iter();
            let metadata = kept.filter_map(|name| Some((name.to_owned(), object.get(name)?.clone()))).collect();
            let why = object.get("why").and_then(Value::as_str).unwrap_or_default().to_owned();
            let collection = collection(&object);
            found.others.insert(id.clone(), Other { id, path, collection, metadata, described, why });
        }
        found
    }

    /// The id of an object, and its node in the index.
    fn place(&self, path: &str, object: &Value) -> (String, Option<usize>) {
        let collection = collection(object);
        let node = match object.get("node").and_then(Value::as_str) {
            Some(node) => inside(self.group, node),
            None => Some(path.to_owned()),
        };
        let number = node.and_then(|node| self.tree.find(&node)).filter(|number| {
            let is_array = self.tree.node(*number).is_some_and(|node| node.is_array);
            collection != Collection::Datatypes && is_array == (collection == Collection::Datasets)
        });
        match number {
            Some(number) => (self.ids.get(number).to_owned(), Some(number)),
            None => (self.ids.other(collection, path), None),
        }
    }

    fn attributes(&self, object: &Value, places: &HashMap<String, (String, Option<usize>)>) -> Map<String, Value> {
        let mut attributes = object.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
        for (_, attribute) in &mut attributes {
            attribute["created"] = json!(self.time);
            if let Some(value) = attribute.get_mut("value") {
                self.refer(value, places);
            }
        }
        attributes
    }

    /// Replaces references to paths by references to ids.
    fn refer(&self, value: &mut Value, places: &HashMap<String, (String, Option<usize>)>) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.refer(item, places)),
            Value::Object(reference) => {
                let path = reference.get("ref").and_then(Value::as_str).and_then(|path| inside(self.group, path));
                let id = path.and_then(|path| places.get(&path)).map(|(id, _)| id);
                let named = id.and_then(|id| Some(format!("{}/{id}", super::ids::collection(id)?.name())));
                *value = Value::from(named.unwrap_or_default());
            }
            _ => {}
        }
    }

    /// The links of a group; members of the index that the file does not have are linked, too.
    fn links(
        &self,
        path: &str,
        object: &Value,
        number: Option<usize>,
        places: &HashMap<String, (String, Option<usize>)>,
        claimed: &HashSet<usize>,
        aliases: &mut HashSet<usize>,
    ) -> Map<String, Value> {
        let mut links = Map::new();
        for (title, link) in object.get("links").and_then(Value::as_object).into_iter().flatten() {
            let node = self.tree.find(&joined(path, title)).filter(|node| !claimed.contains(node));
            if let Some(found) = self.link(path, link, node, places) {
                let is_own = node.is_some_and(|node| found.get("id").is_some_and(|id| id == self.ids.get(node)));
                aliases.extend(node.filter(|_| !is_own));
                links.insert(title.clone(), found);
            }
        }
        let members = number.and_then(|number| self.tree.node(number));
        for (child, node) in members.into_iter().flat_map(|node| self.tree.children(node)) {
            if !claimed.contains(&child) && !links.contains_key(node.name()) {
                links.insert(node.name().to_owned(), self.hard(self.ids.get(child)));
            }
        }
        links
    }

    /// A link as JSON. Where a soft or external link leads out of the domain, but the index has its target under the link's
    /// own path, that is linked: clients could not find it.
    fn link(
        &self,
        group: &str,
        link: &Value,
        node: Option<usize>,
        places: &HashMap<String, (String, Option<usize>)>,
    ) -> Option<Value> {
        let text = |name: &str| link.get(name).and_then(Value::as_str);
        if let Some(path) = text("path") {
            return places.get(&inside(self.group, path)?).map(|(id, _)| self.hard(id));
        }
        let (target, file) = (text("h5path")?, text("h5domain"));
        let is_here = self.is_whole && file.is_none() && self.leads_somewhere(&joined(group, target));
        match (node, file) {
            (Some(node), _) if !is_here => Some(self.hard(self.ids.get(node))),
            (_, None) => Some(json!({"class": "H5L_TYPE_SOFT", "h5path": target, "created": self.time})),
            (_, Some(file)) => {
                Some(json!({"class": "H5L_TYPE_EXTERNAL", "h5path": target, "h5domain": file, "created": self.time}))
            }
        }
    }

    /// Whether hard links lead along a path.
    fn leads_somewhere(&self, path: &str) -> bool {
        let mut at = "/";
        path.split('/').filter(|part| !part.is_empty()).all(|part| match self.names.get(&joined(at, part)) {
            Some(next) => {
                at = next;
                true
            }
            None => false,
        })
    }

    fn hard(&self, id: &str) -> Value {
        json!({"class": "H5L_TYPE_HARD", "id": id, "created": self.time})
    }
}

fn collection(object: &Value) -> Collection {
    match object.get("class").and_then(Value::as_str) {
        Some("datasets") => Collection::Datasets,
        Some("datatypes") => Collection::Datatypes,
        _ => Collection::Groups,
    }
}

/// The index of a file as a place, for one that is stored in a directory.
pub(super) fn place(url: &str, group: &str) -> InFile {
    InFile { index: Path::new(url).to_path_buf(), group: group.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_a_group() {
        for (group, path, seen) in
            [("/", "/a", Some("/a")), ("/g", "/g", Some("/")), ("/g", "/g/a", Some("/a")), ("/g", "/ga", None)]
        {
            assert_eq!(inside(group, path).as_deref(), seen, "{group} {path}");
        }
        for (group, target, path) in
            [("/g", "a", "/g/a"), ("/g", "/a/b", "/a/b"), ("/", "./a", "/a"), ("/g", ".", "/g")]
        {
            assert_eq!(joined(group, target), path);
        }
    }
}
