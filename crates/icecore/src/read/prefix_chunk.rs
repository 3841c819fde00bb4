//! Reads of the prefix of a byte-plane chunk.

use icecore_chunk::Planes;
use icecore_grid::{Error, Result};

use super::Query;
use super::locate::{Located, Piece};

/// A chunk to be read up to its first `count` planes.
pub(crate) struct PrefixChunk<'a> {
    pub planes: &'a dyn Planes,
    pub count: usize,
    /// Number of the array, index in its grid.
    pub key: (u64, u64),
    query: &'a Query<'a>,
}

impl<'a> PrefixChunk<'a> {
    /// The chunk of a piece; `None` if all of it is needed.
    pub fn of(queries: &'a [Query<'a>], located: &Located, piece: u32) -> Option<Self> {
        let Piece { query: number, cut, .. } = located.pieces.get(piece as usize)?;
        let (number, query) = (*number as usize, queries.get(*number as usize)?);
        let planes = query.array.meta().chain.planes()?;
        let count = located.depths.get(number)?.planes;
        let flat = located.cuts.get(number)?.chunk_flat(*cut as usize);
        (count < planes.count()).then_some(Self { planes, count, key: (query.array.number(), flat), query })
    }

    /// Bytes of the first planes of a chunk of `whole` bytes.
    pub fn prefix_len(&self, head: &[u8], whole: u64) -> Result<u64> {
        self.planes.prefix_len(head, self.count, whole).map_err(|e| self.named(e))
    }

    fn named(&self, error: Error) -> Error {
        let coords = self.query.array.grid().coords(self.key.1);
        Error { message: format!("{}: chunk {coords:?}: {}", self.query.array.path(), error.message), ..error }
    }
}
