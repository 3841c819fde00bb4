//! Changes between two versions.

use std::collections::{BTreeSet, HashSet};

use icechunk::diff::Diff as IcechunkDiff;
use icechunk::format::{Path, SnapshotId};
use icechunk::repository::VersionInfo;
use icechunk::session::SessionErrorKind;
use icecore_grid::Result;
use serde_json::Value;

use crate::error;
use crate::nodes::node::{HIDDEN_GROUP, Node, is_within};
use crate::nodes::table::{ChunkTable, Place};
use crate::open::precheck::{self, Which};
use crate::open::repo_state::RepoState;
use crate::open::snapshot::Snapshot;
use crate::repo::Repo;
use crate::runtime::run;
use crate::versions::{history, resolve};

/// The differences between two versions; paths are sorted. icecore's hidden group is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    pub new_groups: Vec<String>,
    pub new_arrays: Vec<String>,
    pub deleted_groups: Vec<String>,
    pub deleted_arrays: Vec<String>,
    /// Groups with changed metadata.
    pub updated_groups: Vec<String>,
    /// Arrays with changed metadata.
    pub updated_arrays: Vec<String>,
    /// Arrays with a changed chunk grid, dtype or fill value: all of their elements count as written.
    pub remade_arrays: Vec<String>,
    /// Paths of the other arrays with the coordinates of their chunks that were written, moved or deleted.
    pub chunks: Vec<(String, Vec<Vec<u64>>)>,
}

impl Diff {
    /// Whether any node was deleted and created again.
    fn has_remade(&self) -> bool {
        let any = |deleted: &[String], new: &[String]| deleted.iter().any(|path| new.contains(path));
        any(&self.deleted_arrays, &self.new_arrays) || any(&self.deleted_groups, &self.new_groups)
    }
}

impl Repo {
    /// Changes from `a` to `b`. If `a` is an ancestor of `b`, they are the changes that the commits in between
    /// recorded. Otherwise the two trees are compared. They are also compared if an array or a group was deleted and
    /// created again in between: the records of both nodes are then under one path and are indistinguishable.
    ///
    /// # Errors
    /// NotFound if a reference does not exist; Network, Io, Corrupt.
    pub fn diff(&self, a: &str, b: &str) -> Result<Diff> {
        let shared = self.shared()?;
        let (from, to) = run(async {
            Ok((resolve::snapshot_id(shared, Some(a)).await?, resolve::snapshot_id(shared, Some(b)).await?))
        })?;
        if from == to {
            return Ok(Diff::default());
        }
        match run(recorded(shared, from.clone(), to.clone()))? {
            Some((diff, _)) if diff.has_remade() => self.compared(from, to),
            Some((diff, 1)) => Ok(diff),
            Some((diff, _)) => self.resized(diff, from, to),
            None => self.compared(from, to),
        }
    }

    /// Also compares arrays that commits may have truncated and extended again: no commit records the lost chunks.
    fn resized(&self, mut diff: Diff, from: SnapshotId, to: SnapshotId) -> Result<Diff> {
        if diff.updated_arrays.is_empty() {
            return Ok(diff);
        }
        let (from, to) = self.both(from, to)?;
        for path in std::mem::take(&mut diff.updated_arrays) {
            let (Some(old), Some(new)) = (from.node(&path), to.node(&path)) else { continue };
            diff.chunks.retain(|(other, _)| *other != path);
            compare(&mut diff, (&from, old), (&to, new))?;
        }
        diff.chunks.sort();
        Ok(diff)
    }

    fn both(&self, from: SnapshotId, to: SnapshotId) -> Result<(Snapshot, Snapshot)> {
        let shared = self.shared()?;
        let open = |id| run(Snapshot::committed(&self.0, shared, id));
        Ok((open(from)?, open(to)?))
    }

    fn compared(&self, from: SnapshotId, to: SnapshotId) -> Result<Diff> {
        let (from, to) = self.both(from, to)?;
        let mut diff = Diff::default();
        for node in visible(&from).filter(|n| to.node(&n.path).is_none_or(|other| other.is_array != n.is_array)) {
            if node.is_array { &mut diff.deleted_arrays } else { &mut diff.deleted_groups }.push(node.path.clone());
        }
        for node in visible(&to) {
            match from.node(&node.path).filter(|old| old.is_array == node.is_array) {
                None if node.is_array => {
                    diff.new_arrays.push(node.path.clone());
                    diff.chunks.extend(changed(
                        &node.path,
                        (&[], &ChunkTable::default()),
                        (counts(node), &*to.table(&node.path)?),
                    ));
                }
                None => diff.new_groups.push(node.path.clone()),
                Some(old) => compare(&mut diff, (&from, old), (&to, node))?,
            }
        }
        Ok(diff)
    }
}

/// The changes that the commits in between recorded, and their number; None if `a` is not an ancestor of `b`.
async fn recorded(shared: &RepoState, from: SnapshotId, to: SnapshotId) -> Result<Option<(Diff, usize)>> {
    let history = history::back_from(shared, &to, |commit| commit.id == from).await?;
    if history.last().is_none_or(|commit| commit.id != from) {
        return Ok(None);
    }
    for commit in &history {
        precheck::check(shared, &commit.id, &Which::None, &mut HashSet::new()).await?;
    }
    match shared.repository().diff(&VersionInfo::SnapshotId(from), &VersionInfo::SnapshotId(to)).await {
        // Commits that expired between are recorded by their descendants.
        Ok(diff) => {
            let expired: usize = history.iter().map(|commit| commit.pruned_ancestor_tx_logs.len()).sum();
            Ok(Some((Diff::from(diff), history.len() - 1 + expired)))
        }
        Err(e) if matches!(e.kind, SessionErrorKind::BadSnapshotChainForDiff) => Ok(None),
        Err(e) => Err(error::session(e)),
    }
}

