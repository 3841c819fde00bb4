//! The container of blosc 1: a 16-byte header, the offsets of the blocks, the blocks.
//!
//! Header: version 2, version of the compressor, flags, typesize, u32 LE decoded length, block length, stored length.
//! Flags: 1 byte-shuffled, 2 stored uncompressed, 4 bit-shuffled, 16 blocks are not split, the upper three bits name
//! the compressor. A split block holds one stream per byte of the type; each stream is an i32 LE stored length and the
//! data, uncompressed if the stored length equals the decoded length.

use std::ops::Range;

use icecore_grid::Result;

use crate::errors::{corrupt, wrong_length};

pub(super) const HEADER: usize = 16;
const MAX_SPLITS: usize = 16;
const MIN_SPLIT: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Packer {
    BloscLz,
    Lz4,
    Snappy,
    Zlib,
    Zstd,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Filter {
    None,
    Shuffle,
    BitShuffle,
}

/// A header that was checked against the length of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub packer: Packer,
    pub filter: Filter,
    pub copied: bool,
    pub typesize: usize,
    pub len: usize,
    pub block: usize,
    /// Stored length; later bytes are ignored.
    pub stored: usize,
    split: bool,
}

impl Frame {
    pub fn parse(input: &[u8]) -> Result<Frame> {
        let Some(head) = input.first_chunk::<HEADER>() else {
            return Err(corrupt("blosc", format!("{} stored bytes, shorter than the header", input.len())));
        };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let (flags, typesize, len, block, stored) = (head[2], usize::from(head[3]), word(4), word(8), word(12));
        // Version 1 of the container has the same fields, but no writer of the last decade produces it.
        if head[0] != 2 || flags & 8 != 0 {
            return Err(corrupt(
                "blosc",
                format!("container version {} with flags {flags:#04x} is not known", head[0]),
            ));
        }
        let packer = match flags >> 5 {
            0 => Packer::BloscLz,
            1 => Packer::Lz4,
            2 => Packer::Snappy,
            3 => Packer::Zlib,
            4 => Packer::Zstd,
            other => return Err(corrupt("blosc", format!("compressor {other} is not known"))),
        };
        let filter = match flags & 5 {
            1 | 5 if typesize > 1 => Filter::Shuffle,
            4 | 5 if block >= typesize => Filter::BitShuffle,
            _ => Filter::None,
        };
        let frame =
            Frame { packer, filter, copied: flags & 2 != 0, typesize, len, block, stored, split: flags & 16 == 0 };
        frame.check(input.len())?;
        Ok(frame)
    }

    fn check(&self, input: usize) -> Result<()> {
        let bad = |what: String| Err(corrupt("blosc", what));
        if self.stored > input || self.stored < HEADER {
            return bad(format!("the header states {} stored bytes, there are {input}", self.stored));
        }
        if self.len > 0 && (self.block == 0 || self.block > self.len || self.typesize == 0) {
            return bad(format!("blocks of {} bytes of type size {} in {} bytes", self.block, self.typesize, self.len));
        }
        if self.copied && self.stored - HEADER != self.len {
            return bad(format!("{} bytes stored as they are, expected {}", self.stored - HEADER, self.len));
        }
        if !self.copied && self.blocks() > (self.stored - HEADER) / 4 {
            return bad(format!("{} blocks in {} stored bytes", self.blocks(), self.stored));
        }
        Ok(())
    }

    pub fn expect(&self, len: usize) -> Result<()> {
        if self.len == len { Ok(()) } else { Err(wrong_length("blosc", self.len, len)) }
    }

    pub fn blocks(&self) -> usize {
        if self.len == 0 { 0 } else { self.len.div_ceil(self.block) }
    }

    /// The blocks that overlap `wanted`.
    pub fn touched(&self, wanted: &Range<usize>) -> Range<usize> {
        let block = self.block.max(1);
        wanted.start / block..wanted.end.div_ceil(block).min(self.blocks())
    }

    /// The byte range of block `index` in the decoded bytes.
    pub fn part(&self, index: usize) -> Range<usize> {
        let start = index * self.block;
        start..(start + self.block).min(self.len)
    }

    /// The stored bytes from the start of block `index` on.
    pub fn block_at<'a>(&self, input: &'a [u8], index: usize) -> Result<&'a [u8]> {
        let at = HEADER + 4 * index;
        let offset = input.get(at..).and_then(|rest| rest.first_chunk::<4>()).map(|b| u32::from_le_bytes(*b) as usize);
        match offset {
            Some(offset) if offset >= HEADER && offset <= self.stored => Ok(&input[offset..self.stored]),
            _ => Err(corrupt("blosc", format!("block {index} begins outside of the data"))),
        }
    }

    /// Streams in a block of `len` bytes.
    pub fn streams(&self, len: usize) -> usize {
        // A shorter last block is never split.
        let split = self.split && self.typesize <= MAX_SPLITS && len / self.typesize >= MIN_SPLIT && len == self.block;
        if split { self.typesize } else { 1 }
    }
}

/// Takes one stream from the front of a block.
pub(super) fn next_stream<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let short = || corrupt("blosc", "a stream reaches past the end of the data");
    let (head, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (data, after) = after.split_at_checked(u32::from_le_bytes(*head) as usize).ok_or_else(short)?;
    *rest = after;
    Ok(data)
}
