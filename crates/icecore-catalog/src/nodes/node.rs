//! Groups and arrays, and their metadata documents.

use bytes::Bytes;
use icechunk::format::manifest::ManifestExtents;
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icechunk::format::{ManifestId, NodeId, Path};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use crate::nodes::shape;

/// The hidden group with icecore's own records about a repository: the identities of linked files.
pub const HIDDEN_GROUP: &str = "/__icecore__";

/// A group or an array.
#[derive(Clone, Debug)]
pub struct Node {
    /// Starts with `/`.
    pub path: String,
    pub is_array: bool,
    /// The Zarr metadata document, verbatim.
    pub zarr_json: Bytes,
    pub(crate) array: Option<ArrayEntry>,
}

/// Data needed to load an array's references.
#[derive(Clone, Debug)]
pub(crate) struct ArrayEntry {
    pub id: NodeId,
    /// Chunks along each axis.
    pub counts: Vec<u32>,
    pub manifests: Vec<ManifestId>,
    /// The chunks whose references each manifest may have.
    pub extents: Vec<ManifestExtents>,
}

/// Arrays of at most this many manifests are loaded as a whole: 131,072 references each if they are of one axis.
const WHOLE: usize = 2;
/// More chunks than this are not looked for in the manifests one by one.
const LOOKED_FOR: usize = 1 << 16;

impl ArrayEntry {
    /// Whether it has so many references that some reads should load a part of them.
    pub fn is_divided(&self) -> bool {
        self.manifests.len() > WHOLE
    }

    /// The array with only those manifests that may hold references of these chunks (flat numbers); None if that is
    /// the whole array, or if it is small.
    pub fn part(&self, flats: &[u64]) -> Option<Self> {
        if !self.is_divided() || flats.len() > LOOKED_FOR {
            return None;
        }
        let mut chosen = vec![false; self.manifests.len()];
        let mut last = None;
        for flat in flats.iter().filter(|flat| last.replace(**flat) != Some(**flat)) {
            let coords = self.coords(*flat)?;
            for (is_chosen, extents) in chosen.iter_mut().zip(&self.extents) {
                *is_chosen = *is_chosen || extents.contains(&coords);
            }
        }
        if chosen.iter().all(|is_chosen| *is_chosen) {
            return None;
        }
        let (manifests, extents) = self
            .manifests
            .iter()
            .zip(&self.extents)
            .zip(chosen)
            .filter(|(_, is_chosen)| *is_chosen)
            .map(|((id, extents), _)| (id.clone(), extents.clone()))
            .unzip();
        Some(Self { id: self.id.clone(), counts: self.counts.clone(), manifests, extents })
    }

    /// The indexes of a chunk along each axis; None outside the grid.
    fn coords(&self, flat: u64) -> Option<Vec<u32>> {
        let mut rest = flat;
        let mut coords = vec![0; self.counts.len()];
        for (at, count) in coords.iter_mut().zip(&self.counts).rev() {
            *at = u32::try_from(rest.checked_rem(u64::from(*count))?).ok()?;
            rest /= u64::from(*count);
        }
        (rest == 0).then_some(coords)
    }
}

impl From<NodeSnapshot> for Node {
    fn from(node: NodeSnapshot) -> Self {
        let array = match node.node_data {
            NodeData::Group => None,
            NodeData::Array { shape, manifests, .. } => {
                let counts = shape::counts(node.path.as_str(), &node.user_data, &shape);
                let (manifests, extents) = manifests.into_iter().map(|m| (m.object_id, m.extents)).unzip();
                Some(ArrayEntry { id: node.id, counts, manifests, extents })
            }
        };
        Self { path: node.path.to_string(), is_array: array.is_some(), zarr_json: node.user_data, array }
    }
}

impl Node {
    pub(crate) fn group(path: &str, attributes: &Value) -> Self {
        Self { path: path.to_owned(), is_array: false, zarr_json: group_json(attributes), array: None }
    }
}

/// Converts a path to Icechunk's type.
pub(crate) fn path(path: &str) -> Result<Path> {
    Path::new(path).map_err(|_| {
        Error::new(ErrorKind::Invalid, format!("{path:?} is not a path")).hint("paths look like /group/array")
    })
}

