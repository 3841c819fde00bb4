//! Chunk reuse: a chunk that encodes to the stored bytes keeps its reference, so that versions share it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use icecore_catalog::{ChunkTable, Location, Place, Writer, is_within};

use super::append::Target;

/// Number of bytes that are compared first.
const HEAD: u64 = 4096;

/// Arrays that are being overwritten.
#[derive(Default)]
pub(crate) struct ChunkReuse {
    arrays: RwLock<HashMap<String, Kept>>,
}

struct Kept {
    table: Arc<ChunkTable>,
    /// Chunk counts of the table's grid. If an array was truncated and grows again, there may be references beyond it
    /// that are in no table.
    chunks: u64,
    /// Chunks that were written again: the table's locations are outdated for them.
    moved: HashSet<u64>,
}

impl ChunkReuse {
    /// Starts comparing chunks written to `path` with those of `table`, in a grid of `chunks`.
    pub fn watch(&self, path: &str, table: Arc<ChunkTable>, chunks: u64) {
        let kept = Kept { table, chunks, moved: HashSet::new() };
        self.arrays.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), kept);
    }

    /// Whether these bytes are stored for the chunk already. (`None`: only fill values.) False if the stored bytes
    /// can't be read.
    pub fn holds(&self, writer: &Writer, target: &Target, encoded: Option<&[u8]>) -> bool {
        let table = {
            let arrays = self.arrays.read().unwrap_or_else(PoisonError::into_inner);
            let known = |kept: &&Kept| target.chunk < kept.chunks && !kept.moved.contains(&target.chunk);
            match arrays.get(&target.path).filter(known) {
                Some(kept) => Arc::clone(&kept.table),
                None => return false,
            }
        };
        match (table.get(target.chunk), encoded) {
            (Place::Missing, None) => true,
            (Place::Inline(old), Some(new)) => old == new,
            (Place::Range { object, offset, length }, Some(new)) if length == new.len() as u64 => {
                match table.objects.get(object as usize).map(|object| &object.location) {
                    Some(Location::Native(name)) => {
                        // Different bytes usually differ near the beginning, so the rest need not be read.
                        let head = length.min(HEAD);
                        let same = |at: u64, n: u64, part: &[u8]| {
                            n == 0 || writer.read_object(name, offset + at, n).is_ok_and(|old| old == part)
                        };
                        let (start, rest) = new.split_at(head as usize);
                        same(0, head, start) && same(head, length - head, rest)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Records that these chunks were written again.
    pub fn moved(&self, path: &str, chunks: impl Iterator<Item = u64>) {
        if let Some(kept) = self.arrays.write().unwrap_or_else(PoisonError::into_inner).get_mut(path) {
            kept.moved.extend(chunks);
        }
    }

    /// Stops comparing chunks of `path` and of everything below it.
    pub fn forget(&self, path: &str) {
        let mut arrays = self.arrays.write().unwrap_or_else(PoisonError::into_inner);
        arrays.retain(|array, _| !is_within(array, path));
    }

    /// Stops all comparisons.
    pub fn clear(&self) {
        self.arrays.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
