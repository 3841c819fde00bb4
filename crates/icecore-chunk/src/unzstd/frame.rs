//! Decode one frame, block by block.

use std::ops::Range;

use super::decoder_state::{self, DecoderState, Limits, ROOM, Sequence, States, Turn};
use super::kernels;
use super::literals::{Literals, MOST, Source};
use super::reverse_bits::{BEFORE, Back};
use super::sequences::{Entry, Table, Tables};
use crate::inflate::repeat_exactly;

/// Shorter outputs are decoded into a buffer with room after it, because most of their sequences are near the end.
const SMALL: usize = 4096;

/// State of the frame decoder; kept between calls, because it is large.
#[derive(Default)]
pub(crate) struct Desk {
    tools: Tools,
    /// Buffer for short outputs, allocated for the first one.
    small: Vec<u8>,
}

#[derive(Default)]
struct Tools {
    tables: Tables,
    source: Source,
}

impl Desk {
    /// Decodes a frame until `enough` bytes are available; the whole frame if that is the length of `out`, which it
    /// must then fill. False if the frame is damaged or of an unsupported kind; the contents of `out` are then
    /// unspecified.
    pub fn decode(&mut self, input: &[u8], out: &mut [u8], enough: usize) -> bool {
        let Some(head) = Head::read(input).filter(|head| head.length.is_none_or(|told| told == out.len() as u64))
        else {
            return false;
        };
        let Desk { tools, small } = self;
        tools.tables.begin();
        tools.source.begin();
        let length = out.len();
        let enough = if enough < length { enough } else { usize::MAX };
        // Uncompressed data is copied directly to the output.
        let coded = input.get(head.end).is_some_and(|told| told >> 1 & 3 == 2);
        if length >= SMALL || !coded {
            let mut frame = Frame { tools, input, from: head.end, out, length, at: 0, enough, distances: [1, 4, 8] };
            return frame.blocks(&head).is_some();
        }
        small.resize(2 * SMALL, 0);
        let mut frame = Frame { tools, input, from: head.end, out: small, length, at: 0, enough, distances: [1, 4, 8] };
        let sound = frame.blocks(&head).is_some();
        out.copy_from_slice(&small[..length]);
        sound
    }
}

/// The header of the frame.
struct Head {
    /// Decoded length, if it is recorded.
    length: Option<u64>,
    /// Whether a checksum follows the last block.
    sum: bool,
    /// Maximum stored and decoded length of a block.
    block: usize,
    end: usize,
}

impl Head {
    /// None if a dictionary is required, or for an unknown feature.
    fn read(input: &[u8]) -> Option<Head> {
        const MAGIC: u32 = 0xfd2f_b528;
        let (magic, rest) = input.split_first_chunk::<4>()?;
        let told = *rest.first()?;
        let (single, size) = (told >> 5 & 1 == 1, told >> 6);
        if u32::from_le_bytes(*magic) != MAGIC || told & 0b1011 != 0 {
            return None;
        }
        let (bytes, least) = match size {
            0 => (usize::from(single), 0),
            1 => (2, 256),
            _ => (1 << size, 0),
        };
        let start = if single { 5 } else { 6 };
        let field = input.get(start..start + bytes)?;
        let length = field.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) + least;
        let window = if single { length } else { window(*rest.get(1)?)? };
        let block = usize::try_from(window).unwrap_or(MOST).min(MOST);
        Some(Head { length: (bytes > 0).then_some(length), sum: told >> 2 & 1 == 1, block, end: start + bytes })
    }
}

/// Maximum distance of matches; libzstd has the same limit.
fn window(told: u8) -> Option<u64> {
    let (exponent, eighths) = (told >> 3, u64::from(told & 7));
    (exponent <= 31 - 10).then(|| (1 << (10 + exponent)) + (eighths << (7 + exponent)))
}

