//! append: encoded chunks → objects of the repository, and references to them.
//!
//! Tiny chunks are stored in the references, small ones share an object: a store with a million small objects is slow to
//! read and expensive to list.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

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
    /// Chunks and where their bytes are.
    members: Vec<(Target, Span)>,
    /// Positions of stored bytes, by checksum and length.
    known: HashMap<(u32, usize), usize>,
    /// Parts of chunks that may be chunks of other arrays, by checksum and length.
    inside: HashMap<(u32, usize), usize>,
}

/// Bytes of a [`Packer`]: offset, length.
type Span = (usize, usize);

impl Packer {
    /// Adds a chunk of up to [`SMALL`] bytes; returns a full pack that must be written. Equal bytes are stored once:
    /// columns that are equal, or differ by a constant, share them.
    /// `contained` are the bytes that may be a chunk of another array.
    pub fn add(&mut self, target: Target, encoded: &[u8], contained: Option<Range<usize>>) -> Option<Self> {
        let key = key(encoded);
        let before = self.known.get(&key).copied().filter(|at| self.bytes[*at..].starts_with(encoded));
        let at = before.unwrap_or(self.bytes.len());
        self.members.push((target, (at, encoded.len())));
        if before.is_none() {
            self.known.insert(key, at);
            self.bytes.extend_from_slice(encoded);
            if let Some(part) = contained {
                self.inside.insert(self::key(&encoded[part.clone()]), at + part.start);
            }
        }
        (self.bytes.len() >= PACK).then(|| std::mem::take(self))
    }

    /// Discards entries of an array, or of all arrays below a group.
    pub fn forget(&mut self, path: &str) {
        self.members.retain(|(target, _)| !is_within(&target.path, path));
    }

    /// Writes the common object and returns the locations of its members.
    pub fn write(mut self, writer: &Writer) -> Result<Vec<Placed>> {
        if self.members.is_empty() {
            return Ok(Vec::new());
        }
        if !self.inside.is_empty() {
            self.nest();
        }
        let id = writer.put_object(Bytes::from(self.bytes))?;
        let place = |(target, (offset, length)): (Target, Span)| {
            (target, Some(ChunkPlace::Object { id, offset: offset as u64, length: length as u64 }))
        };
        Ok(self.members.into_iter().map(place).collect())
    }

    /// Moves each chunk whose bytes are also inside of another one there, and closes the gaps.
    fn nest(&mut self) {
        let mut spans: Vec<Span> = self.members.iter().map(|(_, span)| *span).collect();
        spans.sort_unstable();
        spans.dedup();
        let (mut bytes, mut moved, mut nested) = (Vec::new(), HashMap::new(), Vec::new());
        for (at, length) in &spans {
            let chunk = &self.bytes[*at..at + length];
            let other = self.inside.get(&key(chunk)).copied().filter(|other| self.bytes[*other..].starts_with(chunk));
            let container = other.and_then(|other| Some((container(&spans, (other, *length))?, other)));
            match container {
                Some((container, other)) => nested.push((*at, *length, container, other - container)),
                None => {
                    moved.insert(*at, bytes.len());
                    bytes.extend_from_slice(chunk);
                }
            }
        }
        // A chunk may be in one that is itself in another, so the longest are placed first.
        nested.sort_unstable_by_key(|(_, length, ..)| Reverse(*length));
        for (at, _, container, offset) in nested {
            moved.insert(at, moved.get(&container).copied().unwrap_or(container) + offset);
        }
        for (_, (at, _)) in &mut self.members {
            *at = moved.get(at).copied().unwrap_or(*at);
        }
        self.bytes = bytes;
    }
}

/// The start of the chunk that has these bytes and more.
fn container(spans: &[Span], (at, length): Span) -> Option<usize> {
    let nth = spans.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
    let (start, whole) = spans[nth];
    (at + length <= start + whole && length < whole).then_some(start)
}

/// Checksum and length. The checksum of bytes that end with their own checksum is always the same, so that is left out.
fn key(encoded: &[u8]) -> (u32, usize) {
    (crc32c(0, &encoded[..encoded.len().saturating_sub(4)]), encoded.len())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Target {
        Target { path: path.to_owned(), chunk: 0, turn: 0 }
    }

    /// Offset, length and bytes of each member.
    fn places(packer: &Packer) -> Vec<(&str, usize, &[u8])> {
        let of = |(at, length): Span| (at, &packer.bytes[at..at + length]);
        packer.members.iter().map(|(target, span)| (target.path.as_str(), of(*span).0, of(*span).1)).collect()
    }

    #[test]
    fn a_chunk_inside_of_another_is_stored_there_in_any_order() {
        let (name, path, longer, other) = (b"name----", b"<name---->", b"(<name---->)", b"something");
        let add = |packer: &mut Packer, number: usize| match number {
            0 => packer.add(target("/name"), name, None),
            1 => packer.add(target("/path"), path, Some(1..9)),
            2 => packer.add(target("/longer"), longer, Some(1..11)),
            _ => packer.add(target("/other"), other, None),
        };
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            let mut packer = Packer::default();
            for number in order {
                assert!(add(&mut packer, number).is_none());
            }
            packer.nest();
            assert_eq!(packer.bytes.len(), longer.len() + other.len(), "{order:?}");
            for (array, at, bytes) in places(&packer) {
                match array {
                    "/name" => assert_eq!((bytes, at % 9), (&name[..], 2)),
                    "/path" => assert_eq!((bytes, at % 9), (&path[..], 1)),
                    "/longer" => assert_eq!(bytes, longer),
                    _ => assert_eq!(bytes, other),
                }
            }
        }
    }

    #[test]
    fn a_container_that_was_dropped_keeps_nothing() {
        let mut packer = Packer::default();
        packer.add(target("/path"), b"<name---->", Some(1..9));
        packer.add(target("/name"), b"name----", None);
        packer.forget("/path");
        packer.nest();
        assert_eq!(places(&packer), [("/name", 0, &b"name----"[..])]);
        assert_eq!(packer.bytes.len(), 8);
    }
}
