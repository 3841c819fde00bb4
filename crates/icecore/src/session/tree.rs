//! The nodes of a version as a tree, found by path or number.

use std::collections::HashMap;

use icecore_catalog::{HIDDEN_GROUP, Snapshot, is_within};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

/// Names of hidden groups, at any level.
const OWN: [&str; 3] = ["__icecore__", "__summary__", "__followed__"];

/// A group or an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Path from the session's root, which is `/`.
    pub path: String,
    pub is_array: bool,
    /// Numbers of its child nodes, by name.
    pub children: Vec<usize>,
}

impl Node {
    /// The last part of the path; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// All nodes; number 0 is the root.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    numbers: HashMap<String, usize>,
}

impl Tree {
    pub(super) fn new(snapshot: &Snapshot, top: &str) -> Result<Self> {
        debug_assert_eq!(HIDDEN_GROUP, "/__icecore__");
        let is_group = top == "/" || snapshot.node(top).is_some_and(|node| !node.is_array);
        if !is_group || !top.starts_with('/') {
            return Err(Error::new(ErrorKind::NotFound, format!("there is no group {top}"))
                .hint("list the repository's groups to see the paths that exist"));
        }
        let mut tree = Self { nodes: Vec::new(), numbers: HashMap::new() };
        tree.add("/", false);
        for node in snapshot.nodes().iter().filter(|node| is_within(&node.path, top)) {
            let path = if top == "/" { node.path.as_str() } else { node.path.strip_prefix(top).unwrap_or_default() };
            if !path.is_empty() && path != "/" && !is_own(path) {
                tree.add(path, node.is_array);
            }
        }
        let names: Vec<String> = tree.nodes.iter().map(|node| node.path.clone()).collect();
        for node in &mut tree.nodes {
            node.children.sort_by(|a, b| names.get(*a).cmp(&names.get(*b)));
        }
        Ok(tree)
    }

    /// Adds a node, and the missing groups above it, which have no document of their own.
    fn add(&mut self, path: &str, is_array: bool) -> usize {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let parent = (path != "/").then(|| match path.rfind('/') {
            Some(at) if at > 0 => self.add(path.get(..at).unwrap_or("/"), false),
            _ => self.add("/", false),
        });
        let number = self.nodes.len();
        self.nodes.push(Node { path: path.to_owned(), is_array, children: Vec::new() });
        self.numbers.insert(path.to_owned(), number);
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.push(number);
        }
        number
    }

    /// The number of the node at a path; a trailing slash is ignored. A channel may have its name instead of its path:
    /// `/H1:X` is `/H1/X`.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<usize> {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let found = self.numbers.get(if path.is_empty() { "/" } else { path });
        found.copied().or_else(|| self.numbers.get(&channel(path)?).copied())
    }

    #[must_use]
    pub fn node(&self, number: usize) -> Option<&Node> {
        self.nodes.get(number)
    }

    /// All nodes in the order of their numbers.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes in a group.
    pub fn children<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = (usize, &'a Node)> {
        node.children.iter().filter_map(|number| Some((*number, self.nodes.get(*number)?)))
    }
}

/// The path of a channel whose name is the last part of `path`.
fn channel(path: &str) -> Option<String> {
    let (group, name) = path.rsplit_once('/')?;
    let (detector, rest) = name.split_once(':')?;
    Some(format!("{group}/{detector}/{rest}"))
}

fn is_own(path: &str) -> bool {
    path.split('/').any(|part| OWN.contains(&part))
}

/// The default document of a group.
pub(super) fn implied() -> Map<String, Value> {
    let document = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    document.as_object().cloned().unwrap_or_default()
}
