//! Sequence decoder state that is kept in registers.

use std::hint::select_unpredictable;

use super::copy::{self, BEYOND};
use super::reverse_bits::BEFORE;
use super::sequences::Tables;

/// Maximum total of the extra bits of three codes with which the bits of the next states are in the same 56-bit word.
const MORE: u8 = 56 - (9 + 8 + 9);
/// Copies shorter than this are done in the fast path.
const SHORT: usize = 16;
/// Output bytes that a turn of short copies may write.
pub(super) const ROOM: usize = 2 * SHORT + BEYOND;

/// Bytes after the literals that may be read.
pub(super) const BEHIND: usize = 512;

/// A sequence: literals, then a match.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sequence {
    pub literals: usize,
    pub length: usize,
    pub distance: usize,
}

/// Result of a loop of turns.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Turn {
    Next,
    /// The next sequence needs the slow path.
    Careful,
    /// A sequence was decoded but not executed.
    Undone,
}

/// State carried from sequence to sequence.
#[derive(Clone, Copy)]
pub(super) struct DecoderState {
    /// A word of the input, and the number of its valid bits, in the lowest 6 bits.
    pub held: u64,
    pub count: u64,
    pub from: *const u8,
    /// The state in each table.
    pub states: States,
    /// The last three distances.
    pub last: [usize; 3],
    /// Position of the next literal.
    pub bytes: *const u8,
    pub at: *mut u8,
    /// Number of sequences left.
    pub left: usize,
    /// A sequence that was decoded but not executed when a fast loop ended.
    pub undone: Sequence,
}

#[derive(Clone, Copy, Default)]
pub(super) struct States {
    pub literals: usize,
    pub offsets: usize,
    pub matches: usize,
}

/// Limits of the fast loops.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Start of the output.
    pub start: *const u8,
    /// The last positions in output and literals, and the first one in the input, with room for a turn.
    pub at: *const u8,
    pub bytes: *const u8,
    pub from: *const u8,
}

impl DecoderState {
    /// Number of turns of short copies for which there is room.
    #[inline(always)]
    pub fn turns(&self, limits: &Limits) -> usize {
        let output = (limits.at.addr() + 2 * SHORT).saturating_sub(self.at.addr()) / (2 * SHORT);
        let input = (self.from.addr() + BEFORE).saturating_sub(limits.from.addr()) / BEFORE;
        if self.bytes.addr() > limits.bytes.addr() {
            return 0;
        }
        // More than the available literals may be read; this is detected after the turns.
        let literals = (limits.bytes.addr() - self.bytes.addr() + BEHIND - SHORT) / (SHORT - 1);
        output.min(input).min(literals).min(self.left.saturating_sub(1))
    }

    /// Refills the word with the bytes before those used: at least 56 bits are then valid.
    ///
    /// # Safety
    /// [`BEFORE`] bytes of the input must be readable before `from`.
    #[inline(always)]
    unsafe fn fill(&mut self) {
        // SAFETY: as the caller says.
        unsafe {
            self.from = self.from.add(self.count as usize >> 3).sub(7);
            self.count |= 56;
            self.held = u64::from_le_bytes(self.from.cast::<[u8; 8]>().read());
        }
    }

    /// The next bits.
    ///
    /// # Safety
    /// `count` must be less than 64.
    #[inline(always)]
    unsafe fn take(&mut self, bits: u8) -> usize {
        // SAFETY: as the caller says. The compiler makes one instruction of what follows.
        unsafe { std::hint::assert_unchecked(bits < 64) };
        self.count = self.count.wrapping_sub(bits.into());
        (self.held.wrapping_shr(self.count as u32) & ((1 << bits) - 1)) as usize
    }

