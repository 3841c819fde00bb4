//! Chunk reuse: a chunk that encodes to the stored bytes keeps its reference, so that versions share it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use icecore_catalog::{ChunkTable, Location, Place, Writer, is_within};

use super::append::Target;

/// Bytes that are compared first.
const HEAD: u64 = 4096;

/// Arrays that are being overwritten.
#[derive(Default)]
pub(crate) struct ChunkReuse {
    arrays: RwLock<HashMap<String, Kept>>,
}

struct Kept {
    table: Arc<ChunkTable>,
    /// Chunks of the grid that the table is for. After them, if an array was truncated and grows again, there may be references
    /// that no table names.
    chunks: u64,
    /// Chunks that have a new place since: the table no longer says where they are.
    moved: HashSet<u64>,
}

impl ChunkReuse {
    /// From now on compares chunks written to `path` with those of `table`, in a grid of `chunks`.
    pub fn watch(&self, path: &str, table: Arc<ChunkTable>, chunks: u64) {
        let kept = Kept { table, chunks, moved: HashSet::new() };
        self.arrays.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), kept);
    }

    /// Is this what is stored for the chunk already? (`None`: only fill values.) What can't be read is not.
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
                        // What differs mostly does so from the beginning, and is not read to its end.
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

    /// These chunks have a new place.
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

    /// Compares nothing any more.
    pub fn clear(&self) {
        self.arrays.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
