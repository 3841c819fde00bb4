//! What stands in front of a block's symbols: the lengths of its codes.

use super::bits::Bits;
use super::call::Pause;
use super::copy::LONGEST;
use super::table::{Distances, Entry, Lengths};

/// In which order the lengths come that the codes of lengths have.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Symbols of the fixed codes; the last two of each mean nothing.
const FIXED: (usize, usize) = (288, 32);

/// Lengths of codes on their way.
pub(super) struct Header {
    /// Of bytes and lengths, of distances, of codes of lengths.
    counts: (usize, usize, usize),
    of_lengths: [u8; ORDER.len()],
    lengths: [u8; FIXED.0 + FIXED.1],
    /// Numbers that were read.
    at: usize,
}

impl Header {
    pub fn new() -> Self {
        Header { counts: (0, 0, 0), of_lengths: [0; ORDER.len()], lengths: [0; FIXED.0 + FIXED.1], at: 0 }
    }

    /// Reads how many lengths there are.
    pub fn begin(&mut self, bits: &mut Bits) -> Result<(), Pause> {
        let counts = bits.take(14).ok_or(Pause::Input)?;
        let counts = (257 + (counts & 31), 1 + (counts >> 5 & 31), 4 + (counts >> 10));
        if counts.0 > FIXED.0 - 2 || counts.1 > FIXED.1 - 2 {
            return Err(Pause::Bad("a block of more codes than there are"));
        }
        *self = Header { counts, ..Header::new() };
        Ok(())
    }

    /// Reads the next code of a length's own length; true with the last one, whose table then is in `table`.
    pub fn of_lengths(&mut self, bits: &mut Bits, table: &mut Distances) -> Result<bool, Pause> {
        self.of_lengths[ORDER[self.at]] = bits.take(3).ok_or(Pause::Input)? as u8;
        self.at += 1;
        if self.at < self.counts.2 {
            return Ok(false);
        }
        self.at = 0;
        match table.build(&self.of_lengths, |symbol| Entry::base(symbol, 0)) {
            Some(true) => Ok(true),
            _ => Err(Pause::Bad("lengths whose codes are none")),
        }
    }

    /// Reads the next length by `table`, or how often one is repeated; true with the last one.
    pub fn lengths(&mut self, bits: &mut Bits, table: &Distances) -> Result<bool, Pause> {
        let mut now = *bits;
        let entry = table.find(now.held);
        now.take(entry.bits()).ok_or(Pause::Input)?;
        let symbol = entry.value(0);
        let (least, extra) = match symbol {
            16 => (3, 2),
            17 => (3, 3),
            18 => (11, 7),
            _ => (1, 0),
        };
        let count = least + now.take(extra).ok_or(Pause::Input)?;
        let all = self.counts.0 + self.counts.1;
        let before = self.at.checked_sub(1).map(|at| self.lengths[at]);
        let length = match symbol {
            16 => before.ok_or(Pause::Bad("a length like the one before the first"))?,
            17 | 18 => 0,
            symbol => symbol as u8,
        };
        if count > all - self.at {
            return Err(Pause::Bad("more lengths of codes than there are codes"));
        }
        self.lengths[self.at..self.at + count].fill(length);
        self.at += count;
        *bits = now;
        Ok(self.at == all)
    }

    /// Makes the tables of what was read.
    pub fn tables(&self, lengths: &mut Lengths, distances: &mut Distances) -> Result<(), Pause> {
        let (first, second) = self.lengths[..self.counts.0 + self.counts.1].split_at(self.counts.0);
        if first.get(256).is_none_or(|length| *length == 0) {
            return Err(Pause::Bad("a block that can't end"));
        }
        let built = lengths.build(first, symbol).and(distances.build(second, distance));
        built.map(|_| ()).ok_or(Pause::Bad("lengths of codes that are none"))
    }

    /// Makes the tables of blocks without lengths (RFC 1951, 3.2.6).
    pub fn fixed(&mut self, lengths: &mut Lengths, distances: &mut Distances) -> Result<(), Pause> {
        self.counts = (FIXED.0, FIXED.1, 0);
        self.lengths[..144].fill(8);
        self.lengths[144..256].fill(9);
        self.lengths[256..280].fill(7);
        self.lengths[280..FIXED.0].fill(8);
        self.lengths[FIXED.0..].fill(5);
        self.tables(lengths, distances)
    }
}

/// What the symbols of bytes and lengths mean: from 257 on the least length, of which each is four times as often twice as far
/// from the next one.
fn symbol(number: usize) -> Entry {
    match number {
        0..256 => Entry::literal(number),
        256 => Entry::END,
        257..265 => Entry::base(number - 254, 0),
        265..285 => {
            let extra = (number - 261) / 4;
            Entry::base(3 + ((4 + (number - 261) % 4) << extra), extra)
        }
        285 => Entry::base(LONGEST, 0),
        _ => Entry::NONE,
    }
}

/// What the symbols of distances mean: the least one, of which each is twice as often twice as far from the next one.
fn distance(number: usize) -> Entry {
    match number {
        0..4 => Entry::base(number + 1, 0),
        4..30 => {
            let extra = number / 2 - 1;
            Entry::base(1 + ((2 + number % 2) << extra), extra)
        }
        _ => Entry::NONE,
    }
}