    /// Decodes one sequence, not the last one; if it is not executed, it is stored in `undone`. With `NEAR`, matches
    /// less than 16 bytes back are executed too. With `AGAIN`, repeated offsets are distinguished without a branch,
    /// which is slower if they are rare.
    ///
    /// # Safety
    /// There must be room: for as many [`turns`](DecoderState::turns) as are made without a long match.
    #[inline(always)]
    pub unsafe fn turn<const NEAR: bool, const AGAIN: bool>(
        &mut self,
        tables: &Tables,
        limits: *const Limits,
        undone: &mut Sequence,
    ) -> Turn {
        // SAFETY: tables are built so that no state leads out of them.
        let (literals, offsets, matches) = unsafe {
            (
                tables.literals.states.get_unchecked(self.states.literals),
                tables.offsets.states.get_unchecked(self.states.offsets),
                tables.matches.states.get_unchecked(self.states.matches),
            )
        };
        let (code, length, count);
        // `fill` leaves at least 56 valid bits. An offset has at most 30 extra bits and the three next states 26; the other branch
        // checks the sum of all extra bits against `MORE`.
        if literals.more | matches.more == 0 {
            // SAFETY: table entries have fewer than 64 extra bits.
            code = unsafe { self.take(offsets.more) } + offsets.value as usize;
            length = matches.value as usize;
            count = literals.value as usize;
        } else {
            if literals.more + matches.more + offsets.more > MORE {
                return Turn::Careful;
            }
            // SAFETY: table entries have fewer than 64 extra bits.
            (code, length, count) = unsafe {
                (
                    self.take(offsets.more) + offsets.value as usize,
                    self.take(matches.more) + matches.value as usize,
                    self.take(literals.more) + literals.value as usize,
                )
            };
        }
        // Refilled here, with a branch, or otherwise after the data that the next turn waits for.
        let mut far = if AGAIN { 0 } else { distance(&mut self.last, code, count) };
        // SAFETY: a state's bits are at most the table's log, which is below 64.
        unsafe {
            self.states.literals = self.take(literals.bits) + usize::from(literals.next);
            self.states.matches = self.take(matches.bits) + usize::from(matches.next);
            self.states.offsets = self.take(offsets.bits) + usize::from(offsets.next);
        }
        // SAFETY: the caller promised room for a turn, so `BEFORE` bytes of input are in front of `from`.
        unsafe { self.fill() };
        if AGAIN {
            far = chosen(&mut self.last, code, count);
        }
        // SAFETY: there is room for short copies.
        unsafe {
            let to = self.at.wrapping_add(count);
            let from = to.wrapping_sub(far);
            let least = if NEAR { 1 } else { SHORT };
            if (count | length) >= SHORT || far < least || from.addr() < (*limits).start.addr() {
                *undone = Sequence { literals: count, length, distance: far };
                return Turn::Undone;
            }
            copy::word(self.bytes, self.at);
            self.bytes = self.bytes.add(count);
            if NEAR {
                copy::near(to, far)
            } else {
                copy::word(from, to)
            }
            self.at = to.add(length);
        }
        Turn::Next
    }

    /// Executes the undone long sequence, if it is valid and there is room for it here.
    #[inline(always)]
    pub fn settle(&mut self, turn: Turn, limits: &Limits) -> Turn {
        let Turn::Undone = turn else { return turn };
        let sequence = self.undone;
        // SAFETY: there is room, which it asks for.
        if !unsafe { long(self.bytes, self.at, sequence, limits) } {
            return turn;
        }
        self.bytes = self.bytes.wrapping_add(sequence.literals);
        self.at = self.at.wrapping_add(sequence.literals + sequence.length);
        Turn::Next
    }
}

/// Distance for an offset code after `literals` literals; `last` holds the three previous distances.
#[inline(always)]
pub(super) fn distance(last: &mut [usize; 3], code: usize, literals: usize) -> usize {
    let [a, b, c] = *last;
    if code > 3 {
        *last = [code - 3, a, b];
        return code - 3;
    }
    let nth = code - usize::from(literals > 0);
    let distance = match nth {
        0 => return a,
        1 => b,
        2 => c,
        _ => a.wrapping_sub(1),
    };
    *last = [distance, a, if nth == 1 { c } else { b }];
    distance
}

/// As [`distance`], without branches.
#[inline(always)]
fn chosen(last: &mut [usize; 3], code: usize, literals: usize) -> usize {
    let [a, b, c] = *last;
    let nth = code.wrapping_sub(usize::from(literals > 0));
    let old = select_unpredictable(nth == 1, b, a);
    let old = select_unpredictable(nth == 2, c, old).wrapping_sub(usize::from(nth == 3));
    let distance = select_unpredictable(code > 3, code.wrapping_sub(3), old);
    // An offset code above 3 is not one of the three repeated offsets.
    *last = [distance, select_unpredictable(nth == 0, b, a), select_unpredictable(nth < 2, c, b)];
    distance
}

/// Executes a long sequence; false if it is invalid or exceeds the output.
///
/// # Safety
/// The output from `at` to the limit must be writable, and the literals from `bytes` to theirs plus [`BEHIND`] bytes
/// readable.
#[inline(never)]
unsafe fn long(bytes: *const u8, at: *mut u8, sequence: Sequence, limits: &Limits) -> bool {
    let Sequence { literals, length, distance } = sequence;
    let room = (limits.at.addr() + 2 * SHORT).saturating_sub(at.addr());
    let given = limits.bytes.addr().saturating_sub(bytes.addr());
    let before = at.addr() - limits.start.addr() + literals;
    if literals + length > room || literals > given || distance > before || distance == 0 {
        return false;
    }
    // SAFETY: there is room for it and for the overwritten bytes after it.
    unsafe {
        copy::forward(bytes, at, literals);
        copy::repeat(at.add(literals), length, distance);
    }
    true
}
