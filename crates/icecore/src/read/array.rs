//! An opened array of one snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use icecore_catalog::{ChunkTable, PerProcess, Repo, Snapshot};
use icecore_chunk::ArrayMeta;
use icecore_grid::{ChunkGrid, Error, ErrorKind, Result};
use once_cell::race::OnceBox;

use crate::store::stores;

/// An array with all that reading needs; cheap to share.
pub struct ArrayView {
    repo: Repo,
    snapshot: Snapshot,
    path: String,
    meta: ArrayMeta,
    grid: ChunkGrid,
    number: u64,
    /// Set without a lock, because a forked child could inherit a locked lock.
    table: OnceBox<Arc<ChunkTable>>,
}

impl ArrayView {
    /// Opens the array at `path`.
    ///
    /// # Errors
    /// `not-found` if the array does not exist; `format` or `unsupported` if its metadata can't be used.
    pub fn open(repo: &Repo, snapshot: &Snapshot, path: &str) -> Result<Self> {
        let node = snapshot.node(path).filter(|n| n.is_array);
        let node = node.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("there is no array {path}"))
                .hint("`icecore ls REPO` lists the arrays")
        })?;
        let named = |e: Error| Error { message: format!("{path}: {}", e.message), ..e };
        let meta = ArrayMeta::parse(&node.zarr_json).map_err(named)?;
        let grid = meta.chunk_grid().map_err(named)?;
        let number = number(&format!("{}|{}|{path}", repo.url(), snapshot.id()));
        Ok(Self {
            repo: repo.clone(),
            snapshot: snapshot.clone(),
            path: path.to_owned(),
            meta,
            grid,
            number,
            table: OnceBox::new(),
        })
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn meta(&self) -> &ArrayMeta {
        &self.meta
    }

    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The grid of the decoded units: inner chunks if the array is sharded.
    pub fn grid(&self) -> &ChunkGrid {
        &self.grid
    }

    /// A process-wide number for (repository, snapshot, path): the same array opened twice shares its cached chunks.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The locations of the chunks; loaded once.
    pub fn table(&self) -> Result<&Arc<ChunkTable>> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let table = self.snapshot.table(&self.path)?;
        Ok(self.table.get_or_init(|| Box::new(table)))
    }

    /// Whether reading a part of the array may need a part of its table only.
    pub(crate) fn is_divided(&self) -> bool {
        self.table.get().is_none() && self.snapshot.is_divided(&self.path)
    }

    /// A table for each array, in this order, with the locations of at least these chunks. They are loaded
    /// concurrently: a remote repository needs one round trip.
    pub(crate) fn tables_with(needs: &[(&Self, Vec<u64>)]) -> Result<Vec<Arc<ChunkTable>>> {
        let parts = Self::load_tables(needs)?;
        // A view's own table comes first: a part was loaded for the chunks of the other views of the same array only.
        let table = |(view, _): &(&Self, Vec<u64>)| match (view.table.get(), parts.get(&view.number)) {
            (None, Some((table, false))) => Ok(Arc::clone(table)),
            (None, Some((table, true))) => Ok(Arc::clone(view.table.get_or_init(|| Box::new(Arc::clone(table))))),
            _ => view.table().cloned(),
        };
        needs.iter().map(table).collect()
    }

    /// The tables of those arrays whose whole table was not loaded before, and whether each is whole.
    fn load_tables(needs: &[(&Self, Vec<u64>)]) -> Result<HashMap<u64, (Arc<ChunkTable>, bool)>> {
        let mut missing: BTreeMap<u64, (&Self, Vec<u64>)> = BTreeMap::new();
        for (view, flats) in needs.iter().filter(|(view, _)| view.table.get().is_none()) {
            missing.entry(view.number).or_insert_with(|| (view, Vec::new())).1.extend(flats);
        }
        let mut missing: Vec<(&Self, Vec<u64>)> = missing.into_values().collect();
        let mut loaded = HashMap::new();
        while let Some(&(first, _)) = missing.first() {
            let (here, elsewhere): (Vec<_>, Vec<_>) = missing.into_iter().partition(|(v, _)| v.same_snapshot(first));
            stores().prepare(&first.repo);
            let paths: Vec<(&str, &[u64])> =
                here.iter().map(|(v, flats)| (v.path.as_str(), flats.as_slice())).collect();
            let tables = first.snapshot.tables_with(&paths)?;
            loaded.extend(here.iter().map(|(view, _)| view.number).zip(tables));
            missing = elsewhere;
        }
        Ok(loaded)
    }

    fn same_snapshot(&self, other: &Self) -> bool {
        self.snapshot.id() == other.snapshot.id() && self.repo.url() == other.repo.url()
    }
}

/// Maximum number of arrays whose numbers are remembered. An array that is opened again after that gets another number, and
/// finds none of its chunks in the cache.
const NUMBERED: usize = 1 << 15;

fn number(key: &str) -> u64 {
    static NUMBERS: PerProcess<Mutex<HashMap<String, u64>>> = PerProcess::new();
    // The count continues in a child process, which may still use its parent's arrays under their numbers.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut numbers = NUMBERS.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner);
    if numbers.len() >= NUMBERED && !numbers.contains_key(key) {
        numbers.clear();
    }
    *numbers.entry(key.to_owned()).or_insert_with(|| NEXT.fetch_add(1, Ordering::Relaxed))
}
