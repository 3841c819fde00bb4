//! verify: check that all references of a snapshot exist and are unchanged and readable.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use icecore_catalog::{Damage, Location, Place, Repo, Snapshot};
use icecore_grid::{Error, Index, Mode, Region, Result, Selection};

use crate::pool::for_each;
use crate::read::{ArrayView, Blobs, Query, ReadOptions, Target, read};
use crate::store::{Source, stores};

/// A problem that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub error: Error,
    pub path: String,
    /// Coordinates in the grid of references; None if the problem concerns the whole array or object.
    pub chunk: Option<Vec<u64>>,
    /// The file or object.
    pub place: String,
}

impl From<Damage> for Problem {
    fn from(damage: Damage) -> Self {
        Self { error: damage.error, path: String::new(), chunk: None, place: damage.place }
    }
}

/// Extent of the check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Depth {
    /// Read and decode every chunk of the version.
    pub deep: bool,
    /// All versions of the repository: every file that belongs to them.
    pub history: bool,
}

/// Checks a version's own files and all references of all its arrays, and more depending on `depth`. `progress(done,
/// total)` counts versions, then chunks. Stops soon after `cancel` is set.
///
/// # Errors
/// Only errors that prevent the check itself, and Interrupted; everything wrong in the repository is a [`Problem`].
pub fn verify(
    repo: &Repo,
    snapshot: &Snapshot,
    depth: Depth,
    progress: &(dyn Fn(u64, u64) + Sync),
    cancel: &AtomicBool,
) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    if depth.history {
        problems.extend(repo.audit(None, progress, cancel)?.into_iter().map(Problem::from));
    } else if snapshot.is_committed() {
        problems.extend(repo.audit(Some(snapshot.id()), progress, cancel)?.into_iter().map(Problem::from));
    }
    let mut views = Vec::new();
    for node in snapshot.nodes().iter().filter(|n| n.is_array) {
        go_on(cancel)?;
        match ArrayView::open(repo, snapshot, &node.path).and_then(|v| v.table().map(|_| ()).map(|()| v)) {
            Ok(view) => views.push(view),
            Err(error) => problems.push(Problem { error, path: node.path.clone(), chunk: None, place: String::new() }),
        }
    }
    let total = views.iter().map(|v| v.table().map_or(0, |t| t.len() as u64)).sum();
    let mut done = 0;
    for view in &views {
        let broken = references(view, &mut problems, cancel)?;
        let chunks: Vec<u64> = view.table()?.iter().map(|(flat, _)| flat).filter(|f| !broken.contains(f)).collect();
        if depth.deep {
            decode(view, &chunks, &mut problems, &|n| progress(done + n, total), cancel)?;
        }
        done += view.table()?.len() as u64;
        progress(done, total);
    }
    Ok(problems)
}

/// Checks that every reference is inside an existing object; returns the chunks that are not.
fn references(view: &ArrayView, problems: &mut Vec<Problem>, cancel: &AtomicBool) -> Result<Vec<u64>> {
    let table = view.table()?;
    let mut objects: HashMap<u32, std::result::Result<Option<u64>, Error>> = HashMap::new();
    let (cells, mut broken) = (view.meta().grid.len()?, Vec::new());
    let mut problem = |chunk: Option<u64>, place: &str, error: Error| {
        let chunk = chunk.map(|flat| view.meta().grid.coords(flat));
        problems.push(Problem { error, path: view.path().to_owned(), chunk, place: place.to_owned() });
    };
    for (flat, place) in table.iter() {
        go_on(cancel)?;
        if flat >= cells {
            problem(None, "", corrupt(format!("chunk number {flat} is outside the grid of {cells}")));
            broken.push(flat);
            continue;
        }
        let Place::Range { object, offset, length } = place else { continue };
        let Some(entry) = table.objects.get(object as usize) else { continue };
        let name = match &entry.location {
            Location::Native(name) | Location::Link(name) => name.as_str(),
        };
        let first = !objects.contains_key(&object);
        let size = objects.entry(object).or_insert_with(|| size(view, entry));
        match size {
            Err(error) if first => problem(None, name, error.clone()),
            Ok(Some(size)) if offset.checked_add(length).is_none_or(|end| end > *size) => {
                let message =
                    format!("bytes {offset}..{} are referred to, {name} has {size}", offset.saturating_add(length));
                problem(Some(flat), name, corrupt(message));
            }
            Ok(_) => continue,
            Err(_) => {}
        }
        broken.push(flat);
    }
    Ok(broken)
}

