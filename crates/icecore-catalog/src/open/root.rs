//! Check a repository's root object before Icechunk processes it.
//!
//! The object lists all versions. Icechunk verifies its structure, but not that the parents of versions are acyclic, nor the
//! lengths inside the metadata of commits. A cycle would never end; a wrong length would take all memory. Icechunk also does not
//! compare the information that the object contains twice (`updates`).

use flexbuffers::{FlexBufferType, Reader};
use icechunk::Repository;
use icechunk::format::flatbuffers::generated;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::format::repo_info::RepoInfo;
use icecore_grid::Result;

use crate::error::damaged;
use crate::open::{backups, updates};
use crate::seal;
use crate::stores::storage::Root;

const DEPTH: usize = 32;

/// Rejects an object that Icechunk can't process safely.
pub(crate) fn check(place: &Root, info: &RepoInfo) -> Result<()> {
    let root = outline(info);
    if let Root::Local(folder) = place {
        seal::check_root(folder, newest(&root), info.bytes())?;
    }
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
    if let Some(at) = circle(&parents) {
        return Err(bad(&format!("version number {at} is its own ancestor, or its parent does not exist")));
    }
    in_order(&root)?;
    updates::agree(&root)
}

/// Records the checksum of a local root object and deletes old copies, after a change and before its lock is released.
/// If this fails, the change is still valid and the object is read unchecked.
pub(crate) async fn seal(place: &Root, repository: &Repository) {
    let Root::Local(folder) = place else { return };
    if repository.spec_version() < SpecVersionBin::V2 {
        return;
    }
    if let Ok((info, _)) = repository.asset_manager().fetch_repo_info().await {
        let _unsealed_is_valid = seal::write_root(folder, newest(&outline(&info)), info.bytes());
        let _copies_do_no_harm = backups::thin(folder);
    }
}

/// The tables of the object, whose structure Icechunk verified when it read or made it. To do so again takes as long as
/// all checks here.
fn outline(info: &RepoInfo) -> generated::Repo<'_> {
    // SAFETY: a RepoInfo is made by Icechunk's serializer, or by `from_buffer`, which verifies.
    unsafe { flatbuffers::root_unchecked::<generated::Repo>(info.bytes()) }
}

/// Time of the last change, in microseconds since 1970.
fn newest<'a>(root: &generated::Repo<'a>) -> u64 {
    root.latest_updates().iter().next().map_or(0, |update| update.updated_at())
}

/// Checks what Icechunk assumes: sorted names and versions (it searches by bisection), and valid version numbers.
fn in_order(root: &generated::Repo) -> Result<()> {
    let versions = root.snapshots();
    if !versions.iter().map(|version| version.id().0).is_sorted_by(|a, b| a < b) {
        return Err(bad("the versions are not in the order of their names"));
    }
    for (what, refs) in [("branches", root.branches()), ("tags", root.tags())] {
        if let Some(lost) = refs.iter().find(|r| r.snapshot_index() as usize >= versions.len()) {
            let (name, at, count) = (lost.name(), lost.snapshot_index(), versions.len());
            return Err(bad(&format!("{name} of the {what} names version number {at} of {count}")));
        }
        if !refs.iter().map(|r| r.name()).is_sorted_by(|a, b| a < b) {
            return Err(bad(&format!("the {what} are not sorted by name")));
        }
    }
    Ok(())
}

fn bad(what: &str) -> icecore_grid::Error {
    damaged(format!("the repository's list of versions: {what}"))
}

/// The number of a version whose chain of parents is cyclic; a negative parent means none.
fn circle(parents: &[i32]) -> Option<usize> {
    let mut ends = vec![false; parents.len()];
    let mut walk = Vec::new();
    for start in 0..parents.len() {
        let mut at = start;
        loop {
            if *ends.get(at)? {
                break;
            }
            // A walk longer than the list has visited a version twice.
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

/// Checks one metadata value: at most as many elements as it has bytes, and limited nesting.
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
