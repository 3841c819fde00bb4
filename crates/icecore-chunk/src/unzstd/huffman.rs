//! Huffman codes of literals: one lookup table for the length of the longest code.

use super::weights::{LONGEST, Weights};

/// For each prefix: the symbol in the upper byte, the length of its code in the lower one.
pub(super) struct Huffman {
    table: [u16; 1 << LONGEST],
    /// Number of bits of a prefix.
    pub bits: u32,
}

impl Default for Huffman {
    fn default() -> Self {
        Huffman { table: [0; 1 << LONGEST], bits: 0 }
    }
}

impl Huffman {
    pub fn fill(&mut self, weights: &Weights) {
        // Symbols of the smallest weight come first, each weight in symbol order.
        let mut sorted = [0u8; 256];
        self.bits = weights.longest;
        let mut room = &mut self.table[..1 << self.bits];
        for weight in 1..=weights.longest {
            let mut count = 0;
            weights.each(weight, |symbol| {
                sorted[count & 255] = symbol;
                count += 1;
            });
            let these = &sorted[..count];
            let (there, behind) = std::mem::take(&mut room).split_at_mut(these.len() << (weight - 1));
            let length = (self.bits + 1 - weight) as u16;
            match weight {
                1 => spread::<1>(these, length, there),
                2 => spread::<2>(these, length, there),
                3 => spread::<4>(these, length, there),
                4 => spread::<8>(these, length, there),
                _ => {
                    for (symbol, entries) in these.iter().zip(there.chunks_exact_mut(1 << (weight - 1))) {
                        entries.fill(u16::from(*symbol) << 8 | length);
                    }
                }
            }
            room = behind;
        }
    }

    /// The entry for the next bits of `held`, whose next bit is the highest.
    #[inline(always)]
    pub fn first(&self, held: u64) -> u16 {
        let at = held.wrapping_shr(64 - self.bits) as usize;
        debug_assert!(at < self.table.len());
        // SAFETY: an index of this many bits is less than the table's length.
        unsafe { *self.table.get_unchecked(at) }
    }
}

/// `N` entries for each symbol.
fn spread<const N: usize>(symbols: &[u8], length: u16, room: &mut [u16]) {
    for (symbol, entries) in symbols.iter().zip(room.as_chunks_mut::<N>().0) {
        *entries = [u16::from(*symbol) << 8 | length; N];
    }
}