fn go_on(cancel: &AtomicBool) -> Result<()> {
    if cancel.load(Ordering::Relaxed) {
        return Err(Error::new(icecore_grid::ErrorKind::Interrupted, "the check was interrupted"));
    }
    Ok(())
}

fn corrupt(message: String) -> Error {
    Error::new(icecore_grid::ErrorKind::Corrupt, message)
}

/// Size of an object, if it can be determined without reading it.
fn size(view: &ArrayView, object: &icecore_catalog::Object) -> Result<Option<u64>> {
    match stores().open(view.repo(), view.snapshot(), object)? {
        Source::Local(file) => Ok(Some(file.size())),
        Source::Remote(remote) => {
            let Some(now) = icecore_catalog::runtime().block_on(remote.probe())? else { return Ok(None) };
            if let Location::Link(url) = &object.location
                && let Some(was) = view.snapshot().source_identity(url)?
                && (was.size != now.size || was.etag.is_some() && was.etag != now.etag)
            {
                let message = format!(
                    "{url} changed since it was linked: {} bytes and etag {:?} then, {} and {:?} now",
                    was.size, was.etag, now.size, now.etag
                );
                return Err(
                    Error::new(icecore_grid::ErrorKind::SourceChanged, message).hint("link it again with --replace")
                );
            }
            Ok(Some(now.size))
        }
    }
}

fn decode(
    view: &ArrayView,
    chunks: &[u64],
    problems: &mut Vec<Problem>,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<()> {
    let found = Mutex::new(Vec::new());
    let done = AtomicU64::new(0);
    let options = ReadOptions { cache: false, ..ReadOptions::default() };
    for_each(chunks.len(), |i| {
        let Some(flat) = chunks.get(i) else { return Ok(()) };
        go_on(cancel)?;
        let coords = view.meta().grid.coords(*flat);
        if let Err(error) = read_region(view, &view.meta().grid.region(&coords), &options) {
            let problem = Problem { error, path: view.path().to_owned(), chunk: Some(coords), place: String::new() };
            found.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
        }
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    })?;
    problems.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

/// Which of these objects of the repository hold a chunk of this version that can't be decoded.
///
/// # Errors
/// Only errors that prevent the check itself, and Interrupted.
pub(crate) fn undecodable(
    repo: &Repo,
    snapshot: &Snapshot,
    names: &HashSet<String>,
    cancel: &AtomicBool,
) -> Result<HashSet<String>> {
    let mut broken = HashSet::new();
    let options = ReadOptions { cache: false, ..ReadOptions::default() };
    for node in snapshot.nodes().iter().filter(|n| n.is_array) {
        let view = ArrayView::open(repo, snapshot, &node.path)?;
        let table = view.table()?;
        let name = |object: u32| match table.objects.get(object as usize).map(|object| &object.location) {
            Some(Location::Native(name)) if names.contains(name) => Some(name.clone()),
            _ => None,
        };
        for (flat, place) in table.iter() {
            let Place::Range { object, .. } = place else { continue };
            let Some(name) = name(object).filter(|name| !broken.contains(name)) else { continue };
            go_on(cancel)?;
            let coords = view.meta().grid.coords(flat);
            if read_region(&view, &view.meta().grid.region(&coords), &options).is_err() {
                broken.insert(name);
            }
        }
    }
    Ok(broken)
}

fn read_region(view: &ArrayView, region: &Region, options: &ReadOptions) -> Result<()> {
    let slices: Vec<Index> = region
        .start
        .iter()
        .zip(&region.shape)
        .map(|(s, n)| Index::Slice {
            start: i64::try_from(*s).ok(),
            stop: i64::try_from(s.saturating_add(*n)).ok(),
            step: None,
        })
        .collect();
    let selection = Selection::resolve(&view.meta().shape, &slices, Mode::Numpy)?;
    let blobs = Blobs::default();
    let query = Query { array: view, selection: &selection, target: Target::none(), blobs: &blobs };
    let bytes = query.bytes()?;
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(bytes)
        .map_err(|_| Error::new(icecore_grid::ErrorKind::Memory, format!("no memory for a chunk of {bytes} bytes")))?;
    buffer.resize(bytes, 0);
    read(&[Query { target: Target::new(&mut buffer), ..query }], options).map(|_| ())
}
