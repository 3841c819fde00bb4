//! Decoder state that is kept in registers.

use super::call::Place;
use super::copy::{self, BEYOND, LONGEST};
use super::symbol_source::SymbolSource;
use super::table::{Entry, Tables};

/// Maximum number of input bytes that a turn consumes: two refills of at most 7 bytes each.
const INPUT: usize = 7 + 7;
/// Output bytes that a turn may write: three literals, or two literals and a match.
const BYTES: usize = 3;
const OUTPUT: usize = 2 + LONGEST;

pub(super) struct DecoderState {
    /// Bits read from the input, the next one lowest. Bits above the valid ones are copies of later input.
    held: u64,
    /// Number of valid bits, in the lowest 6 bits: table entries are subtracted whole, and shifts also use only the
    /// lowest 6 bits.
    count: u64,
    from: *const u8,
    at: *mut u8,
    /// The table entry for the next bits.
    entry: Entry,
}

/// Result of a turn.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Turn {
    Next,
    /// The block has ended.
    End,
    /// A match that reaches before the output or does not fit; not copied yet.
    Repeat {
        length: usize,
        distance: usize,
    },
    /// An invalid code.
    Bad,
}

/// Limits of fast decoding: near them turns need more checks.
pub(super) struct Limits {
    /// Start of the output.
    start: *const u8,
    /// The last positions in input and output with room for a turn.
    from: *const u8,
    at: *const u8,
    /// The last output position for a checked turn, and the end of the output.
    careful: *const u8,
    end: *const u8,
}

impl Limits {
    pub fn new(place: &Place<'_>) -> Self {
        let (input, out) = (place.input.as_ptr_range(), place.out.as_ptr_range());
        Limits {
            start: out.start,
            from: input.end.wrapping_sub(INPUT + 8),
            at: out.end.wrapping_sub(OUTPUT + BEYOND),
            careful: out.end.wrapping_sub(BYTES),
            end: out.end,
        }
    }
}

/// Whether input and output have room for a turn, or for a checked one, which does not copy a match that exceeds the
/// output.
pub(super) fn room(place: &Place<'_>, careful: bool) -> bool {
    let output = if careful { BYTES } else { OUTPUT + BEYOND };
    // The first word is read before the turn.
    place.input.len() - place.from >= 7 + INPUT + 8 && place.out.len() - place.at >= output
}

impl DecoderState {
    /// Takes over the state of `stream`; there must be room for one turn.
    pub fn enter(stream: &SymbolSource, place: &mut Place<'_>) -> Self {
        assert!(room(place, true));
        let (input, out) = (&place.input[place.from..], &mut place.out[place.at..]);
        let mut state = DecoderState {
            held: stream.bits.held,
            count: stream.bits.count.into(),
            from: input.as_ptr(),
            at: out.as_mut_ptr(),
            entry: Entry::NONE,
        };
        // SAFETY: there is room for a turn.
        unsafe { state.fill() };
        state.entry = stream.tables.lengths.first(state.held);
        state
    }

    /// Whether there is room for one more turn.
    #[inline(always)]
    pub fn fits<const CAREFUL: bool>(&self, limits: &Limits) -> bool {
        let at = if CAREFUL { limits.careful } else { limits.at };
        self.at.addr() <= at.addr() && self.from.addr() <= limits.from.addr()
    }

    /// Returns the state to `stream`.
    pub fn leave(self, stream: &mut SymbolSource, place: &mut Place<'_>) {
        place.from = self.from.addr() - place.input.as_ptr().addr();
        place.at = self.at.addr() - place.out.as_ptr().addr();
        stream.bits.count = self.counted();
        stream.bits.held = self.held & ((1 << stream.bits.count) - 1);
    }

    /// # Safety
    /// 8 bytes of input must be readable.
    #[inline(always)]
    unsafe fn fill(&mut self) {
        // SAFETY: as the caller says.
        let word = u64::from_le_bytes(unsafe { self.from.cast::<[u8; 8]>().read() });
        self.held |= word.wrapping_shl(self.count as u32);
        // SAFETY: 7 bytes at most.
        self.from = unsafe { self.from.add(7 - (self.count as usize >> 3 & 7)) };
        self.count |= 56;
    }

    #[inline(always)]
    fn counted(&self) -> u32 {
        self.count as u32 & 63
    }

    #[inline(always)]
    fn drop(&mut self, entry: Entry) {
        self.held = self.held.wrapping_shr(entry.all());
        self.count = self.count.wrapping_sub(entry.all().into());
    }

    /// # Safety
    /// There must be room for one byte.
    #[inline(always)]
    unsafe fn put(&mut self, byte: u8) {
        // SAFETY: as the caller says.
        unsafe {
            self.at.write(byte);
            self.at = self.at.add(1);
        }
    }

    /// Decodes up to three symbols: literals, a match, the end of the block.
    ///
    /// # Safety
    /// There must be room for this turn.
    #[inline(always)]
    pub unsafe fn turn<const CAREFUL: bool>(&mut self, tables: &Tables, limits: &Limits) -> Turn {
        // SAFETY: as the caller says: two bytes and one more or a repetition are written, the input read twice.
        unsafe {
            let mut entry = self.entry;
            let mut alone = entry.byte();
            if let Some(byte) = alone {
                self.drop(entry);
                entry = tables.lengths.first(self.held);
                self.put(byte);
                alone = entry.byte();
                if let Some(byte) = alone {
                    self.drop(entry);
                    entry = tables.lengths.first(self.held);
                    self.put(byte);
                    alone = entry.byte();
                }
            }
            if entry.is_special() {
                entry = tables.lengths.further(entry, self.held);
                alone = entry.byte();
                if entry.is_special() {
                    self.drop(entry);
                    return if entry.is_end() { Turn::End } else { Turn::Bad };
                }
            }
            if let Some(byte) = alone {
                self.drop(entry);
                self.put(byte);
                self.fill();
                self.entry = tables.lengths.first(self.held);
                return Turn::Next;
            }
            let length = entry.value(self.held);
            self.drop(entry);
            if self.counted() < 28 {
                self.fill();
            }
            entry = tables.distances.first(self.held);
            if entry.is_special() {
                entry = tables.distances.further(entry, self.held);
                if entry.is_special() {
                    return Turn::Bad;
                }
            }
            let distance = entry.value(self.held);
            self.drop(entry);
            // The next look-up does not depend on the store.
            self.fill();
            self.entry = tables.lengths.first(self.held);
            if distance > self.at.addr() - limits.start.addr()
                || CAREFUL && length + BEYOND > limits.end.addr() - self.at.addr()
            {
                return Turn::Repeat { length, distance };
            }
            copy::quickly(self.at, length, distance);
            self.at = self.at.add(length);
            Turn::Next
        }
    }
}
