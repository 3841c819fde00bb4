//! The pipeline itself: boxes of data in, encoded on the pool, with bounded memory, registered at the end.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use icecore_catalog::{ChunkPlace, Writer, is_within};
use icecore_chunk::ArrayMeta;
use icecore_grid::{Error, Region, Result};

use super::append::{Fate, Packer, Placed, Target, fate, object};
use super::buffers::{Lent, Memory};
use super::chunk_reuse::ChunkReuse;
use super::data::Data;
use super::{encode, plan};
use crate::pool::{guarded, pool};

/// Queued bytes per thread that keep the pool busy; two boxes do so too. A longer queue only touches more fresh memory,
/// which costs the kernel nearly as much time as a fast codec.
const ENOUGH: usize = 16 << 20;

/// Options of a [`Writing`].
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Maximum bytes of queued data; a larger single box is still accepted. Encoded data takes at most as much again,
    /// and idle blocks a third of it.
    pub memory: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { memory: 256 << 20 }
    }
}

/// Amount of data written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Written {
    pub bytes_raw: u64,
    pub bytes_stored: u64,
    /// Number of stored chunks.
    pub chunks: u64,
    /// Number of chunks equal to the stored ones, which keep their references.
    pub kept: u64,
}

/// Chunks of one array, by number.
pub type Places = BTreeMap<u64, ChunkPlace>;

impl Written {
    fn add(&mut self, other: Self) {
        self.bytes_raw += other.bytes_raw;
        self.bytes_stored += other.bytes_stored;
        self.chunks += other.chunks;
        self.kept += other.kept;
    }

    fn add_stored(&mut self, bytes: u64) {
        self.bytes_stored += bytes;
        self.chunks += 1;
    }
}

/// A write in progress on one catalog writer.
pub struct Writing {
    pub(super) shared: Arc<Shared>,
    options: WriteOptions,
}

pub(super) struct Shared {
    writer: Arc<Writer>,
    reuse: ChunkReuse,
    pub memory: Memory,
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    in_flight: usize,
    jobs: usize,
    /// The first error of each array, in order of occurrence: an array's error does not affect other arrays.
    errors: Vec<(String, Error)>,
    packer: Packer,
    placed: Vec<Placed>,
    /// Registered chunks by array, if this is a fork.
    log: Option<BTreeMap<String, Places>>,
    /// Number of calls of `write`.
    turn: u64,
    written: Written,
    per_array: HashMap<String, Written>,
}

impl State {
    /// The error of an array.
    fn error_of(&self, path: &str) -> Option<&Error> {
        self.errors.iter().find(|(failed, _)| failed == path).map(|(_, error)| error)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an encoded chunk (or shard); `None`: only fill values.
    pub fn place(&self, target: Target, encoded: Option<Lent>, meta: &ArrayMeta) -> Result<()> {
        if self.reuse.holds(&self.writer, &target, encoded.as_deref()) {
            let mut state = self.lock();
            state.written.kept += 1;
            state.per_array.entry(target.path.clone()).or_default().kept += 1;
            state.placed.push((target, None));
            return Ok(());
        }
        let Some(encoded) = encoded else {
            self.lock().placed.push((target, Some(ChunkPlace::Missing)));
            return Ok(());
        };
        let stored = encoded.len() as u64;
        let path = target.path.clone();
        let contained = meta.contained(&encoded);
        self.store(target, encoded, contained)?;
        let mut state = self.lock();
        state.written.add_stored(stored);
        state.per_array.entry(path).or_default().add_stored(stored);
        Ok(())
    }

    /// Stores encoded bytes.
    fn store(&self, target: Target, encoded: Lent, contained: Option<Range<usize>>) -> Result<()> {
        match fate(&encoded) {
            Fate::Inline => {
                self.lock().placed.push((target, Some(ChunkPlace::Inline(Bytes::copy_from_slice(&encoded)))))
            }
            Fate::Object => {
                let place = object(&self.writer, encoded)?;
                self.lock().placed.push((target, Some(place)));
            }
            Fate::Packed => {
                let full = self.lock().packer.add(target, &encoded, contained);
                if let Some(pack) = full {
                    let placed = pack.write(&self.writer)?;
                    self.lock().placed.extend(placed);
                }
            }
        }
        Ok(())
    }

    /// Records that a box of this many bytes has been encoded.
    fn left(&self, state: &mut State, bytes: usize) {
        state.in_flight -= bytes;
        self.memory.tally.sub(bytes);
    }

    /// The number of a new write.
    pub fn turn(&self) -> u64 {
        let mut state = self.lock();
        state.turn += 1;
        state.turn
    }

    /// Runs one of the reserved jobs, unless one of the same array failed before; afterwards `bytes` fewer are queued.
    fn job(&self, path: &str, work: impl FnOnce() -> Result<()>, bytes: impl FnOnce() -> usize) {
        let failed = self.lock().error_of(path).is_some();
        let result = if failed { Ok(()) } else { guarded(work) };
        let bytes = bytes();
        let mut state = self.lock();
        if let Err(error) = result
            && state.error_of(path).is_none()
        {
            state.errors.push((path.to_owned(), named(path, error)));
        }
        state.jobs -= 1;
        self.left(&mut state, bytes);
        self.done.notify_all();
    }
}

/// Adds the array's path to an error, which may be reported while another array is written.
fn named(path: &str, error: Error) -> Error {
    if error.message.contains(path) {
        return error;
    }
    Error { message: format!("{path}: {}", error.message), ..error }
}

impl Writing {
    /// Starts a pipeline on `writer`.
    pub fn new(writer: Arc<Writer>, options: WriteOptions) -> Self {
        let (reuse, state, done) = (ChunkReuse::default(), Mutex::default(), Condvar::new());
        let memory = Memory::new(options.memory);
        Self { shared: Arc::new(Shared { writer, reuse, memory, state, done }), options }
    }

