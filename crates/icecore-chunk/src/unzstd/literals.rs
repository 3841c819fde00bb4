//! Literals section of a block (RFC 8878, 3.1.1.3.1).

use std::ops::Range;

use super::decoder_state::BEHIND;
use super::huffman::Huffman;
use super::kernels;
use super::reverse_bits::Back;
use super::streams::Stream;
use super::weights;

/// Maximum decoded length of a block.
pub(super) const MOST: usize = 128 << 10;

/// State of the literals decoder, kept from block to block.
pub(super) struct Source {
    table: Huffman,
    /// A block's literals, if they are not in the input.
    pub buffer: Vec<u8>,
}

/// The literals of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct Literals {
    /// Position of the literals in the input; none if they are in the buffer.
    pub input: Option<usize>,
    pub count: usize,
}

/// Content of the section's header.
struct Head {
    kind: usize,
    /// One stream or four, if the literals are Huffman-coded.
    four: bool,
    /// Decoded length in bytes.
    count: usize,
    /// Position in the input, after the header.
    stored: Range<usize>,
}

impl Default for Source {
    fn default() -> Self {
        Source { table: Huffman::default(), buffer: vec![0; MOST + BEHIND] }
    }
}

impl Source {
    /// Resets the state for another frame.
    pub fn begin(&mut self) {
        self.table.bits = 0;
    }

    /// Decodes the literals of `block` (of `input`); returns them and the end of the section.
    pub fn read(&mut self, input: &[u8], block: Range<usize>) -> Option<(Literals, usize)> {
        let Head { kind, four, count, stored } = Head::read(input, block)?;
        let room = self.buffer.get_mut(..count)?;
        let Range { start, end } = stored;
        match kind {
            0 if end + BEHIND <= input.len() => {
                return Some((Literals { input: Some(start), count }, end));
            }
            0 => room.copy_from_slice(&input[stored]),
            1 => room.fill(input[start]),
            _ => {
                let mut from = start;
                if kind == 2 {
                    let weights;
                    (weights, from) = weights::read(input, stored)?;
                    self.table.fill(&weights);
                }
                let decode = if four { decode_four } else { decode_one };
                let sound = self.table.bits > 0 && count > 0 && decode(input, from..end, room, &self.table)?;
                sound.then_some(())?;
            }
        }
        Some((Literals { input: None, count }, end))
    }
}

impl Head {
    fn read(input: &[u8], block: Range<usize>) -> Option<Head> {
        let bytes = input.get(block.clone())?;
        let first = usize::from(*bytes.first()?);
        let word = bytes.iter().take(5).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let (kind, format) = (first & 3, first >> 2 & 3);
        let bits = |from: usize, many: usize| (word >> from) as usize & ((1 << many) - 1);
        let (head, count, stored) = match (kind, format) {
            (0 | 1, 0 | 2) => (1, bits(3, 5), None),
            (0 | 1, 1) => (2, bits(4, 12), None),
            (0 | 1, _) => (3, bits(4, 20), None),
            (_, 0 | 1) => (3, bits(4, 10), Some(bits(14, 10))),
            (_, 2) => (4, bits(4, 14), Some(bits(18, 14))),
            _ => (5, bits(4, 18), Some(bits(22, 18))),
        };
        let stored = stored.unwrap_or(if kind == 0 { count } else { 1 });
        let start = block.start + head;
        let sound = start + stored <= block.end && count <= MOST;
        sound.then_some(Head { kind, four: format > 0, count, stored: start..start + stored })
    }
}

/// Decodes one stream; false unless it has exactly these bytes.
fn decode_one(input: &[u8], stored: Range<usize>, out: &mut [u8], table: &Huffman) -> Option<bool> {
    let mut streams = [Stream::new(Back::new(input, stored)?, out)];
    kernels::single_stream(&mut streams, table);
    let [stream] = streams;
    Some(stream.finish(table))
}

/// The same for four streams, each a quarter of the bytes.
fn decode_four(input: &[u8], stored: Range<usize>, out: &mut [u8], table: &Huffman) -> Option<bool> {
    let sizes = input[stored.clone()].first_chunk::<6>()?;
    let mut from = stored.start + sizes.len();
    let quarter = out.len().div_ceil(4);
    let (a, rest) = out.split_at_mut_checked(quarter)?;
    let (b, rest) = rest.split_at_mut_checked(quarter)?;
    let (c, d) = rest.split_at_mut_checked(quarter)?;
    let mut next = |size: usize, out| {
        let end = from + size;
        let bits = Back::new(input, std::mem::replace(&mut from, end)..end).filter(|_| end <= stored.end)?;
        Some(Stream::new(bits, out))
    };
    let size = |i: usize| usize::from(u16::from_le_bytes([sizes[2 * i], sizes[2 * i + 1]]));
    let (first, second, third) = (next(size(0), a)?, next(size(1), b)?, next(size(2), c)?);
    let last = stored.end.checked_sub(stored.start + sizes.len() + size(0) + size(1) + size(2))?;
    let mut streams = [first, second, third, next(last, d)?];
    kernels::four_streams(&mut streams, table);
    Some(streams.into_iter().all(|stream| stream.finish(table)))
}
