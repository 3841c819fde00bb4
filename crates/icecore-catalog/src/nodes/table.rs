//! The reference table of one array: the storage locations of all its chunks, as columns.

use std::collections::HashMap;

use bytes::Bytes;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error::damaged;

/// One object that holds chunks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    pub location: Location,
    /// The validator that Icechunk compares when it reads a linked object; native objects have none.
    pub checksum: Option<Checksum>,
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// An object of the repository: its name below the root, `chunks/…`.
    Native(String),
    /// A linked file: its URL, percent-encoded as recorded.
    Link(String),
}

/// Identifies a linked object's content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// Not modified after this time, in seconds since 1970.
    LastModified(u32),
    ETag(String),
}

/// Location of one chunk.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Never written: it reads as the fill value.
    Missing,
    Inline(Bytes),
    /// `object` is an index into [`ChunkTable::objects`].
    Range {
        object: u32,
        offset: u64,
        length: u64,
    },
}

/// Value of the object column for an inline chunk.
const INLINE: u32 = u32::MAX;

/// The references of one array, sorted by flat chunk index (C order over the chunk grid).
#[derive(Debug, Default, PartialEq)]
pub struct ChunkTable {
    pub objects: Vec<Object>,
    /// Empty if the chunks are exactly 0, 1, 2, …
    flats: Vec<u64>,
    object: Vec<u32>,
    /// For inline chunks, an index into `inline`.
    offset: Vec<u64>,
    length: Vec<u64>,
    inline: Vec<Bytes>,
}

impl ChunkTable {
    /// Number of stored chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.object.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.object.is_empty()
    }

    /// The location of the chunk with this flat index.
    #[must_use]
    pub fn get(&self, flat: u64) -> Place {
        let row = if self.flats.is_empty() { usize::try_from(flat).ok() } else { self.flats.binary_search(&flat).ok() };
        row.map_or(Place::Missing, |row| self.place(row))
    }

    /// All stored chunks in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Place)> + '_ {
        (0..self.len()).map(|row| (self.flats.get(row).copied().unwrap_or(row as u64), self.place(row)))
    }

    fn place(&self, row: usize) -> Place {
        match (self.object.get(row), self.offset.get(row), self.length.get(row)) {
            (Some(&INLINE), Some(&index), _) => {
                let bytes = usize::try_from(index).ok().and_then(|i| self.inline.get(i));
                bytes.map_or(Place::Missing, |bytes| Place::Inline(bytes.clone()))
            }
            (Some(&object), Some(&offset), Some(&length)) => Place::Range { object, offset, length },
            _ => Place::Missing,
        }
    }

    /// Approximate memory of the table in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let rows = self.object.len() * 20 + self.flats.len() * 8;
        let inline: usize = self.inline.iter().map(|b| b.len() + 32).sum();
        (rows + inline + self.objects.len() * 120) as u64
    }
}

/// Builds a table from references in any order; fastest if they are sorted and consecutive ones share an object.
pub(crate) struct TableBuilder {
    counts: Vec<u64>,
    table: ChunkTable,
    known: HashMap<Object, u32>,
    last: u32,
    is_sorted: bool,
}

