//! Ids of objects, as defined in `docs/design/0039-object-ids.md`: a function of the domain's name and the object's
//! path.

use std::collections::HashMap;
use std::fmt::Write;

use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::Tree;
use sha2::{Digest, Sha256};

/// A collection of the HDF REST API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collection {
    Groups,
    Datasets,
    Datatypes,
}

impl Collection {
    pub fn name(self) -> &'static str {
        match self {
            Self::Groups => "groups",
            Self::Datasets => "datasets",
            Self::Datatypes => "datatypes",
        }
    }

    fn of(is_array: bool) -> Self {
        if is_array { Self::Datasets } else { Self::Groups }
    }

    fn letter(self) -> char {
        match self {
            Self::Groups => 'g',
            Self::Datasets => 'd',
            Self::Datatypes => 't',
        }
    }
}

/// The ids of a domain's objects.
pub(crate) struct Ids {
    ids: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Ids {
    /// `domain`: the name without the version, because ids do not depend on it.
    pub fn new(domain: &str, tree: &Tree) -> Self {
        let first = hash(&["icecore domain", domain]);
        let mut ids = Self { ids: Vec::new(), numbers: HashMap::new() };
        for (number, node) in tree.nodes().iter().enumerate() {
            let collection = Collection::of(node.is_array);
            let mut salt = 0_u32;
            let id = loop {
                let last = match number {
                    0 => rotated(first),
                    _ if salt == 0 => hash(&["icecore object", domain, &node.path]),
                    _ => hash(&["icecore object", domain, &node.path, &salt.to_string()]),
                };
                let id = spelled(collection, first, last);
                // If two paths have the same hash, or a path has the root's, the later one is hashed again.
                let is_root = number > 0 && last == rotated(first);
                if !is_root && !ids.numbers.contains_key(&id) {
                    break id;
                }
                salt += 1;
            };
            ids.numbers.insert(id.clone(), number);
            ids.ids.push(id);
        }
        ids
    }

    /// Ids of a domain whose objects have stored ids.
    pub fn stored(root: &str) -> Self {
        Self { ids: vec![root.to_owned()], numbers: HashMap::from([(root.to_owned(), 0)]) }
    }

    pub fn root(&self) -> &str {
        self.get(0)
    }

    /// The id of a node.
    pub fn get(&self, number: usize) -> &str {
        self.ids.get(number).map_or("", String::as_str)
    }

    /// The id of an object of a file that has no node.
    pub fn other(&self, collection: Collection, path: &str) -> String {
        new_id(collection, self.root(), hash(&["icecore other", self.root(), path]))
    }

    /// The node with this id.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }
}

/// Validates the form of an id.
///
/// # Errors
/// `invalid`.
pub(crate) fn check(collection: Collection, id: &str, example: &str) -> Result<()> {
    if is_id(id) && id.starts_with(collection.letter()) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, format!("{id:?} is not an id in {}", collection.name()))
        .hint(format!("ids look like {example} and come from links and from GET /?domain=…")))
}

pub(crate) fn unknown(id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("{id} is not an object of the domain"))
        .hint("follow the links from the root group of this domain")
}

/// The id of a new root group, derived from `random`.
pub(crate) fn new_root(random: u64) -> String {
    spelled(Collection::Groups, random, rotated(random))
}

/// The id of a new object in the domain of a root group.
pub(crate) fn new_id(collection: Collection, root: &str, random: u64) -> String {
    let hex: String = root.chars().skip(2).filter(|c| *c != '-').take(16).collect();
    let first = u64::from_str_radix(&hex, 16).unwrap_or_default();
    spelled(collection, first, if random == rotated(first) { !random } else { random })
}

/// The collection of an id.
pub(crate) fn collection(id: &str) -> Option<Collection> {
    let all = [Collection::Groups, Collection::Datasets, Collection::Datatypes];
    all.into_iter().find(|each| is_id(id) && id.starts_with(each.letter()))
}

fn hash(parts: &[&str]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let digest = hasher.finalize();
    digest.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Adds eight to every hexadecimal digit (modulo 16): the second half of a root's id.
fn rotated(first: u64) -> u64 {
    first ^ 0x8888_8888_8888_8888
}

fn spelled(collection: Collection, first: u64, last: u64) -> String {
    let hex = format!("{first:016x}{last:016x}");
    let mut id = String::from(collection.letter());
    for range in [0..8, 8..16, 16..20, 20..26, 26..32] {
        let _ = write!(id, "-{}", hex.get(range).unwrap_or_default());
    }
    id
}

/// Whether a text has the form of an object's id.
pub(crate) fn is_id(text: &str) -> bool {
    let mut parts = text.split('-');
    matches!(parts.next(), Some("g" | "d" | "t"))
        && parts.clone().map(str::len).eq([8, 8, 4, 6, 6])
        && parts.all(|part| part.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form() {
        let root = spelled(Collection::Groups, 0x3bff_1104_107b_5e90, rotated(0x3bff_1104_107b_5e90));
        assert_eq!(root, "g-3bff1104-107b5e90-b377-998c98-f3d618", "the example of the HDF REST API");
        assert!(is_id(&root));
        for bad in
            ["", "g-", "x-3bff1104-107b5e90-b377-998c98-f3d618", "g-3bff1104-107b5e90-b377-998c98-f3d61z", "../x"]
        {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(hash(&["a", "bc"]), hash(&["ab", "c"]));
    }
}
