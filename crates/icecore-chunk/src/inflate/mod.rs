//! DEFLATE (RFC 1951) as a stream, whose input and output come in pieces of any length, and two whole streams at once.
//!
//! libdeflate, which single chunks are decoded with, wants a stream and its output as a whole; zlib's descendants take pieces,
//! but nearly twice as long for tables of text.

mod bits;
mod call;
mod copy;
mod fast;
mod header;
mod lane;
mod pair;
mod table;

use icecore_grid::Result;

use crate::refuse::corrupt;
use bits::Bits;
use call::{Pause, Place};
use header::Header;
use lane::Turn;
pub(crate) use pair::Pair;
use table::Tables;

/// How far back a repetition may reach.
const WINDOW: usize = 1 << 15;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Block,
    /// The length of a block of bytes as they are.
    Plain,
    Bytes(usize),
    /// The lengths of a block's codes: how many, those of the codes of lengths, themselves.
    Counts,
    OfLengths,
    Lengths,
    Symbols,
    Repeat {
        length: usize,
        distance: usize,
    },
    End,
    /// It is no stream, or not one for its output.
    Bad,
}

/// One stream.
pub struct Inflate {
    stage: Stage,
    /// This block is the last one.
    last: bool,
    bits: Bits,
    header: Header,
    tables: Tables,
    /// What was written last.
    history: Vec<u8>,
}

impl Default for Inflate {
    fn default() -> Self {
        Inflate {
            stage: Stage::Block,
            last: false,
            bits: Bits::default(),
            header: Header::new(),
            tables: Tables::new(),
            history: Vec::new(),
        }
    }
}

