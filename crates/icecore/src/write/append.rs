//! append: encoded chunks → objects of the repository, and references to them.
//!
//! Tiny chunks are stored in the references, small ones share an object: a store with a million small objects is slow to
//! read and expensive to list.

use std::collections::HashMap;

use bytes::Bytes;
use icecore_catalog::{ChunkPlace, Writer, is_within};
use icecore_chunk::crc32c;
use icecore_grid::Result;

use super::buffers::Lent;

/// Chunks of up to this many bytes are stored in their reference (Icechunk's own threshold).
pub(crate) const INLINE: usize = 512;
/// Chunks of up to this many bytes share an object …
const SMALL: usize = 1 << 20;
/// … which is written when it has reached this size.
const PACK: usize = 8 << 20;

/// A chunk, and the number of the write: encoding is out of order, and the latest write must win.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub path: String,
    pub chunk: u64,
    pub turn: u64,
}

/// A chunk's location, to be registered under its path and number; `None`: unchanged.
pub(crate) type Placed = (Target, Option<ChunkPlace>);

/// Collects small chunks for a common object.
#[derive(Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    members: Vec<(Target, u64, u64)>, // offset, length
    /// Positions of stored bytes, by checksum and length.
    known: HashMap<(u32, usize), usize>,
}

impl Packer {
    /// Adds a chunk of up to [`SMALL`] bytes; returns a full pack that must be written. Equal bytes are stored once:
    /// columns that are equal, or differ by a constant, share them.
    pub fn add(&mut self, target: Target, encoded: &[u8]) -> Option<Self> {
        // The checksum of bytes that end with their own checksum is always the same, so leave it out.
        let key = (crc32c(0, &encoded[..encoded.len().saturating_sub(4)]), encoded.len());
        let before = self.known.get(&key).copied().filter(|at| self.bytes[*at..].starts_with(encoded));
        let at = before.unwrap_or(self.bytes.len());
        self.members.push((target, at as u64, encoded.len() as u64));
        if before.is_none() {
            self.known.insert(key, at);
            self.bytes.extend_from_slice(encoded);
        }
        (self.bytes.len() >= PACK).then(|| std::mem::take(self))
    }

    /// Discards entries of an array, or of all arrays below a group.
    pub fn forget(&mut self, path: &str) {
        self.members.retain(|(target, ..)| !is_within(&target.path, path));
    }

    /// Writes the common object and returns the locations of its members.
    pub fn write(self, writer: &Writer) -> Result<Vec<Placed>> {
        if self.members.is_empty() {
            return Ok(Vec::new());
        }
        let id = writer.put_object(Bytes::from(self.bytes))?;
        let place = |(target, offset, length)| (target, Some(ChunkPlace::Object { id, offset, length }));
        Ok(self.members.into_iter().map(place).collect())
    }
}

/// Storage of an encoded chunk.
pub(crate) enum Fate {
    Inline,
    Packed,
    Object,
}

/// Chooses the storage by size.
pub(crate) fn fate(encoded: &[u8]) -> Fate {
    match encoded.len() {
        0..=INLINE => Fate::Inline,
        n if n <= SMALL => Fate::Packed,
        _ => Fate::Object,
    }
}

/// Stores a chunk in an object of its own.
pub(crate) fn object(writer: &Writer, encoded: Lent) -> Result<ChunkPlace> {
    let length = encoded.len() as u64;
    Ok(ChunkPlace::Object { id: writer.put_object(Bytes::from_owner(encoded))?, offset: 0, length })
}