impl TableBuilder {
    /// A builder for an array with this many chunks along each axis.
    pub fn new(counts: &[u32]) -> Result<Self> {
        let counts: Vec<u64> = counts.iter().map(|n| u64::from(*n)).collect();
        if counts.iter().try_fold(1u64, |all, n| all.checked_mul((*n).max(1))).is_none() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("a grid of {counts:?} chunks has more than 2^64 of them"),
            ));
        }
        Ok(Self { counts, table: ChunkTable::default(), known: HashMap::new(), last: INLINE, is_sorted: true })
    }

    /// The flat index of a chunk; None outside the grid (an array that was shrunk keeps its old references).
    pub fn flat(&self, coords: &[u32]) -> Option<u64> {
        if coords.len() != self.counts.len() {
            return None;
        }
        let inside = coords.iter().zip(&self.counts).all(|(c, n)| u64::from(*c) < *n);
        inside.then(|| coords.iter().zip(&self.counts).fold(0, |flat, (c, n)| flat * n + u64::from(*c)))
    }

    pub fn inline(&mut self, flat: u64, bytes: Bytes) {
        let (index, length) = (self.table.inline.len() as u64, bytes.len() as u64);
        self.table.inline.push(bytes);
        self.row(flat, INLINE, index, length);
    }

    /// Adds a chunk inside an object; `is_same` tests whether it is the object of the previous chunk, `object` creates
    /// one otherwise.
    pub fn range(
        &mut self,
        flat: u64,
        offset: u64,
        length: u64,
        is_same: impl FnOnce(&Object) -> bool,
        object: impl FnOnce() -> Result<Object>,
    ) -> Result<()> {
        let last = self.table.objects.get(self.last as usize);
        if !last.is_some_and(is_same) {
            self.last = self.intern(object()?)?;
        }
        self.row(flat, self.last, offset, length);
        Ok(())
    }

    fn intern(&mut self, object: Object) -> Result<u32> {
        if let Some(index) = self.known.get(&object) {
            return Ok(*index);
        }
        let index = u32::try_from(self.table.objects.len()).ok().filter(|i| *i != INLINE);
        let index = index.ok_or_else(|| Error::new(ErrorKind::Unsupported, "an array with more than 2^32 objects"))?;
        self.table.objects.push(object.clone());
        self.known.insert(object, index);
        Ok(index)
    }

    fn row(&mut self, flat: u64, object: u32, offset: u64, length: u64) {
        self.is_sorted &= self.table.flats.last().is_none_or(|last| *last < flat);
        self.table.flats.push(flat);
        self.table.object.push(object);
        self.table.offset.push(offset);
        self.table.length.push(length);
    }

    /// Sorts the references and returns the table.
    ///
    /// # Errors
    /// Corrupt if two references are for the same chunk.
    pub fn finish(self) -> Result<ChunkTable> {
        let mut table = self.table;
        if !self.is_sorted {
            let mut order: Vec<usize> = (0..table.flats.len()).collect();
            order.sort_unstable_by_key(|row| table.flats.get(*row).copied());
            table.flats = permuted(&table.flats, &order);
            table.object = permuted(&table.object, &order);
            table.offset = permuted(&table.offset, &order);
            table.length = permuted(&table.length, &order);
            if let Some([flat, _]) = table.flats.array_windows::<2>().find(|[a, b]| a == b) {
                return Err(damaged(format!("chunk number {flat} has two references")));
            }
        }
        if table.flats.last().is_none_or(|last| *last == table.flats.len() as u64 - 1) {
            table.flats = Vec::new();
        }
        for column in [&mut table.offset, &mut table.length, &mut table.flats] {
            column.shrink_to_fit();
        }
        table.object.shrink_to_fit();
        Ok(table)
    }
}

fn permuted<T: Copy>(column: &[T], order: &[usize]) -> Vec<T> {
    order.iter().filter_map(|row| column.get(*row).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(url: &str) -> Object {
        Object { location: Location::Link(url.to_owned()), checksum: None }
    }

    fn build(counts: &[u32], rows: &[(&[u32], &str, u64)]) -> Result<ChunkTable> {
        let mut builder = TableBuilder::new(counts)?;
        for (coords, url, offset) in rows {
            let flat = builder.flat(coords).unwrap();
            builder.range(flat, *offset, 10, |o| *o == link(url), || Ok(link(url)))?;
        }
        builder.finish()
    }

    #[test]
    fn sorted_and_dense() {
        let table =
            build(&[2, 2], &[(&[0, 0], "a", 0), (&[0, 1], "a", 10), (&[1, 0], "b", 0), (&[1, 1], "a", 20)]).unwrap();
        assert_eq!((table.len(), table.objects.len()), (4, 2));
        assert!(table.flats.is_empty());
        assert_eq!(table.get(3), Place::Range { object: 0, offset: 20, length: 10 });
        assert_eq!(table.get(4), Place::Missing);
    }

    #[test]
    fn any_order_and_sparse() {
        let table = build(&[3, 3], &[(&[2, 1], "b", 5), (&[0, 1], "a", 0), (&[1, 2], "b", 9)]).unwrap();
        assert_eq!(table.iter().map(|(flat, _)| flat).collect::<Vec<_>>(), [1, 5, 7]);
        assert_eq!(table.get(5), Place::Range { object: 0, offset: 9, length: 10 });
        assert_eq!(table.get(1), Place::Range { object: 1, offset: 0, length: 10 });
        assert_eq!(table.get(0), Place::Missing);
    }

    #[test]
    fn two_references_for_a_chunk_are_refused() {
        assert_eq!(build(&[4], &[(&[1], "a", 0), (&[1], "a", 9)]).unwrap_err().kind, ErrorKind::Corrupt);
    }

    #[test]
    fn coordinates_outside_of_the_grid() {
        let builder = TableBuilder::new(&[2, 3]).unwrap();
        assert_eq!(builder.flat(&[1, 2]), Some(5));
        assert_eq!(builder.flat(&[2, 0]), None);
        assert_eq!(builder.flat(&[1]), None);
        assert_eq!(TableBuilder::new(&[]).unwrap().flat(&[]), Some(0));
        assert!(TableBuilder::new(&[u32::MAX; 3]).is_err());
    }

    #[test]
    fn empty_and_inline() {
        assert_eq!(build(&[4], &[]).unwrap().get(0), Place::Missing);
        let mut builder = TableBuilder::new(&[4]).unwrap();
        builder.inline(2, Bytes::from_static(b"two"));
        let table = builder.finish().unwrap();
        assert_eq!(table.get(2), Place::Inline(Bytes::from_static(b"two")));
        assert_eq!(table.get(1), Place::Missing);
    }
}