impl Inflate {
    /// Whether the stream's end was reached.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.stage == Stage::End
    }

    /// Goes on with `input` until it is used up, `out` is full or the stream ends; bytes taken and bytes written. Behind those
    /// written anything may stand in `out`.
    ///
    /// # Errors
    /// `corrupt` where the input is no such stream.
    pub fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize)> {
        let mut place = Place { input, from: 0, out, at: 0 };
        let pause = loop {
            let done = if self.quick(&place) {
                let turn = fast::one(self, &mut place);
                self.take(turn)
            } else {
                self.step(&mut place)
            };
            if let Err(pause) = done {
                break pause;
            }
        };
        match pause {
            Pause::Bad(what) => return Err(corrupt("deflate", what)),
            Pause::Output => self.bits.give_back(&mut place.from),
            // What is held begins a number or a symbol that needs all of it.
            Pause::Input => {}
        }
        let Place { from, at, out, .. } = place;
        self.remember(&out[..at]);
        Ok((from, at))
    }

    fn remember(&mut self, written: &[u8]) {
        let written = &written[written.len().saturating_sub(WINDOW)..];
        let kept = self.history.len().min(WINDOW - written.len());
        self.history.drain(..self.history.len() - kept);
        self.history.extend_from_slice(written);
    }

    /// Whether symbols come and there is room for some.
    fn quick(&self, place: &Place<'_>) -> bool {
        self.stage == Stage::Symbols && lane::room(place, true)
    }

    /// Takes note of what quick turns ended with.
    fn take(&mut self, turn: Turn) -> std::result::Result<(), Pause> {
        match turn {
            Turn::Next => {}
            Turn::End => self.stage = self.behind(),
            Turn::Repeat { length, distance } => self.stage = Stage::Repeat { length, distance },
            Turn::Bad => return Err(Pause::Bad("bits that are no code")),
        }
        Ok(())
    }

    fn step(&mut self, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        self.bits.fill(place.input, &mut place.from);
        match self.stage {
            Stage::Block => return self.block(),
            Stage::Plain => {
                self.bits.drop(self.bits.count % 8);
                let both = self.bits.take(32).ok_or(Pause::Input)?;
                if both & 0xffff != !both >> 16 & 0xffff {
                    return Err(Pause::Bad("a block whose length is not what it says twice"));
                }
                self.stage = Stage::Bytes(both & 0xffff);
            }
            Stage::Bytes(left) => return self.bytes(left, place),
            Stage::Counts => {
                self.header.begin(&mut self.bits)?;
                self.stage = Stage::OfLengths;
            }
            Stage::OfLengths => {
                self.header.of_lengths(&mut self.bits, place, &mut self.tables.distances)?;
                self.stage = Stage::Lengths;
            }
            Stage::Lengths => {
                self.header.lengths(&mut self.bits, place, &self.tables.distances)?;
                self.header.tables(&mut self.tables)?;
                self.stage = Stage::Symbols;
            }
            Stage::Symbols => return self.symbol(place),
            Stage::Repeat { length, distance } => return self.repeat(length, distance, place),
            Stage::End => return Err(Pause::Output),
            Stage::Bad => return Err(Pause::Bad("it was bad before")),
        }
        Ok(())
    }

    /// What follows a block.
    fn behind(&self) -> Stage {
        if self.last { Stage::End } else { Stage::Block }
    }

    fn block(&mut self) -> std::result::Result<(), Pause> {
        let head = self.bits.take(3).ok_or(Pause::Input)?;
        self.last = head & 1 == 1;
        self.stage = match head >> 1 {
            0 => Stage::Plain,
            1 => {
                self.header.fixed(&mut self.tables)?;
                Stage::Symbols
            }
            2 => Stage::Counts,
            _ => return Err(Pause::Bad("a block of a kind that there is none of")),
        };
        Ok(())
    }

    /// Bytes as they are, first those that are held already.
    fn bytes(&mut self, mut left: usize, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        while left > 0
            && let Some(to) = place.out.get_mut(place.at)
            && let Some(byte) = self.bits.take(8)
        {
            *to = byte as u8;
            place.at += 1;
            left -= 1;
        }
        let count = if self.bits.count == 0 { left } else { 0 };
        let count = count.min(place.out.len() - place.at).min(place.input.len() - place.from);
        let input = &place.input[place.from..place.from + count];
        place.out[place.at..place.at + count].copy_from_slice(input);
        place.from += count;
        place.at += count;
        left -= count;
        self.stage = if left == 0 { self.behind() } else { Stage::Bytes(left) };
        match left {
            0 => Ok(()),
            _ if place.at == place.out.len() => Err(Pause::Output),
            _ => Err(Pause::Input),
        }
    }

    /// One symbol, wherever input or output end.
    fn symbol(&mut self, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        let mut now = self.bits;
        let entry = self.tables.lengths.find(now.held);
        let held = now.held;
        now.take(entry.bits()).ok_or(Pause::Input)?;
        if let Some(byte) = entry.byte() {
            *place.out.get_mut(place.at).ok_or(Pause::Output)? = byte;
            place.at += 1;
        } else if entry.is_end() {
            self.stage = self.behind();
        } else if entry.is_special() {
            return Err(Pause::Bad("bits that are no code"));
        } else {
            let length = entry.value(held);
            let (entry, held) = (self.tables.distances.find(now.held), now.held);
            now.take(entry.bits()).ok_or(Pause::Input)?;
            if entry.is_special() {
                return Err(Pause::Bad("bits that are no code"));
            }
            self.stage = Stage::Repeat { length, distance: entry.value(held) };
        }
        self.bits = now;
        Ok(())
    }

    fn repeat(&mut self, length: usize, distance: usize, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        let part = length.min(place.out.len() - place.at);
        if !copy::exactly(&self.history, place.out, place.at, part, distance) {
            return Err(Pause::Bad("a repetition of what was before the stream"));
        }
        place.at += part;
        if part < length {
            self.stage = Stage::Repeat { length: length - part, distance };
            return Err(Pause::Output);
        }
        self.stage = Stage::Symbols;
        Ok(())
    }
}
