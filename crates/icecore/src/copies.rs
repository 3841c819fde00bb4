//! What copies need of the engine: the bytes of linked chunks, and which of two objects can be decoded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use icecore_catalog::{Link, Location, Mending, Object, Repo, Snapshot};
use icecore_grid::{ErrorKind, Result};

use crate::store::{Source, stores};
use crate::verify::undecodable;

/// Requests for linked chunks in flight.
const REQUESTS: usize = 16;

/// Reads linked chunks, each from the file that it was linked to, if that is unchanged.
///
/// # Errors
/// SourceChanged, LinkNotAllowed, NotFound, Io, Network.
pub fn read_links(repo: &Repo, links: &[Link]) -> Result<Vec<Bytes>> {
    let mut versions: HashMap<&str, Snapshot> = HashMap::new();
    for link in links {
        if !versions.contains_key(link.version.as_str()) {
            versions.insert(&link.version, repo.snapshot(Some(&link.version))?);
        }
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..REQUESTS.min(links.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(link) = links.get(at) else { return };
                    let Some(version) = versions.get(link.version.as_str()) else { return };
                    let bytes = read_link(repo, version, link);
                    let has_failed = bytes.is_err();
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(at, bytes);
                    if has_failed {
                        next.store(links.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn read_link(repo: &Repo, version: &Snapshot, link: &Link) -> Result<Bytes> {
    let object = Object { location: Location::Link(link.url.clone()), checksum: None };
    match stores().open(repo, version, &object)? {
        Source::Local(file) => {
            let mut buffer = vec![0; usize::try_from(link.length).unwrap_or(usize::MAX)];
            file.read_at(link.offset, &mut buffer)?;
            Ok(buffer.into())
        }
        Source::Remote(remote) => icecore_catalog::runtime().block_on(remote.get(link.offset, link.length)),
    }
}

/// Mends a repository from a copy. Of chunk objects that differ, the one that can't be decoded is the damaged one; where
/// both can be decoded, `trusts_copy` takes the copy's, and otherwise they are returned as suspects.
///
/// # Errors
/// Those of [`Repo::mend`].
pub fn repair(
    repo: &Repo,
    copy: &Repo,
    trusts_copy: bool,
    progress: &(dyn Fn(u64, u64) + Sync),
    cancel: &AtomicBool,
) -> Result<Mending> {
    let mut done = repo.mend(copy, progress, cancel)?;
    let mut by_version: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    for suspect in &done.suspects {
        by_version.entry(suspect.version.clone()).or_default().insert(suspect.name.clone());
    }
    let (mut broken_here, mut broken_there) = (HashSet::new(), HashSet::new());
    for (version, names) in &by_version {
        broken_here.extend(undecodable(repo, &repo.snapshot(Some(version))?, names, cancel)?);
        broken_there.extend(match copy.snapshot(Some(version)) {
            Ok(snapshot) => undecodable(copy, &snapshot, names, cancel)?,
            // It has the object and not this version: nothing is known about it.
            Err(e) if e.kind == ErrorKind::NotFound => HashSet::new(),
            Err(e) => return Err(e),
        });
    }
    let mut wanted = Vec::new();
    done.suspects.retain(|suspect| match (broken_here.contains(&suspect.name), broken_there.contains(&suspect.name)) {
        (true, true) => {
            done.lost.push(suspect.name.clone());
            false
        }
        (true, false) => {
            wanted.push(suspect.name.clone());
            false
        }
        (false, false) if trusts_copy => {
            wanted.push(suspect.name.clone());
            false
        }
        (false, true) => {
            done.missing_in_copy += 1;
            false
        }
        (false, false) => true,
    });
    repo.replace_objects(copy, &wanted)?;
    done.mended.extend(wanted);
    Ok(done)
}
