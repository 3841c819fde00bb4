//! The lengths of Huffman codes, as weights (RFC 8878, 4.2.1).

use super::back::Back;
use super::fse::Counts;

/// The longest code.
pub(super) const LONGEST: u32 = 11;

/// Most symbols.
const SYMBOLS: usize = 256;

/// Sets of symbols, a bit each.
type Sets = [[u64; SYMBOLS / 64]; LONGEST as usize + 1];

/// A weight for each symbol: none where it doesn't come, else so much more the shorter its code is.
pub(super) struct Weights {
    /// The symbols of each weight, from 1 on.
    of: Sets,
    /// The length of the longest code.
    pub longest: u32,
}

impl Weights {
    /// Reads what `input` begins with; how many bytes that is.
    pub fn read(input: &[u8]) -> Option<(Weights, usize)> {
        let (head, rest) = input.split_first()?;
        let mut told = Told { of: [0; SYMBOLS], symbols: 0 };
        let used = match usize::from(*head) {
            direct @ 128.. => {
                told.symbols = direct - 127;
                let bytes = rest.get(..told.symbols.div_ceil(2))?;
                for (pair, byte) in told.of.chunks_mut(2).zip(bytes) {
                    pair.copy_from_slice(&[byte >> 4, byte & 15]);
                }
                told.of[told.symbols..].fill(0);
                bytes.len()
            }
            coded => {
                told.unpack(rest.get(..coded)?)?;
                coded
            }
        };
        Some((told.complete()?, 1 + used))
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
struct Told {
    of: [u8; SYMBOLS],
    symbols: usize,
}

/// Most bits that come for a state, as the table has no more than 64 of them.
const STATE: u32 = 6;
/// Weights between two looks at the input: so many states fit into 56 bits.
const TURN: usize = 8;

impl Told {
    /// Two states by turns.
    fn unpack(&mut self, input: &[u8]) -> Option<()> {
        let (counts, used) = Counts::read(input, 15, STATE)?;
        let mut table = [(0u8, 0u8, 0u16); 1 << STATE];
        counts.spread(|state, code, bits, next| table[state & 63] = (code as u8, bits as u8, next as u16));
        // With zeros in front, so that there are words everywhere.
        let mut padded = [0; 8 + 128];
        let stream = padded.get_mut(8..8 + input.len() - used)?;
        stream.copy_from_slice(&input[used..]);
        let mut left = Back::new(stream)?.left;
        // The byte in which bit `left` lies, and seven in front of it.
        let word = |left: usize| Some(u64::from_le_bytes(*padded.get(left / 8 + 1..)?.first_chunk()?));
        let bits = |word: u64, at: usize, bits: u8| (word >> (at & 63)) as usize & ((1 << (bits & 7)) - 1);
        let take = |left: &mut usize, more: u8| {
            *left = left.checked_sub(more.into())?;
            Some(bits(word(*left + 8)?, 48 + *left % 8, more))
        };
        let mut states = [take(&mut left, counts.log as u8)?, take(&mut left, counts.log as u8)?];
        while left >= TURN * STATE as usize && self.symbols + TURN < SYMBOLS {
            let (held, from) = (word(left)?, 56 + left % 8);
            let mut at = from;
            for (nth, weight) in self.of[self.symbols..][..TURN].iter_mut().enumerate() {
                let (code, more, next) = table[states[nth % 2] & 63];
                *weight = code;
                at -= usize::from(more);
                states[nth % 2] = usize::from(next) + bits(held, at, more);
            }
            self.symbols += TURN;
            left -= from - at;
        }
        loop {
            for turn in 0..2 {
                let (code, more, next) = table[states[turn] & 63];
                self.push(code)?;
                match take(&mut left, more) {
                    Some(more) => states[turn] = usize::from(next) + more,
                    None => return self.push(table[states[1 - turn] & 63].0),
                }
            }
        }
    }

    fn push(&mut self, weight: u8) -> Option<()> {
        *self.of[..SYMBOLS - 1].get_mut(self.symbols)? = weight;
        self.symbols += 1;
        Some(())
    }

    /// The last symbol's weight isn't told: it makes the sum a power of two.
    fn complete(&self) -> Option<Weights> {
        if self.of.iter().fold(0, |most, weight| most.max(*weight)) > LONGEST as u8 || self.symbols >= SYMBOLS {
            return None;
        }
        let mut of = sets(&self.of);
        let count = |set: &[u64]| set.iter().map(|bits| bits.count_ones()).sum::<u32>();
        let sum: u32 = of.iter().enumerate().skip(1).map(|(weight, set)| count(set) << (weight - 1)).sum();
        let whole = sum.checked_add(1).filter(|_| sum > 0)?.next_power_of_two();
        let (left, longest) = (whole - sum, whole.ilog2());
        if longest > LONGEST || !left.is_power_of_two() {
            return None;
        }
        of[left.ilog2() as usize + 1][self.symbols / 64] |= 1 << (self.symbols % 64);
        // Codes of full length come in pairs.
        let full = count(&of[1]);
        (full >= 2 && full.is_multiple_of(2)).then_some(Weights { of, longest })
    }
}

/// The symbols of each weight. Counting them one after the other would wait for each count that was written a moment before.
fn sets(weights: &[u8; SYMBOLS]) -> Sets {
    let mut sets = [[0; SYMBOLS / 64]; LONGEST as usize + 1];
    #[cfg(target_arch = "x86_64")]
    for (nth, part) in weights.as_chunks::<16>().0.iter().enumerate() {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
        // SAFETY: 16 bytes may be read.
        let part = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
        for (weight, set) in sets.iter_mut().enumerate().skip(1) {
            // SAFETY: every x86-64 processor has these instructions.
            let bits = unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(weight as i8))) };
            set[nth / 4] |= (bits as u64) << (16 * (nth % 4));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    for (symbol, weight) in weights.iter().enumerate() {
        sets[usize::from(*weight)][symbol / 64] |= 1 << (symbol % 64);
    }
    sets
}
