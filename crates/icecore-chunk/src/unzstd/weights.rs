//! Lengths of Huffman codes, stored as weights (RFC 8878, 4.2.1).

use std::ops::Range;

use super::fse::Counts;
use super::reverse_bits::Back;
use crate::cpu_features::with_bmi;

/// Maximum length of a code.
pub(super) const LONGEST: u32 = 11;

/// Maximum number of symbols.
const SYMBOLS: usize = 256;

/// Sets of symbols, one bit each.
type Sets = [[u64; SYMBOLS / 64]; LONGEST as usize + 1];

/// A weight for each symbol: zero if it does not occur, otherwise larger for shorter codes.
pub(super) struct Weights {
    /// The symbols of each weight, from weight 1.
    of: Sets,
    /// The length of the longest code.
    pub longest: u32,
}

with_bmi!(read, (input: &[u8], stored: Range<usize>) -> Option<(Weights, usize)>, Weights::read(input, stored));

impl Weights {
    /// Reads the weights at the start of `stored`; returns their end.
    #[inline(always)]
    fn read(input: &[u8], stored: Range<usize>) -> Option<(Weights, usize)> {
        let bytes = &input[stored.clone()];
        let (head, rest) = bytes.split_first()?;
        let from = stored.start + 1;
        let mut stored = StoredWeights { of: [0; SYMBOLS], symbols: 0 };
        let used = match usize::from(*head) {
            direct @ 128.. => {
                stored.symbols = direct - 127;
                let bytes = rest.get(..stored.symbols.div_ceil(2))?;
                for (pair, byte) in stored.of.chunks_mut(2).zip(bytes) {
                    pair.copy_from_slice(&[byte >> 4, byte & 15]);
                }
                bytes.len()
            }
            coded => {
                rest.get(..coded)?;
                stored.unpack(input, from..from + coded)?;
                coded
            }
        };
        stored.of[stored.symbols..].fill(0);
        Some((stored.complete()?, from + used))
    }

    /// Calls `put` for each symbol of this weight, in order.
    #[inline]
    pub fn each(&self, weight: u32, mut put: impl FnMut(u8)) {
        for (nth, bits) in self.of[weight as usize].iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                put((64 * nth) as u8 + bits.trailing_zeros() as u8);
                bits &= bits - 1;
            }
        }
    }
}

/// The weights of all symbols but the last.
struct StoredWeights {
    of: [u8; SYMBOLS],
    symbols: usize,
}

/// Maximum number of bits of a transition, because the table has at most 64 states.
const STATE: u32 = 6;
/// Weights between two refills: this many states fit into 57 bits.
const TURN: usize = 8;

/// A state: its weight, the number of bits of the next state, and its base value.
#[derive(Clone, Copy, Default)]
#[repr(align(4))]
struct State {
    weight: u8,
    bits: u8,
    next: u8,
}

impl StoredWeights {
    /// Two states alternate.
    #[inline(always)]
    fn unpack(&mut self, input: &[u8], stored: Range<usize>) -> Option<()> {
        let (counts, used) = Counts::read(&input[stored.clone()], 15, STATE)?;
        let mut table = [State::default(); 1 << STATE];
        counts.spread(|state, code, bits, next| {
            table[state & 63] = State { weight: code as u8, bits: bits as u8, next: next as u8 };
        });
        let mut bits = Back::new(input, stored.start + used..stored.end)?;
        let mut states = [bits.take(counts.log as usize)?, bits.take(counts.log as usize)?];
        while self.symbols + TURN < SYMBOLS {
            let before = (bits, states);
            let mut held = bits.peek();
            for (nth, weight) in self.of[self.symbols..][..TURN].iter_mut().enumerate() {
                // SAFETY: the table is made so that no state leads out of it, nor takes more bits.
                let state = unsafe {
                    let state = *table.get_unchecked(states[nth % 2]);
                    std::hint::assert_unchecked(state.bits <= STATE as u8);
                    state
                };
                *weight = state.weight;
                states[nth % 2] = usize::from(state.next) + (held >> 1 >> (63 - state.bits)) as usize;
                held <<= state.bits;
                bits.at -= usize::from(state.bits);
            }
            if bits.is_beyond() {
                (bits, states) = before;
                break;
            }
            self.symbols += TURN;
        }
        loop {
            for turn in 0..2 {
                let state = table[states[turn] & 63];
                self.push(state.weight)?;
                match bits.take(state.bits.into()) {
                    Some(more) => states[turn] = usize::from(state.next) + more,
                    None => return self.push(table[states[1 - turn] & 63].weight),
                }
            }
        }
    }

    fn push(&mut self, weight: u8) -> Option<()> {
        *self.of[..SYMBOLS - 1].get_mut(self.symbols)? = weight;
        self.symbols += 1;
        Some(())
    }

    /// The last symbol's weight is not stored: it completes the sum to a power of two.
    #[inline(always)]
    fn complete(&self) -> Option<Weights> {
        let most = self.of.iter().fold(0, |most, weight| most.max(*weight)).into();
        if most > LONGEST as usize || self.symbols >= SYMBOLS {
            return None;
        }
        let mut of = sets(&self.of, self.symbols, most);
        let count = |set: &[u64]| set.iter().map(|bits| bits.count_ones()).sum::<u32>();
        let sum: u32 = of.iter().enumerate().skip(1).map(|(weight, set)| count(set) << (weight - 1)).sum();
        let whole = sum.checked_add(1).filter(|_| sum > 0)?.next_power_of_two();
        let (left, longest) = (whole - sum, whole.ilog2());
        if longest > LONGEST || !left.is_power_of_two() {
            return None;
        }
        of[left.ilog2() as usize + 1][self.symbols / 64] |= 1 << (self.symbols % 64);
        // The number of codes of maximum length is even.
        let full = count(&of[1]);
        (full >= 2 && full.is_multiple_of(2)).then_some(Weights { of, longest })
    }
}

/// The symbols of each weight, up to `most`. Counting them one after another would make each increment wait for the
/// previous one.
#[inline(always)]
fn sets(weights: &[u8; SYMBOLS], symbols: usize, most: usize) -> Sets {
    let mut sets = [[0; SYMBOLS / 64]; LONGEST as usize + 1];
    #[cfg(target_arch = "x86_64")]
    for (nth, part) in weights.as_chunks::<16>().0[..symbols.div_ceil(16)].iter().enumerate() {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
        // SAFETY: 16 bytes may be read.
        let part = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
        for (weight, set) in sets[..=most].iter_mut().enumerate().skip(1) {
            // SAFETY: every x86-64 processor has these instructions.
            let bits = unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(weight as i8))) };
            set[nth / 4] |= (bits as u64) << (16 * (nth % 4));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    for (symbol, weight) in weights[..symbols].iter().enumerate() {
        sets[usize::from(*weight)][symbol / 64] |= 1 << (symbol % 64);
    }
    sets
}