    /// The underlying catalog writer.
    pub fn writer(&self) -> &Arc<Writer> {
        &self.shared.writer
    }

    /// From now on chunks of the array at `path` that encode to the stored bytes keep their references, until
    /// [`Writing::commit`] or [`Writing::forget`].
    ///
    /// # Errors
    /// The errors of reading the array's references.
    pub fn compare(&self, path: &str, meta: &ArrayMeta) -> Result<()> {
        let table = self.shared.writer.snapshot()?.table(path)?;
        self.shared.reuse.watch(path, table, meta.grid.len()?);
        Ok(())
    }

    /// Stops comparing chunks of `path` and everything below it: it was deleted, or its chunk numbers changed.
    pub fn forget(&self, path: &str) {
        self.shared.reuse.forget(path);
    }

    /// Queues `data` for `region` of the array at `path`; waits while the queue exceeds its limit.
    ///
    /// # Errors
    /// `mismatch` if the data does not fit the region or the region is not made of whole chunks; also the first error
    /// of earlier data of this array. Errors of other arrays are reported by [`Writing::flush`] and
    /// [`Writing::failed`].
    pub fn write(&self, path: &str, meta: &Arc<ArrayMeta>, region: Region, data: Data) -> Result<()> {
        data.check(path, meta, &region)?;
        let chunks = plan::chunks(path, meta, &region)?;
        let bytes = data.bytes();
        self.reserve(path, bytes, chunks.len())?;
        let path: Arc<str> = path.into();
        let job = Arc::new((Arc::clone(meta), region, data));
        if chunks.is_empty() {
            self.shared.left(&mut self.shared.lock(), bytes);
        }
        let turn = self.shared.turn();
        let left = Arc::new(AtomicUsize::new(chunks.len()));
        for flat in chunks {
            let (shared, job, left) = (Arc::clone(&self.shared), Arc::clone(&job), Arc::clone(&left));
            let path = Arc::clone(&path);
            pool()?.spawn(move || {
                let of = &*shared;
                let target = Target { path: path.to_string(), chunk: flat, turn };
                // The last `job` drops the data before its bytes stop counting as queued.
                let work = move || {
                    let (meta, region, data) = &*job;
                    of.place(target, encode::encode(meta, flat, region, data, &of.memory)?, meta)
                };
                let last = || left.fetch_sub(1, Ordering::AcqRel) == 1;
                shared.job(&path, work, || if last() { bytes } else { 0 });
            });
        }
        Ok(())
    }

    /// Queues `work` on `bytes` bytes of the array at `path`; waits while the queue exceeds its limit.
    pub(super) fn spawn(
        &self,
        path: &str,
        bytes: usize,
        work: impl FnOnce(&Shared) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.reserve(path, bytes, 1)?;
        let (shared, path) = (Arc::clone(&self.shared), path.to_owned());
        pool()?.spawn(move || shared.job(&path, || work(&shared), || bytes));
        Ok(())
    }