struct Frame<'a> {
    tools: &'a mut Tools,
    input: &'a [u8],
    from: usize,
    /// The output, and its length: there may be room after it.
    out: &'a mut [u8],
    length: usize,
    at: usize,
    /// Position at which to stop; None to decode everything.
    enough: usize,
    /// The last three match distances.
    distances: [usize; 3],
}

/// A block's sequences, and its literals.
struct Block {
    literals: Literals,
    /// Number of literals used.
    done: usize,
    /// Position of the sequences in the input, and of the first unread bit, in bits.
    stream: Range<usize>,
    at: usize,
    /// How many sequences are left.
    left: usize,
    states: States,
}

impl Frame<'_> {
    fn blocks(&mut self, head: &Head) -> Option<()> {
        loop {
            let told = self.input.get(self.from..)?.first_chunk::<3>()?;
            let told = u32::from_le_bytes([told[0], told[1], told[2], 0]) as usize;
            self.from += 3;
            self.block(told >> 1 & 3, told >> 3, head.block)?;
            if self.at >= self.enough {
                return Some(());
            }
            if told & 1 == 1 {
                break;
            }
        }
        let behind = self.input.get(self.from..)?;
        if self.at != self.length {
            return None;
        }
        let sum =
            if head.sum { twox_hash::XxHash64::oneshot(0, &self.out[..self.length]).to_le_bytes() } else { [0; 8] };
        (behind == &sum[..if head.sum { 4 } else { 0 }]).then_some(())
    }

    fn block(&mut self, kind: usize, size: usize, most: usize) -> Option<()> {
        if size > most {
            return None;
        }
        match kind {
            0 => {
                let bytes = self.input.get(self.from..self.from + size)?;
                self.out.get_mut(self.at..self.at + size)?.copy_from_slice(bytes);
                (self.from, self.at) = (self.from + size, self.at + size);
            }
            1 => {
                let byte = *self.input.get(self.from)?;
                self.out.get_mut(self.at..self.at + size)?.fill(byte);
                (self.from, self.at) = (self.from + 1, self.at + size);
            }
            2 => self.compressed(self.from + size, most)?,
            _ => return None,
        }
        Some(())
    }

    fn compressed(&mut self, end: usize, most: usize) -> Option<()> {
        let (began, start) = (self.at, self.from);
        let (literals, from) = self.tools.source.read(self.input, start..end)?;
        let mut block = self.sequences(literals, from, end)?;
        while block.left > 0 {
            if self.at >= self.enough {
                return Some(());
            }
            if self.is_quick(&block) {
                self.quickly(&mut block)?;
            } else {
                self.carefully(&mut block)?;
            }
        }
        let rest = literals.count.checked_sub(block.done)?;
        self.put(&mut block, rest)?;
        self.from = end;
        (block.at == 8 * block.stream.start && self.at - began <= most).then_some(())
    }

    /// The header of the block at `from`.
    fn sequences(&mut self, literals: Literals, from: usize, end: usize) -> Option<Block> {
        let bytes = self.input.get(from..end)?;
        let (left, used) = self.tools.tables.read(bytes)?;
        let stream = from + used..end;
        let at = 8 * stream.start;
        let mut block = Block { literals, done: 0, stream, at, left, states: States::default() };
        if left == 0 {
            return block.stream.is_empty().then_some(block);
        }
        let mut bits = Back::new(self.input, block.stream.clone())?;
        let mut first = |table: &Table| bits.take(table.log? as usize);
        let Tables { literals, offsets, matches } = &self.tools.tables;
        block.states = States { literals: first(literals)?, offsets: first(offsets)?, matches: first(matches)? };
        block.at = bits.at;
        Some(block)
    }

    /// Copies the next literals.
    fn put(&mut self, block: &mut Block, count: usize) -> Option<()> {
        let source = match block.literals.input {
            Some(from) => &self.input[from..from + block.literals.count],
            None => &self.tools.source.buffer[..block.literals.count],
        };
        let bytes = source.get(block.done..block.done.checked_add(count)?)?;
        self.out.get_mut(self.at..self.at + count)?.copy_from_slice(bytes);
        (block.done, self.at) = (block.done + count, self.at + count);
        Some(())
    }

    /// Executes a decoded sequence near the end of the output or the literals.
    fn execute(&mut self, block: &mut Block, sequence: Sequence) -> Option<()> {
        self.put(block, sequence.literals)?;
        let Sequence { length, distance, .. } = sequence;
        let sound = distance > 0 && length <= self.out.len() - self.at;
        (sound && repeat_exactly(&[], self.out, self.at, length, distance)).then(|| self.at += length)
    }

    /// Decodes one sequence, also near the end of the input.
    fn carefully(&mut self, block: &mut Block) -> Option<()> {
        let mut bits = Back::resume(self.input, block.stream.clone(), block.at);
        let (states, tables) = (block.states, &self.tools.tables);
        let literals = tables.literals.states[states.literals];
        let offsets = tables.offsets.states[states.offsets];
        let matches = tables.matches.states[states.matches];
        let mut value = |entry: Entry| Some(entry.value as usize + bits.take(entry.more.into())?);
        let (told, length, count) = (value(offsets)?, value(matches)?, value(literals)?);
        block.left -= 1;
        if block.left > 0 {
            let mut next = |entry: Entry| Some(usize::from(entry.next) + bits.take(entry.bits.into())?);
            let (literals, matches, offsets) = (next(literals)?, next(matches)?, next(offsets)?);
            block.states = States { literals, offsets, matches };
        }
        block.at = bits.at;
        let distance = decoder_state::distance(&mut self.distances, told, count);
        self.execute(block, Sequence { literals: count, length, distance })
    }

    /// Whether there is room for fast turns.
    fn is_quick(&self, block: &Block) -> bool {
        let (state, limits) = self.enter(block);
        self.out.len() - self.at >= ROOM && state.turns(&limits) > 0
    }

    fn quickly(&mut self, block: &mut Block) -> Option<()> {
        let (mut state, limits) = self.enter(block);
        let out = self.out.as_mut_ptr();
        state.at = out.wrapping_add(self.at);
        // SAFETY: at least 56 bits precede the unread position.
        state.held = u64::from_le_bytes(unsafe { state.from.cast::<[u8; 8]>().read() });
        let literals = state.bytes;
        let turn = kernels::sequences(&mut state, &limits, &self.tools.tables);
        self.at = state.at.addr() - out.addr();
        self.distances = state.last;
        block.done += state.bytes.addr() - literals.addr();
        block.at = 8 * (state.from.addr() - self.input.as_ptr().addr()) + state.count as usize;
        block.left = state.left;
        block.states = state.states;
        match turn {
            Turn::Next => Some(()),
            Turn::Careful => self.carefully(block),
            Turn::Undone => self.execute(block, state.undone),
        }
    }

    /// Start and limits of the fast loops.
    fn enter(&self, block: &Block) -> (DecoderState, Limits) {
        let literals = match block.literals.input {
            Some(from) => self.input[from..].as_ptr(),
            None => self.tools.source.buffer.as_ptr(),
        };
        let out = self.out.as_ptr_range();
        let from = (block.at - 56) / 8;
        let state = DecoderState {
            held: 0,
            count: (block.at - 8 * from) as u64,
            from: self.input.as_ptr().wrapping_add(from),
            states: block.states,
            last: self.distances,
            bytes: literals.wrapping_add(block.done),
            at: out.start.wrapping_add(self.at).cast_mut(),
            left: block.left,
            undone: Sequence::default(),
        };
        let limits = Limits {
            start: out.start,
            at: out.end.wrapping_sub(ROOM).min(out.start.wrapping_add(self.enough.min(self.out.len()))),
            bytes: literals.wrapping_add(block.literals.count),
            from: self.input.as_ptr().wrapping_add(BEFORE),
        };
        (state, limits)
    }
}
