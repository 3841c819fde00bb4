//! Sequences section of a block: literal lengths, match lengths and offsets (RFC 8878, 3.1.1.3.2).

use std::sync::OnceLock;

use super::codes::{self, Kind};
use super::fse::Counts;

/// A state of the decoding table.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Entry {
    /// Extra bits added to the base value.
    pub more: u8,
    /// Number of bits that are added to the base of the next state.
    pub bits: u8,
    /// Base of the next state.
    pub next: u16,
    /// Base value of the code.
    pub value: u32,
}

impl Entry {
    const NONE: Entry = Entry { more: 0, bits: 0, next: 0, value: 0 };

    fn new(kind: &Kind, code: usize, bits: u32, next: usize) -> Entry {
        let (value, more) = kind.meanings[code & (codes::CODES - 1)];
        Entry { more, bits: bits as u8, next: next as u16, value }
    }
}

/// A table of states of one kind of code.
#[derive(Clone)]
pub(super) struct Table {
    pub states: [Entry; 1 << 9],
    /// Log2 of the table's size; `None` before the first table.
    pub log: Option<u32>,
    /// Number of states of the codes 0 and 1.
    low: usize,
    /// Whether the table is still the predefined one.
    usual: bool,
}

impl Default for Table {
    fn default() -> Self {
        Table { states: [Entry::NONE; 1 << 9], log: None, low: 0, usual: false }
    }
}

impl Table {
    fn fill(&mut self, kind: &Kind, counts: &Counts) {
        counts.spread(|state, code, bits, next| self.states[state] = Entry::new(kind, code, bits, next));
        self.log = Some(counts.log);
        self.low = counts.of[..2].iter().map(|count| usize::from(count.unsigned_abs())).sum();
        self.usual = false;
    }

    /// Reads the table in one of four modes (`usual` is the predefined one); returns the bytes of `input` used.
    fn read(&mut self, kind: &Kind, usual: &Table, way: u8, input: &[u8]) -> Option<usize> {
        match way & 3 {
            0 => {
                if !self.usual {
                    let states = 1 << kind.usual_log;
                    self.states[..states].copy_from_slice(&usual.states[..states]);
                    (self.low, self.usual) = (usual.low, true);
                }
                self.log = usual.log;
                Some(0)
            }
            1 => {
                let code = usize::from(*input.first()?);
                if code > kind.most {
                    return None;
                }
                self.states[0] = Entry::new(kind, code, 0, 0);
                (self.log, self.low, self.usual) = (Some(0), usize::from(code < 2), false);
                Some(1)
            }
            2 => {
                let (counts, used) = Counts::read(input, kind.most, kind.log)?;
                self.fill(kind, &counts);
                Some(used)
            }
            _ => self.log.map(|_| 0),
        }
    }
}

/// The tables of the three kinds of codes.
#[derive(Clone, Default)]
pub(super) struct Tables {
    pub literals: Table,
    pub offsets: Table,
    pub matches: Table,
}

impl Tables {
    /// Resets the tables for another frame.
    pub fn begin(&mut self) {
        for table in [&mut self.literals, &mut self.offsets, &mut self.matches] {
            table.log = None;
        }
    }

    /// Whether more than one sequence in 32 repeats one of the last distances; a branch on which one would be
    /// mispredicted.
    pub fn often_again(&self) -> bool {
        self.offsets.low << 5 > 1 << self.offsets.log.unwrap_or(0)
    }

    /// The predefined tables.
    fn usual() -> &'static Tables {
        static MADE: OnceLock<Box<Tables>> = OnceLock::new();
        MADE.get_or_init(|| {
            let mut tables = Box::<Tables>::default();
            tables.literals.fill(&codes::LITERALS, &Counts::usual(&codes::LITERALS));
            tables.offsets.fill(&codes::OFFSETS, &Counts::usual(&codes::OFFSETS));
            tables.matches.fill(&codes::MATCHES, &Counts::usual(&codes::MATCHES));
            tables
        })
    }

    /// Reads the section's header: the number of sequences, and its length in bytes.
    pub fn read(&mut self, input: &[u8]) -> Option<(usize, usize)> {
        let byte = |i: usize| input.get(i).copied().map(usize::from);
        let (count, mut at) = match byte(0)? {
            0 => return Some((0, 1)),
            few @ ..128 => (few, 1),
            many @ ..255 => ((many - 128) << 8 | byte(1)?, 2),
            _ => (byte(1)? + (byte(2)? << 8) + 0x7f00, 3),
        };
        let ways = *input.get(at)?;
        at += 1;
        if ways & 3 != 0 || count == 0 {
            return None;
        }
        let usual = Tables::usual();
        for (table, kind, usual, way) in [
            (&mut self.literals, &codes::LITERALS, &usual.literals, ways >> 6),
            (&mut self.offsets, &codes::OFFSETS, &usual.offsets, ways >> 4),
            (&mut self.matches, &codes::MATCHES, &usual.matches, ways >> 2),
        ] {
            at += table.read(kind, usual, way, input.get(at..)?)?;
        }
        Some((count, at))
    }
}