    fn reserve(&self, path: &str, bytes: usize, jobs: usize) -> Result<()> {
        let most = self.options.memory.min(ENOUGH.saturating_mul(pool()?.current_num_threads()).max(2 * bytes));
        let mut state = self.shared.lock();
        while state.in_flight > 0 && state.in_flight + bytes > most && state.error_of(path).is_none() {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = state.error_of(path) {
            return Err(error.clone());
        }
        state.in_flight += bytes;
        self.shared.memory.tally.add(bytes);
        state.jobs += jobs;
        state.written.bytes_raw += bytes as u64;
        state.per_array.entry(path.to_owned()).or_default().bytes_raw += bytes as u64;
        Ok(())
    }

    /// Waits until everything queued is stored or has failed.
    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.shared.lock();
        while state.jobs > 0 {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// The arrays that have failed so far, with the first error of each; with `all` it first waits for everything
    /// queued. Nothing can be committed before they are deleted.
    pub fn failed(&self, all: bool) -> Vec<(String, Error)> {
        let state = if all { self.settled() } else { self.shared.lock() };
        state.errors.clone()
    }

    /// Waits until everything queued is stored, and registers it with the catalog writer.
    ///
    /// # Errors
    /// The first error of the queued data.
    pub fn flush(&self) -> Result<()> {
        let mut state = self.settled();
        if let Some((_, error)) = state.errors.first() {
            return Err(error.clone());
        }
        let packer = std::mem::take(&mut state.packer);
        let mut placed = std::mem::take(&mut state.placed);
        drop(state);
        placed.extend(packer.write(&self.shared.writer)?);
        placed.sort_by_key(|(target, _)| target.turn);
        let mut by_path: BTreeMap<String, BTreeMap<u64, Option<ChunkPlace>>> = BTreeMap::new();
        for (target, place) in placed {
            by_path.entry(target.path).or_default().insert(target.chunk, place);
        }
        by_path.into_iter().try_for_each(|(path, chunks)| {
            let moved = chunks.into_iter().filter_map(|(chunk, place)| place.map(|place| (chunk, place)));
            self.register(&path, &moved.collect::<Vec<_>>())
        })
    }

    /// Registers locations of chunks, and logs them for [`Writing::take`].
    fn register(&self, path: &str, chunks: &[(u64, ChunkPlace)]) -> Result<()> {
        if chunks.is_empty() {
            return Ok(());
        }
        self.shared.reuse.moved(path, chunks.iter().map(|(chunk, _)| *chunk));
        self.shared.writer.set_chunks(path, chunks)?;
        if let Some(log) = &mut self.shared.lock().log {
            log.entry(path.to_owned()).or_default().extend(chunks.iter().cloned());
        }
        Ok(())
    }

    /// Starts the log of a forked writer, whose chunks another writer merges.
    pub fn fork(&self) {
        self.shared.lock().log = Some(BTreeMap::new());
    }

    /// Waits until everything queued is stored, and returns the locations of all chunks by array; requires
    /// [`Writing::fork`].
    ///
    /// # Errors
    /// The first error of the queued data.
    pub fn take(&self) -> Result<BTreeMap<String, Places>> {
        self.flush()?;
        self.shared.writer.synchronise()?;
        let mut state = self.shared.lock();
        Ok(state.log.as_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Registers chunks that a forked writer stored in the same repository, and adds its counts.
    ///
    /// # Errors
    /// The errors of [`Writer::set_chunks`].
    pub fn merge(&self, path: &str, places: &Places, written: Written) -> Result<()> {
        let chunks: Vec<(u64, ChunkPlace)> = places.iter().map(|(chunk, place)| (*chunk, place.clone())).collect();
        self.register(path, &chunks)?;
        let mut state = self.shared.lock();
        state.written.add(written);
        state.per_array.entry(path.to_owned()).or_default().add(written);
        Ok(())
    }

    /// Removes an array, or a group and everything below it, and discards data queued for it: it would have no
    /// location, or that of a later array with the same path. Its errors are discarded too.
    ///
    /// # Errors
    /// `not-found` if nothing exists at `path`.
    pub fn delete(&self, path: &str) -> Result<()> {
        self.discard(path);
        self.shared.writer.delete(path)
    }

    /// Drops what was queued since the last flush for an array, or for everything below a group, and what went wrong with it.
    pub fn discard(&self, path: &str) {
        let mut state = self.settled();
        state.errors.retain(|(failed, _)| !is_within(failed, path));
        state.placed.retain(|(target, _)| !is_within(&target.path, path));
        state.packer.forget(path);
        if let Some(log) = &mut state.log {
            log.retain(|array, _| !is_within(array, path));
        }
        drop(state);
        self.shared.reuse.forget(path);
    }

    /// Stores the queued data and commits it with all other changes; returns the id of the new version.
    ///
    /// # Errors
    /// The first error of the queue, or the errors of a commit.
    pub fn commit(&self, message: &str) -> Result<String> {
        self.commit_unless(&AtomicBool::new(false), message)
    }

    /// As [`Writing::commit`], but setting `cancel` ends the wait for a clock that is behind.
    ///
    /// # Errors
    /// As for [`Writing::commit`]; Interrupted.
    pub fn commit_unless(&self, cancel: &AtomicBool, message: &str) -> Result<String> {
        self.flush()?;
        let id = self.shared.writer.commit_unless(cancel, message)?;
        self.shared.reuse.clear();
        Ok(id)
    }

    /// Current and maximum memory in bytes: queued data, encoded data, and idle blocks.
    pub fn held(&self) -> (usize, usize) {
        self.shared.memory.tally.read()
    }

    /// Amount of data written, in total and by array.
    pub fn written(&self) -> (Written, HashMap<String, Written>) {
        let state = self.shared.lock();
        (state.written, state.per_array.clone())
    }
}
