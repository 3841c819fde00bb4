//! Check a version's files in a local directory before Icechunk uses them without checks.
//!
//! A commit copies references from its parent version, and garbage collection deletes unreferenced objects. This check
//! prevents a commit from copying damage, and the collector from deleting objects in use. Icechunk also allocates sizes
//! that a snapshot claims.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use icechunk::format::SnapshotId;
use icechunk::format::snapshot::{NodeData, Snapshot};
use icecore_grid::Result;

use crate::error::{self, damaged};
use crate::open::repo_state::RepoState;
use crate::runtime::guard;
use crate::seal::Seal;
use crate::stores::storage::Root;

/// Rejects a file whose content belongs to another name. A file that was copied over another one has a valid checksum,
/// but garbage collection would not terminate with it.
pub(crate) fn check_name(file: &str, id: &impl Display) -> Result<()> {
    match file.rsplit('/').next() {
        Some(name) if name == id.to_string() => Ok(()),
        _ => Err(damaged(format!("{file} has the content of the file named {id}"))),
    }
}

/// The manifests to check.
pub(crate) enum Which<'a> {
    None,
    All,
    /// The manifests of these arrays.
    Of(&'a HashSet<String>),
}

/// Checks a version; `known` holds names of files that were checked before. Repositories that are not in a directory
/// are not checked.
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

/// The names of the manifests to check, after the lengths of all manifests were checked.
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
