//! Recently opened versions of local repositories: opening one again does not decode the whole list of its nodes.
//!
//! A version never changes, but its file may be damaged or replaced: the file's length, time and inode are compared.
//! The lock is only tried, so a forked child that inherits it locked goes without.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use icechunk::format::snapshot::Snapshot;

use crate::nodes::node::Node;

/// Versions kept, and bytes of metadata documents that they may have in all.
const MOST: usize = 8;
const BYTES: usize = 64 << 20;

static RECENT: Mutex<Vec<(Key, Decoded)>> = Mutex::new(Vec::new());

/// The file of a version and its state.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    path: PathBuf,
    length: u64,
    modified: SystemTime,
    inode: u64,
}

/// A decoded version; the nodes are sorted by path.
#[derive(Clone)]
pub(crate) struct Decoded {
    pub snapshot: Arc<Snapshot>,
    pub nodes: Arc<[Node]>,
}

impl Decoded {
    fn bytes(&self) -> usize {
        self.nodes.iter().map(|node| node.zarr_json.len() + node.path.len()).sum()
    }
}

impl Key {
    /// The key of a version's file; None if it can't be examined.
    pub(crate) fn of(root: &Path, id: &str) -> Option<Self> {
        let path = root.join("snapshots").join(id);
        let found = std::fs::metadata(&path).ok()?;
        Some(Self { length: found.len(), modified: found.modified().ok()?, inode: inode(&found), path })
    }
}

#[cfg(unix)]
fn inode(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_found: &std::fs::Metadata) -> u64 {
    0
}

/// The version that was decoded from the same file.
pub(crate) fn get(key: &Key) -> Option<Decoded> {
    let mut recent = RECENT.try_lock().ok()?;
    let at = recent.iter().position(|(known, _)| known == key)?;
    let found = recent.remove(at);
    let decoded = found.1.clone();
    recent.push(found);
    Some(decoded)
}

/// Keeps a version; those used longest ago make room.
pub(crate) fn put(key: Key, decoded: &Decoded) {
    let Ok(mut recent) = RECENT.try_lock() else { return };
    recent.retain(|(known, _)| known.path != key.path);
    recent.push((key, decoded.clone()));
    let mut bytes = 0;
    let first = recent.iter().rev().take(MOST).take_while(|(_, each)| {
        bytes += each.bytes();
        bytes <= BYTES
    });
    let kept = first.count();
    let gone = recent.len() - kept;
    recent.drain(..gone);
}
