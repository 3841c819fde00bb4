//! Check a version's files in a local directory before Icechunk uses them without checks.
//!
//! A commit copies references from its parent version, and garbage collection deletes objects without references. Damage must
//! neither spread through a commit nor delete objects that are still referenced. Icechunk also reserves memory for sizes that a snapshot claims.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use icechunk::format::SnapshotId;
use icechunk::format::snapshot::{NodeData, Snapshot};
use icecore_grid::Result;

use crate::error::{self, damaged};
use crate::repo_state::RepoState;
use crate::runtime::guard;
use crate::seal::Seal;
use crate::storage::Root;

/// Rejects a file that holds what belongs under another name: one that was copied into the place of another is whole in itself, and
/// the collector would not come to an end with it.
pub(crate) fn check_name(file: &str, id: &impl Display) -> Result<()> {
    match file.rsplit('/').next() {
        Some(name) if name == id.to_string() => Ok(()),
        _ => Err(damaged(format!("{file} holds what belongs under the name {id}"))),
    }
}

/// Which manifests are looked at.
pub(crate) enum Which<'a> {
    None,
    All,
    /// Those of these arrays.
    Of(&'a HashSet<String>),
}

/// Checks a version; `known` are names of files that need not be looked at again. Repositories elsewhere are taken as they are.
pub(crate) async fn check(
    shared: &RepoState,
    id: &SnapshotId,
    which: &Which<'_>,
    known: &mut HashSet<String>,
) -> Result<()> {
    let Root::Local(root) = &shared.root else { return Ok(()) };
    let seal = Seal::load(root, &id.to_string());
    for name in [format!("snapshots/{id}"), format!("transactions/{id}")] {
        seal.check_file(root, &name)?;
        known.insert(name);
    }
    let snapshot = shared.repository().asset_manager().fetch_snapshot(id).await.map_err(error::repository)?;
    guard(|| check_name(&format!("snapshots/{id}"), &snapshot.id()))?;
    for name in guard(|| manifests(root, &snapshot, which))? {
        if known.insert(name.clone()) {
            seal.check_file(root, &name)?;
        }
    }
    Ok(())
}

/// The names of the manifests in question, after a look at the lengths of all.
fn manifests(root: &Path, snapshot: &Arc<Snapshot>, which: &Which) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for file in snapshot.manifest_files() {
        let file = file.map_err(error::format)?;
        let name = format!("manifests/{}", file.id);
        let length = std::fs::metadata(root.join(&name)).map_or(0, |m| m.len());
        if length != file.size_bytes {
            return Err(damaged(format!("{name} has {length} bytes, its snapshot says {}", file.size_bytes)));
        }
        all.push(name);
    }
    match which {
        Which::None => Ok(Vec::new()),
        Which::All => Ok(all),
        Which::Of(paths) => {
            let mut names = Vec::new();
            for node in snapshot.iter() {
                let node = node.map_err(error::format)?;
                if let NodeData::Array { manifests, .. } = node.node_data
                    && paths.contains(node.path.as_str())
                {
                    names.extend(manifests.iter().map(|m| format!("manifests/{}", m.object_id)));
                }
            }
            Ok(names)
        }
    }
}
