//! A look at a repository's root object before Icechunk walks through it.
//!
//! The object lists all versions. Icechunk verifies its outline, but not that a version's parents do not lead back to itself, nor the
//! lengths inside the metadata of commits: following the one never ends, believing the others takes all memory.

use flatbuffers::VerifierOptions;
use flexbuffers::{FlexBufferType, Reader};
use icechunk::format::flatbuffers::generated;
use icechunk::format::repo_info::RepoInfo;
use icecore_grid::Result;

use crate::error::damaged;

const DEPTH: usize = 32;
const TABLES: usize = 1 << 30;

/// Refuses an object that would send Icechunk astray.
pub(crate) fn check(info: &RepoInfo) -> Result<()> {
    let options = VerifierOptions { max_tables: TABLES, max_apparent_size: usize::MAX, ..VerifierOptions::default() };
    let root =
        flatbuffers::root_with_opts::<generated::Repo>(&options, info.bytes()).map_err(|e| bad(&e.to_string()))?;
    if let Some(config) = root.config() {
        value(config.bytes())?;
    }
    let mut parents = Vec::with_capacity(root.snapshots().len());
    for snapshot in root.snapshots() {
        parents.push(snapshot.parent_offset());
        for item in snapshot.metadata().unwrap_or_default() {
            value(item.value().bytes())?;
        }
    }
    for item in root.metadata().unwrap_or_default() {
        value(item.value().bytes())?;
    }
    match circle(&parents) {
        Some(at) => Err(bad(&format!("version number {at} is its own ancestor, or has none that exists"))),
        None => Ok(()),
    }
}

fn bad(what: &str) -> icecore_grid::Error {
    damaged(format!("the repository's list of versions: {what}"))
}

/// A version whose line of parents does not end; a parent below zero is none.
fn circle(parents: &[i32]) -> Option<usize> {
    let mut ends = vec![false; parents.len()];
    let mut walk = Vec::new();
    for start in 0..parents.len() {
        let mut at = start;
        loop {
            if *ends.get(at)? {
                break;
            }
            // A walk longer than the list has been somewhere twice.
            if walk.len() > parents.len() {
                return Some(start);
            }
            walk.push(at);
            match usize::try_from(*parents.get(at)?) {
                Err(_) => break,
                Ok(parent) if parent < parents.len() => at = parent,
                Ok(_) => return Some(at),
            }
        }
        for seen in walk.drain(..) {
            *ends.get_mut(seen)? = true;
        }
    }
    None
}

/// Checks one metadata value: no more elements than it has bytes, nested not too deep.
fn value(bytes: &[u8]) -> Result<()> {
    let reader = Reader::get_root(bytes).map_err(|e| bad(&format!("a commit's metadata: {e}")))?;
    let mut budget = bytes.len();
    if bounded(&reader, DEPTH, &mut budget) {
        Ok(())
    } else {
        Err(bad("a commit's metadata claims more than there is"))
    }
}

fn bounded(reader: &Reader<&[u8]>, depth: usize, budget: &mut usize) -> bool {
    let kind = reader.flexbuffer_type();
    if kind != FlexBufferType::Map && !kind.is_vector() {
        return true;
    }
    let length = reader.length();
    if depth == 0 || length > *budget {
        return false;
    }
    *budget -= length;
    if kind == FlexBufferType::Map {
        let Ok(map) = reader.get_map() else { return true };
        map.len() <= length && map.iter_values().all(|value| bounded(&value, depth - 1, budget))
    } else {
        let Ok(vector) = reader.get_vector() else { return true };
        vector.len() <= length && vector.iter().all(|value| bounded(&value, depth - 1, budget))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn circles() {
        assert_eq!(circle(&[]), None);
        assert_eq!(circle(&[-1, 0, 1, 1, -1]), None);
        assert!(circle(&[0]).is_some());
        assert!(circle(&[-1, 2, 1]).is_some());
        assert!(circle(&[-1, 7]).is_some());
        let long: Vec<i32> = (-1..100_000).collect();
        assert_eq!(circle(&long), None);
        let backwards: Vec<i32> = (1..100_000).chain([-1]).collect();
        assert_eq!(circle(&backwards), None);
    }

    #[test]
    fn ordinary_metadata_passes() {
        let nested = json!({"a": [1, 2.5, "x", null, true], "b": {"c": [[], {}], "d": "y".repeat(300)}, "e": [1, 2, 3], "f": ["a", "b"]});
        for metadata in [json!(3), json!("text"), json!([]), nested] {
            value(&flexbuffers::to_vec(&metadata).unwrap()).unwrap();
        }
    }

    #[test]
    fn whatever_passes_can_be_read() {
        let metadata = json!({"a": [1, 2, 3], "b": {"c": ["x", {"y": [true, null]}]}, "t": [1, 2, 3, 4]});
        let bytes = flexbuffers::to_vec(&metadata).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                if value(&damaged).is_ok() {
                    let _any_value_but_an_end = flexbuffers::from_slice::<serde_json::Value>(&damaged);
                }
            }
        }
    }
}
