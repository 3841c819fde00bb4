//! The lengths of Huffman codes, as weights (RFC 8878, 4.2.1).

use super::back::Back;
use super::fse::Counts;

/// The longest code.
pub(super) const LONGEST: u32 = 11;

/// A weight for each symbol: 0 where it doesn't come, else so much more the shorter its code is.
pub(super) struct Weights {
    pub of: [u8; 256],
    pub symbols: usize,
    /// The length of the longest code.
    pub longest: u32,
}

impl Weights {
    /// Reads what `input` begins with; how many bytes that is.
    pub fn read(input: &[u8]) -> Option<(Weights, usize)> {
        let (head, rest) = input.split_first()?;
        let mut weights = Weights { of: [0; 256], symbols: 0, longest: 0 };
        let used = match usize::from(*head) {
            direct @ 128.. => {
                weights.symbols = direct - 127;
                let bytes = rest.get(..weights.symbols.div_ceil(2))?;
                for (pair, byte) in weights.of.chunks_mut(2).zip(bytes) {
                    pair.copy_from_slice(&[byte >> 4, byte & 15]);
                }
                weights.of[weights.symbols..].fill(0);
                bytes.len()
            }
            coded => {
                weights.unpack(rest.get(..coded)?)?;
                coded
            }
        };
        weights.complete()?;
        Some((weights, 1 + used))
    }

    /// Two states by turns.
    fn unpack(&mut self, input: &[u8]) -> Option<()> {
        let (counts, used) = Counts::read(input, 15, 6)?;
        let mut table = [(0u8, 0u8, 0u8); 64];
        counts.spread(|state, code, bits, next| table[state & 63] = (code as u8, bits as u8, next as u8));
        // With zeros in front, so that there are words everywhere.
        let mut padded = [0; 8 + 128];
        let stream = padded.get_mut(8..8 + input.len() - used)?;
        stream.copy_from_slice(&input[used..]);
        let mut left = Back::new(stream)?.left;
        let mut take = |bits: u32| {
            left = left.checked_sub(bits as usize)?;
            let word = padded.get(left / 8 + 2..)?.first_chunk::<8>()?;
            Some((u64::from_le_bytes(*word) >> (48 + left % 8)) as usize & ((1 << bits) - 1))
        };
        let mut states = [take(counts.log)?, take(counts.log)?];
        loop {
            for turn in 0..2 {
                let (code, more, next) = table[states[turn] & 63];
                self.push(code)?;
                match take(more.into()) {
                    Some(more) => states[turn] = usize::from(next) + more,
                    None => return self.push(table[states[1 - turn] & 63].0),
                }
            }
        }
    }

    fn push(&mut self, weight: u8) -> Option<()> {
        *self.of[..255].get_mut(self.symbols)? = weight;
        self.symbols += 1;
        Some(())
    }

    /// The last symbol's weight isn't told: it makes the sum a power of two.
    fn complete(&mut self) -> Option<()> {
        let told = &self.of[..self.symbols];
        if told.iter().any(|weight| u32::from(*weight) > LONGEST) {
            return None;
        }
        let sum: u32 = told.iter().map(|weight| 1 << weight >> 1).sum();
        let whole = sum.checked_add(1).filter(|_| sum > 0)?.next_power_of_two();
        let left = whole - sum;
        self.longest = whole.ilog2();
        if self.longest > LONGEST || !left.is_power_of_two() || self.symbols > 255 {
            return None;
        }
        self.of[self.symbols] = left.ilog2() as u8 + 1;
        self.symbols += 1;
        // Codes of full length come in pairs.
        let full = self.of[..self.symbols].iter().filter(|weight| **weight == 1).count();
        (full >= 2 && full.is_multiple_of(2)).then_some(())
    }
}
