//! Tables of finite state entropy codes (RFC 8878, 4.1).

use super::codes::{CODES, Kind};

/// Frequency of each code, in units of a power of two; -1 for less than one unit.
pub(super) struct Counts {
    pub of: [i16; CODES],
    pub codes: usize,
    pub log: u32,
}

impl Counts {
    pub fn usual(kind: &Kind) -> Counts {
        let mut of = [0; CODES];
        of[..kind.usual.len()].copy_from_slice(kind.usual);
        Counts { of, codes: kind.usual.len(), log: kind.usual_log }
    }

    /// Reads a distribution from the start of `input`; returns its length in bytes. The largest code is `most`, the
    /// largest table has 2^`largest` states.
    pub fn read(input: &[u8], most: usize, largest: u32) -> Option<(Counts, usize)> {
        let mut bits = Forward { input, at: 0 };
        let log = bits.take(4) as u32 + 5;
        if log > largest {
            return None;
        }
        let mut counts = Counts { of: [0; CODES], codes: 0, log };
        let mut left = (1i32 << log) + 1;
        while left > 1 {
            if counts.codes > most {
                return None;
            }
            // Number of bits of a value up to `left`; small values take one bit less.
            let width = left.ilog2() + 1;
            let spare = (1 << width) - 1 - left;
            let short = bits.peek(width - 1) as i32;
            let value = if short < spare {
                bits.at += width as usize - 1;
                short
            } else {
                let full = bits.take(width) as i32;
                if full >= 1 << (width - 1) { full - spare } else { full }
            };
            let count = value - 1;
            left -= count.abs();
            counts.of[counts.codes] = count as i16;
            counts.codes += 1;
            // After a code of frequency zero, the number of further zeros: 3 means three, and another number follows.
            let mut zeros = if count == 0 { 3 } else { 0 };
            while zeros == 3 {
                zeros = bits.take(2);
                counts.codes += zeros;
            }
        }
        let used = bits.at.div_ceil(8);
        (left == 1 && used <= input.len() && counts.codes <= most + 1).then_some((counts, used))
    }

    /// Calls `put` for each state with its code, the number of bits of the next state, and its base value.
    pub fn spread(&self, mut put: impl FnMut(usize, usize, u32, usize)) {
        let size = 1usize << self.log;
        let mut codes = [0u8; 1 << 9];
        let mut next = [0u16; CODES];
        // Codes in order, written eight at a time, because their frequencies are unpredictable for branches.
        let mut row = [0u8; (1 << 9) + 8];
        let (mut end, mut high) = (0, size);
        for (code, count) in self.of[..self.codes].iter().enumerate() {
            next[code] = count.unsigned_abs();
            if *count == -1 {
                high -= 1;
                codes[high] = code as u8;
                continue;
            }
            let mut from = end;
            end += *count as usize;
            while from < end {
                row[from..from + 8].fill(code as u8);
                from += 8;
            }
        }
        let (step, mask) = ((size >> 1) + (size >> 3) + 3, size - 1);
        let mut at = 0;
        for code in &row[..end] {
            codes[at] = *code;
            at = (at + step) & mask;
            while at >= high {
                at = (at + step) & mask;
            }
        }
        for (state, code) in codes[..size].iter().enumerate() {
            let code = usize::from(*code);
            let nth = next[code];
            next[code] += 1;
            let bits = self.log - nth.ilog2();
            put(state, code, bits, (usize::from(nth) << bits) - size);
        }
    }
}

/// Forward bit reader; reads zeros after the end.
struct Forward<'a> {
    input: &'a [u8],
    at: usize,
}

impl Forward<'_> {
    fn peek(&self, bits: u32) -> usize {
        let bytes = self.input.get(self.at / 8..).unwrap_or_default();
        let word = match bytes.first_chunk() {
            Some(word) => u32::from_le_bytes(*word),
            None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)),
        };
        (word >> (self.at % 8)) as usize & ((1 << bits) - 1)
    }

    fn take(&mut self, bits: u32) -> usize {
        let value = self.peek(bits);
        self.at += bits as usize;
        value
    }
}
