//! Header of a block: the code lengths.

use super::bits::Bits;
use super::call::{Pause, Place};
use super::copy::LONGEST;
use super::table::{Entry, SYMBOLS, Table, Tables};

/// Order in which the lengths of the code-length codes are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Code lengths while they are being read.
pub(super) struct Header {
    /// Numbers of lengths: of literals and match lengths, of distances, of code lengths.
    counts: (usize, usize, usize),
    of_lengths: [u8; ORDER.len()],
    /// Table of the code-length codes, which have at most seven bits.
    table: Table<7, 128>,
    lengths: [u8; SYMBOLS.0 + SYMBOLS.1],
    /// Number of lengths read so far.
    at: usize,
}

impl Header {
    pub fn new() -> Self {
        Header {
            counts: (0, 0, 0),
            of_lengths: [0; ORDER.len()],
            table: Table::new(),
            lengths: [0; SYMBOLS.0 + SYMBOLS.1],
            at: 0,
        }
    }

    /// Reads the numbers of lengths.
    pub fn begin(&mut self, bits: &mut Bits) -> Result<(), Pause> {
        let counts = bits.take(14).ok_or(Pause::Input)?;
        let counts = (257 + (counts & 31), 1 + (counts >> 5 & 31), 4 + (counts >> 10));
        if counts.0 > SYMBOLS.0 - 2 || counts.1 > SYMBOLS.1 - 2 {
            return Err(Pause::Bad("a block of more codes than there are"));
        }
        (self.counts, self.of_lengths, self.at) = (counts, [0; ORDER.len()], 0);
        Ok(())
    }

    /// Reads the lengths of the code-length codes.
    pub fn of_lengths(&mut self, bits: &mut Bits, place: &mut Place<'_>) -> Result<(), Pause> {
        while self.at < self.counts.2 {
            bits.fill(place.input, &mut place.from);
            self.of_lengths[ORDER[self.at]] = bits.take(3).ok_or(Pause::Input)? as u8;
            self.at += 1;
        }
        self.at = 0;
        match self.table.build(&self.of_lengths, &PLAIN) {
            Some(true) => Ok(()),
            _ => Err(Pause::Bad("invalid code lengths")),
        }
    }

    /// Reads the code lengths.
    pub fn lengths(&mut self, bits: &mut Bits, place: &mut Place<'_>) -> Result<(), Pause> {
        let all = self.counts.0 + self.counts.1;
        let lengths = &mut self.lengths[..all];
        while self.at < all {
            bits.fill(place.input, &mut place.from);
            // The reader holds four lengths of at most 14 bits, except near the end of the input.
            let (mut at, mut now) = (self.at, *bits);
            let result =
                (0..4).try_for_each(|_| if at < all { one(&mut now, &self.table, lengths, &mut at) } else { Ok(()) });
            (self.at, *bits) = (at, now);
            result?;
        }
        Ok(())
    }

    /// Builds the tables from the code lengths.
    pub fn tables(&self, tables: &mut Tables) -> Result<(), Pause> {
        let (first, second) = self.lengths[..self.counts.0 + self.counts.1].split_at(self.counts.0);
        if first.get(256).is_none_or(|length| *length == 0) {
            return Err(Pause::Bad("a block that can't end"));
        }
        let built = tables.lengths.build(first, &LENGTHS).and(tables.distances.build(second, &DISTANCES));
        built.map(|_| ()).ok_or(Pause::Bad("invalid code lengths"))
    }

    /// Builds the tables of fixed codes (RFC 1951, 3.2.6).
    pub fn fixed(&mut self, tables: &mut Tables) -> Result<(), Pause> {
        self.counts = (SYMBOLS.0, SYMBOLS.1, 0);
        self.lengths[..144].fill(8);
        self.lengths[144..256].fill(9);
        self.lengths[256..280].fill(7);
        self.lengths[280..SYMBOLS.0].fill(8);
        self.lengths[SYMBOLS.0..].fill(5);
        self.tables(tables)
    }
}

/// Reads the length at `at`, or a run of equal lengths; no bits are consumed if they are incomplete.
#[inline(always)]
fn one(bits: &mut Bits, table: &Table<7, 128>, lengths: &mut [u8], at: &mut usize) -> Result<(), Pause> {
    let mut now = *bits;
    let entry = table.first(now.held);
    now.take(entry.bits()).ok_or(Pause::Input)?;
    let symbol = entry.value(0);
    if symbol < 16 {
        lengths[*at] = symbol as u8;
        *at += 1;
        *bits = now;
        return Ok(());
    }
    let (least, extra) = [(3, 2), (3, 3), (11, 7)][(symbol - 16).min(2)];
    let count = least + now.take(extra).ok_or(Pause::Input)?;
    let length = match symbol {
        16 if *at == 0 => return Err(Pause::Bad("a length like the one before the first")),
        16 => lengths[*at - 1],
        _ => 0,
    };
    let same = lengths[*at..].get_mut(..count);
    same.ok_or(Pause::Bad("more lengths of codes than there are codes"))?.fill(length);
    *at += count;
    *bits = now;
    Ok(())
}

/// Table of the meanings of symbols.
macro_rules! meanings {
    ($meaning:expr) => {{
        let mut all = [Entry::NONE; _];
        let mut number = 0;
        while number < all.len() {
            all[number] = $meaning(number);
            number += 1;
        }
        all
    }};
}

const PLAIN: [Entry; ORDER.len()] = meanings!(plain);
const LENGTHS: [Entry; SYMBOLS.0] = meanings!(length);
const DISTANCES: [Entry; SYMBOLS.1] = meanings!(distance);

/// Meaning of code-length symbols: the symbol itself.
const fn plain(number: usize) -> Entry {
    Entry::base(number, 0)
}

/// Meaning of length symbols: from 257 on the smallest length; the step to the next one doubles after every four
/// symbols.
const fn length(number: usize) -> Entry {
    match number {
        0..256 => Entry::literal(number),
        256 => Entry::END,
        257..265 => Entry::base(number - 254, 0),
        265..285 => {
            let extra = (number - 261) / 4;
            Entry::base(3 + ((4 + (number - 261) % 4) << extra), extra)
        }
        285 => Entry::base(LONGEST, 0),
        _ => Entry::NOTHING,
    }
}

/// Meaning of distance symbols: the smallest distance; the step to the next one doubles after every two symbols.
const fn distance(number: usize) -> Entry {
    match number {
        0..4 => Entry::base(number + 1, 0),
        4..30 => {
            let extra = number / 2 - 1;
            Entry::base(1 + ((2 + number % 2) << extra), extra)
        }
        _ => Entry::NOTHING,
    }
}
