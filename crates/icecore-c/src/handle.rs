//! An open repository: a version to read, or changes to a branch.

use std::sync::{Mutex, MutexGuard, PoisonError};

use icecore::catalog::{Mine, Repo, Snapshot, Storage};
use icecore::grid::{Error, ErrorKind, Region, Result};
use icecore::read::{ArrayView, Blobs, Query, ReadOptions, Target, read};
use icecore::session::{Pick, Picks};

use crate::error::invalid;
use crate::writing::Changes;

/// The `icecore *` of C.
pub struct Handle(Mine<State>);

struct State {
    repo: Repo,
    mode: Mode,
}

enum Mode {
    Read(Snapshot),
    Write(Mutex<Changes>),
}

impl Handle {
    /// Opens a repository for reading (`r`) or writing (`w`).
    pub fn open(address: &str, mode: &str, version: Option<&str>) -> Result<Self> {
        let storage = Storage::new(address);
        let (repo, mode) = match mode {
            "r" => {
                let repo = Repo::open(&storage)?;
                let snapshot = repo.snapshot(version)?;
                (repo, Mode::Read(snapshot))
            }
            "w" => {
                let repo = open_or_create(&storage)?;
                let changes = Changes::new(repo.clone(), version.unwrap_or("main"))?;
                (repo, Mode::Write(Mutex::new(changes)))
            }
            other => return Err(invalid(format!("the mode must be \"r\" or \"w\" (got {other:?})"))),
        };
        Ok(Self(Mine::new(State { repo, mode })))
    }

    /// The changes; other threads wait.
    pub fn changes(&self) -> Result<MutexGuard<'_, Changes>> {
        match &self.0.of("a handle")?.mode {
            Mode::Write(changes) => Ok(changes.lock().unwrap_or_else(PoisonError::into_inner)),
            Mode::Read(_) => {
                let error = Error::new(ErrorKind::ReadOnly, "the repository was opened for reading");
                Err(error.hint("icecore_open(address, \"w\", NULL)"))
            }
        }
    }

    /// An array as this handle reads it.
    pub fn array(&self, path: &str) -> Result<ArrayView> {
        let state = self.0.of("a handle")?;
        match &state.mode {
            Mode::Read(snapshot) => ArrayView::open(&state.repo, snapshot, path),
            Mode::Write(_) => ArrayView::open(&state.repo, &self.changes()?.pending()?, path),
        }
    }
}

/// Several ranks may create the repository at the same time.
fn open_or_create(storage: &Storage) -> Result<Repo> {
    match Repo::open(storage) {
        Err(e) if e.kind == ErrorKind::NotFound => match Repo::create(storage) {
            Err(e) if e.kind == ErrorKind::Exists => Repo::open(storage),
            done => done,
        },
        done => done,
    }
}

/// Reads a box of an array into a buffer of exactly its size.
pub fn read_box(view: &ArrayView, region: &Region, buffer: &mut [u8]) -> Result<()> {
    let (path, meta) = (view.path(), view.meta());
    if meta.dtype.is_vlen() {
        let message = format!("{path}: strings of variable length can't be read from C");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    for (axis, ((start, n), length)) in region.start.iter().zip(&region.shape).zip(&meta.shape).enumerate() {
        if start.checked_add(*n).is_none_or(|end| end > *length) {
            let message = format!("{path}: {n} elements from {start} on, axis {axis} has {length}");
            return Err(Error::new(ErrorKind::Selection, message));
        }
    }
    let range = |(start, count): (&u64, &u64)| Pick::Range { start: *start, step: 1, count: *count };
    let axes = region.start.iter().zip(&region.shape).map(range).collect();
    let picks = Picks { shape: meta.shape.clone(), axes, reduced: vec![false; meta.shape.len()] };
    let selection = picks.selection()?;
    let needed = selection.out_len().saturating_mul(meta.dtype.size() as u64);
    if needed != buffer.len() as u64 {
        let message = format!("{path}: the box has {needed} bytes, the buffer {}", buffer.len());
        return Err(Error::new(ErrorKind::Mismatch, message).hint(format!("the dtype is {:?}", meta.dtype)));
    }
    let blobs = Blobs::default();
    let query = Query { array: view, selection: &selection, target: Target::new(buffer), blobs: &blobs };
    read(&[query], &ReadOptions::default()).map(drop)
}