/// The parent paths, nearest first, without the root.
pub(crate) fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |p| parent(p)).filter(|p| *p != "/")
}

fn parent(path: &str) -> Option<&str> {
    match path.rfind('/')? {
        _ if path == "/" => None,
        0 => Some("/"),
        at => path.get(..at),
    }
}

/// Whether `path` is `top` or below it.
pub fn is_within(path: &str, top: &str) -> bool {
    top == "/" || path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A group's metadata document.
pub(crate) fn group_json(attributes: &Value) -> Bytes {
    Bytes::from(json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes }).to_string())
}

/// Attributes must be a JSON object.
pub(crate) fn checked(attributes: &Value) -> Result<&Map<String, Value>> {
    attributes
        .as_object()
        .ok_or_else(|| Error::new(ErrorKind::Invalid, format!("attributes must be a mapping, not {attributes}")))
}

/// The attributes in a metadata document; empty if it has none.
pub(crate) fn attributes(zarr_json: &[u8]) -> Map<String, Value> {
    let document: Value = serde_json::from_slice(zarr_json).unwrap_or_default();
    document.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// A metadata document with its attributes replaced.
pub(crate) fn with_attributes(path: &str, zarr_json: &[u8], attributes: Map<String, Value>) -> Result<Bytes> {
    let mut document: Map<String, Value> = serde_json::from_slice(zarr_json)
        .map_err(|e| crate::error::damaged(format!("the metadata of {path} is not a JSON object: {e}")))?;
    document.insert("attributes".to_owned(), Value::Object(attributes));
    Ok(Bytes::from(Value::Object(document).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(parents("/a/b/c").collect::<Vec<_>>(), ["/a/b", "/a"]);
        assert_eq!(parents("/a").count() + parents("/").count(), 0);
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a") && is_within("/a", "/"));
        assert!(!is_within("/ab", "/a") && !is_within("/", "/a"));
        assert_eq!(path("a").unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(path("/a/../b").unwrap_err().kind, ErrorKind::Invalid);
    }

    #[test]
    fn attributes_are_replaced_and_the_rest_kept() {
        let changed = with_attributes(
            "/a",
            br#"{"node_type": "array", "x": 1, "attributes": {"a": 1}}"#,
            Map::from_iter([("b".to_owned(), json!(2))]),
        )
        .unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&changed).unwrap(),
            json!({"node_type": "array", "x": 1, "attributes": {"b": 2}})
        );
        assert_eq!(attributes(&changed)["b"], 2);
        assert_eq!(with_attributes("/a", b"oops", Map::new()).unwrap_err().kind, ErrorKind::Corrupt);
    }

    fn entry(extents: &[([u32; 2], [u32; 2])]) -> ArrayEntry {
        ArrayEntry {
            id: NodeId::random(),
            counts: vec![30, 10],
            manifests: extents.iter().map(|_| ManifestId::random()).collect(),
            extents: extents.iter().map(|(from, to)| ManifestExtents::new(from, to)).collect(),
        }
    }

    #[test]
    fn only_manifests_that_may_hold_the_chunks() {
        let entry = entry(&[([0, 0], [10, 10]), ([10, 0], [20, 10]), ([20, 0], [30, 10])]);
        let part = |flats: &[u64]| entry.part(flats).map(|part| part.manifests);
        let of = |numbers: &[usize]| Some(numbers.iter().map(|i| entry.manifests[*i].clone()).collect::<Vec<_>>());
        assert_eq!(part(&[0, 99]), of(&[0]));
        assert_eq!(part(&[100]), of(&[1]));
        assert_eq!(part(&[299, 0]), of(&[0, 2]));
        assert_eq!(part(&[0, 100, 200]), None);
        assert_eq!(part(&[]), of(&[]));
        assert_eq!(part(&[300]), None);
    }

    #[test]
    fn manifests_that_overlap_are_all_kept() {
        let entry = entry(&[([0, 0], [10, 10]), ([5, 0], [20, 10]), ([20, 0], [30, 10])]);
        assert_eq!(entry.part(&[70]).unwrap().manifests, entry.manifests[..2]);
    }

    #[test]
    fn small_arrays_are_loaded_as_a_whole() {
        assert!(entry(&[([0, 0], [10, 10]), ([10, 0], [30, 10])]).part(&[0]).is_none());
    }
}