fn visible(snapshot: &Snapshot) -> impl Iterator<Item = &Node> {
    snapshot.nodes().iter().filter(|node| !is_within(&node.path, HIDDEN_GROUP))
}

fn compare(diff: &mut Diff, (from, old): (&Snapshot, &Node), (to, new): (&Snapshot, &Node)) -> Result<()> {
    if old.zarr_json != new.zarr_json {
        if new.is_array { &mut diff.updated_arrays } else { &mut diff.updated_groups }.push(new.path.clone());
    }
    let (Some(was), Some(is)) = (&old.array, &new.array) else { return Ok(()) };
    if is_remade(&old.zarr_json, &new.zarr_json) {
        diff.remade_arrays.push(new.path.clone());
    } else if was.manifests != is.manifests {
        let (before, now) = (from.table(&old.path)?, to.table(&new.path)?);
        diff.chunks.extend(changed(&new.path, (&was.counts, &*before), (&is.counts, &*now)));
    }
    Ok(())
}

/// Whether the meaning of an array's chunks changed, so that they differ even with equal references.
fn is_remade(old: &[u8], new: &[u8]) -> bool {
    let members = |zarr_json| {
        let document: Value = serde_json::from_slice(zarr_json).unwrap_or_default();
        ["chunk_grid", "data_type", "fill_value"].map(|name| document.get(name).cloned())
    };
    members(old) != members(new)
}

/// Chunks along each axis of the grid, and their references.
type Chunks<'a> = (&'a [u32], &'a ChunkTable);

/// The chunks of an array whose locations differ between the two tables; None if there are none.
fn changed(path: &str, was: Chunks<'_>, is: Chunks<'_>) -> Option<(String, Vec<Vec<u64>>)> {
    // A chunk's flat index changes if the array grew along any axis but the first.
    let elsewhere = |(a, one): Chunks<'_>, (b, other): Chunks<'_>, flat: u64, place: &Place| {
        let coords = coordinates(flat, a);
        let there = number(&coords, b).map_or(Place::Missing, |flat| other.get(flat));
        (!same(one, place, other, &there)).then_some(coords)
    };
    let now = is.1.iter().filter_map(|(flat, place)| elsewhere(is, was, flat, &place));
    let gone = was.1.iter().filter_map(|(flat, place)| elsewhere(was, is, flat, &place));
    let coords: BTreeSet<Vec<u64>> = now.chain(gone).collect();
    (!coords.is_empty()).then(|| (path.to_owned(), coords.into_iter().collect()))
}

fn same(was: &ChunkTable, a: &Place, is: &ChunkTable, b: &Place) -> bool {
    match (a, b) {
        (Place::Range { object: x, offset: i, length: m }, Place::Range { object: y, offset: j, length: n }) => {
            was.objects.get(*x as usize) == is.objects.get(*y as usize) && (i, m) == (j, n)
        }
        _ => a == b,
    }
}

fn counts(node: &Node) -> &[u32] {
    node.array.as_ref().map_or(&[], |array| &array.counts)
}

fn coordinates(mut flat: u64, counts: &[u32]) -> Vec<u64> {
    let mut coords: Vec<u64> = counts
        .iter()
        .rev()
        .map(|count| {
            let count = u64::from(*count).max(1);
            let index = flat % count;
            flat /= count;
            index
        })
        .collect();
    coords.reverse();
    coords
}

/// The flat index of a chunk; None outside the grid.
fn number(coords: &[u64], counts: &[u32]) -> Option<u64> {
    if coords.len() != counts.len() {
        return None;
    }
    coords.iter().zip(counts).try_fold(0, |flat: u64, (c, n)| {
        let n = u64::from(*n);
        (*c < n).then_some(flat.checked_mul(n)?.checked_add(*c)?)
    })
}

impl From<IcechunkDiff> for Diff {
    fn from(diff: IcechunkDiff) -> Self {
        let paths = |set: BTreeSet<Path>| {
            let mut paths: Vec<String> =
                set.iter().map(Path::to_string).filter(|p| !is_within(p, HIDDEN_GROUP)).collect();
            paths.sort();
            paths
        };
        let wide = |coords: &icechunk::format::ChunkIndices| coords.0.iter().map(|c| u64::from(*c)).collect();
        let mut chunks: Vec<(String, Vec<Vec<u64>>)> = diff
            .updated_chunks
            .iter()
            .map(|(path, chunks)| (path.to_string(), chunks.iter().map(wide).collect()))
            .collect();
        chunks.sort();
        Self {
            new_groups: paths(diff.new_groups),
            new_arrays: paths(diff.new_arrays),
            deleted_groups: paths(diff.deleted_groups),
            deleted_arrays: paths(diff.deleted_arrays),
            updated_groups: paths(diff.updated_groups),
            updated_arrays: paths(diff.updated_arrays),
            remade_arrays: Vec::new(),
            chunks,
        }
    }
}
