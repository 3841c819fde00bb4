//! Streaming decoder: input and output come in pieces of any length.

use icecore_grid::Result;

use super::bits::Bits;
use super::call::{Pause, Place};
use super::decoder_state::{self, Turn};
use super::header::Header;
use super::symbol_source::SymbolSource;
use super::{copy, kernels};
use crate::errors::corrupt;

/// Maximum distance of a match.
const WINDOW: usize = 1 << 15;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Block,
    /// The length of a stored block.
    Plain,
    Bytes(usize),
    /// A block's code lengths: their numbers, the code-length codes, the lengths.
    Counts,
    OfLengths,
    Lengths,
    Symbols,
    Repeat {
        length: usize,
        distance: usize,
    },
    End,
    /// The input is not a valid stream.
    Bad(&'static str),
}

/// One stream.
pub struct Inflate {
    stage: Stage,
    /// Whether this block is the last one.
    last: bool,
    header: Header,
    coded: SymbolSource,
    /// The last written output.
    history: Vec<u8>,
}

impl Default for Inflate {
    fn default() -> Self {
        Inflate {
            stage: Stage::Block,
            last: false,
            header: Header::new(),
            coded: SymbolSource::new(),
            history: Vec::new(),
        }
    }
}

impl Inflate {
    /// Whether the stream has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.stage == Stage::End
    }

    /// Decodes `input` until it is used up, `out` is full or the stream ends; returns bytes read and bytes written.
    /// Bytes of `out` after those written are unspecified.
    ///
    /// # Errors
    /// `corrupt` if the input is not a valid stream.
    pub fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize)> {
        let mut place = Place { input, from: 0, out, at: 0 };
        let pause = loop {
            if self.quick(&place) {
                self.go_on(&mut place);
            } else if let Err(pause) = self.step(&mut place) {
                break pause;
            }
        };
        match pause {
            Pause::Bad(what) => return Err(corrupt("deflate", what)),
            Pause::Output => self.coded.bits.give_back(&mut place.from),
            // The held bits are the beginning of a number or symbol that needs more.
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

    /// Whether the decoder is inside a block and there is room for fast turns.
    fn quick(&self, place: &Place<'_>) -> bool {
        self.stage == Stage::Symbols && decoder_state::room(place, true)
    }

    /// Decodes fast turns; there must be room for one.
    pub(super) fn go_on(&mut self, place: &mut Place<'_>) {
        let turn = kernels::one(&mut self.coded, place);
        self.note(turn);
    }

    /// Applies the result of fast turns.
    pub(super) fn note(&mut self, turn: Turn) {
        match turn {
            Turn::Next => {}
            Turn::End => self.stage = self.behind(),
            Turn::Repeat { length, distance } => self.stage = Stage::Repeat { length, distance },
            Turn::Bad => self.stage = Stage::Bad("an invalid code"),
        }
    }

    /// Resets the decoder for another stream.
    pub(super) fn begin(&mut self) {
        self.stage = Stage::Block;
        self.coded.bits = Bits::default();
        self.history.clear();
    }

    /// The state for fast turns.
    pub(super) fn coded(&mut self) -> &mut SymbolSource {
        &mut self.coded
    }

    /// Decodes single steps, given the whole input and output, until there is room for fast turns; false if there will
    /// be none.
    pub(super) fn up_to_symbols(&mut self, place: &mut Place<'_>) -> bool {
        while !self.quick(place) {
            if self.step(place).is_err() {
                return false;
            }
        }
        true
    }

    /// The stream's length in bytes, if it is valid and filled its output.
    pub(super) fn whole(&mut self, place: &mut Place<'_>) -> Option<usize> {
        self.coded.bits.give_back(&mut place.from);
        (self.ended() && place.at == place.out.len()).then_some(place.from)
    }

    fn step(&mut self, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        self.coded.bits.fill(place.input, &mut place.from);
        match self.stage {
            Stage::Block => return self.block(),
            Stage::Plain => {
                self.coded.bits.drop(self.coded.bits.count % 8);
                let both = self.coded.bits.take(32).ok_or(Pause::Input)?;
                if both & 0xffff != !both >> 16 & 0xffff {
                    return Err(Pause::Bad("a stored block whose length check fails"));
                }
                self.stage = Stage::Bytes(both & 0xffff);
            }
            Stage::Bytes(left) => return self.bytes(left, place),
            Stage::Counts => {
                self.header.begin(&mut self.coded.bits)?;
                self.stage = Stage::OfLengths;
            }
            Stage::OfLengths => {
                self.header.of_lengths(&mut self.coded.bits, place)?;
                self.stage = Stage::Lengths;
            }
            Stage::Lengths => {
                self.header.lengths(&mut self.coded.bits, place)?;
                self.header.tables(&mut self.coded.tables)?;
                self.stage = Stage::Symbols;
            }
            Stage::Symbols => return self.symbol(place),
            Stage::Repeat { length, distance } => return self.repeat(length, distance, place),
            Stage::End => return Err(Pause::Output),
            Stage::Bad(what) => return Err(Pause::Bad(what)),
        }
        Ok(())
    }

    /// The step after a block.
    fn behind(&self) -> Stage {
        if self.last { Stage::End } else { Stage::Block }
    }

    fn block(&mut self) -> std::result::Result<(), Pause> {
        let head = self.coded.bits.take(3).ok_or(Pause::Input)?;
        self.last = head & 1 == 1;
        self.stage = match head >> 1 {
            0 => Stage::Plain,
            1 => {
                self.header.fixed(&mut self.coded.tables)?;
                Stage::Symbols
            }
            2 => Stage::Counts,
            _ => return Err(Pause::Bad("an unknown block type")),
        };
        Ok(())
    }

    /// Copies stored bytes, first those that are held in the bit reader.
    fn bytes(&mut self, mut left: usize, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        while left > 0
            && let Some(to) = place.out.get_mut(place.at)
            && let Some(byte) = self.coded.bits.take(8)
        {
            *to = byte as u8;
            place.at += 1;
            left -= 1;
        }
        let count = if self.coded.bits.count == 0 { left } else { 0 };
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

    /// Decodes one symbol, also near the ends of input and output.
    fn symbol(&mut self, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        let mut now = self.coded.bits;
        let entry = self.coded.tables.lengths.find(now.held);
        let held = now.held;
        now.take(entry.bits()).ok_or(Pause::Input)?;
        if let Some(byte) = entry.byte() {
            *place.out.get_mut(place.at).ok_or(Pause::Output)? = byte;
            place.at += 1;
        } else if entry.is_end() {
            self.stage = self.behind();
        } else if entry.is_special() {
            return Err(Pause::Bad("an invalid code"));
        } else {
            let length = entry.value(held);
            let (entry, held) = (self.coded.tables.distances.find(now.held), now.held);
            now.take(entry.bits()).ok_or(Pause::Input)?;
            if entry.is_special() {
                return Err(Pause::Bad("an invalid code"));
            }
            self.stage = Stage::Repeat { length, distance: entry.value(held) };
        }
        self.coded.bits = now;
        Ok(())
    }

    fn repeat(&mut self, length: usize, distance: usize, place: &mut Place<'_>) -> std::result::Result<(), Pause> {
        let part = length.min(place.out.len() - place.at);
        if !copy::exactly(&self.history, place.out, place.at, part, distance) {
            return Err(Pause::Bad("a match distance before the start of the stream"));
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
