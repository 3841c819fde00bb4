//! Zero suppression: differences in blocks of equal bit width, packed least significant bit first.

/// Numbers of the groups whose widths are found first; blocks are multiples of them.
const GROUP: usize = 4;
/// Groups of a block: the smallest result is taken. 2 and 3 are what other writers use.
const BLOCKS: [usize; 7] = [1, 2, 3, 4, 6, 8, 16];

/// Packs little-endian words of 2, 4 or 8 bytes.
pub(crate) fn suppress(little: &[u8], word: usize) -> Vec<u8> {
    match word {
        2 => packed(&differences::<2>(little, |w| i64::from(i16::from_le_bytes(w)), 48), 2, 4),
        4 => packed(&differences::<4>(little, |w| i64::from(i32::from_le_bytes(w)), 32), 4, 5),
        _ => packed(&differences::<8>(little, i64::from_le_bytes, 0), 8, 6),
    }
}

/// Differences of consecutive words, wrapped to the word's range; `unused` bits of the 64 are above it.
fn differences<const N: usize>(little: &[u8], to: impl Fn([u8; N]) -> i64, unused: u32) -> Vec<i64> {
    let mut before = 0i64;
    let words = little.as_chunks::<N>().0.iter();
    words
        .map(|word| {
            let value = to(*word);
            let difference = (value.wrapping_sub(before) << unused) >> unused;
            before = value;
            difference
        })
        .collect()
}

/// Bits of the largest of some differences: 1 if all are zero, else enough for -(2^(n-1)-1) to 2^(n-1)-1.
fn width(part: &[i64]) -> u32 {
    let largest = part.iter().fold(0u64, |most, d| most | d.unsigned_abs());
    if largest == 0 { 1 } else { 65 - largest.leading_zeros() }
}

fn packed(differences: &[i64], word: usize, field: u32) -> Vec<u8> {
    let most = 8 * word as u32;
    let widths: Vec<u32> = differences.chunks(GROUP).map(|part| width(part).min(most)).collect();
    let sizes = BLOCKS.map(|groups| (bits(&widths, differences.len(), groups, field), groups));
    let (size, groups) = sizes.into_iter().min().unwrap_or((16, 1));
    let mut out = Bits::with_capacity(size.div_ceil(8) as usize + 16);
    out.push((GROUP * groups) as u64, 16);
    for (block, part) in widths.chunks(groups).zip(differences.chunks(GROUP * groups)) {
        let width = block.iter().copied().max().unwrap_or(1);
        out.push(u64::from(width - 1), field);
        if width > 1 {
            let bias = (1u64 << (width - 1)) - 1;
            // The lowest number of a word wraps around to the highest, which adds up to the same word.
            part.iter().for_each(|d| out.push((*d as u64).wrapping_add(bias) & (u64::MAX >> (64 - width)), width));
        }
    }
    out.finish(word)
}

/// Bits of the result with blocks of `groups` groups.
fn bits(widths: &[u32], count: usize, groups: usize, field: u32) -> u64 {
    let mut total = 16;
    let mut left = count;
    for block in widths.chunks(groups) {
        let width = block.iter().copied().max().unwrap_or(1);
        let n = left.min(GROUP * groups);
        left -= n;
        total += u64::from(field) + if width > 1 { u64::from(width) * n as u64 } else { 0 };
    }
    total
}

/// A stream of bits, least significant first.
struct Bits {
    bytes: Vec<u8>,
    word: u64,
    filled: u32,
}

impl Bits {
    fn with_capacity(bytes: usize) -> Bits {
        Bits { bytes: Vec::with_capacity(bytes), word: 0, filled: 0 }
    }

    /// Appends the low `width` bits of `value`, whose others are zero.
    #[inline]
    fn push(&mut self, value: u64, width: u32) {
        self.word |= value << self.filled;
        let filled = self.filled + width;
        if filled >= 64 {
            self.bytes.extend_from_slice(&self.word.to_le_bytes());
            let used = 64 - self.filled;
            self.word = if used == 64 { 0 } else { value >> used };
            self.filled = filled - 64;
        } else {
            self.filled = filled;
        }
    }

    /// The bytes, filled up to whole words.
    fn finish(mut self, word: usize) -> Vec<u8> {
        let rest = self.word.to_le_bytes();
        self.bytes.extend(rest.iter().take(self.filled.div_ceil(8) as usize));
        self.bytes.resize(self.bytes.len().next_multiple_of(word), 0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::zero_suppress::expand;

    fn round_trip(values: &[i64], word: usize) {
        let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(word)).collect();
        let packed = suppress(&little, word);
        let mut out = vec![0; little.len()];
        expand(&packed, word, &mut out).unwrap();
        let native: Vec<u8> = if cfg!(target_endian = "big") {
            out.chunks(word).flat_map(|w| w.iter().rev().copied()).collect()
        } else {
            out
        };
        assert_eq!(native, little);
    }

    proptest! {
        #[test]
        fn words_come_back(
            steps in prop::collection::vec((any::<i64>(), 0u32..64), 0..300),
            word in prop::sample::select(vec![2usize, 4, 8]),
        ) {
            let mut at = 0i64;
            let values: Vec<i64> = steps.iter().map(|(step, shift)| { at = at.wrapping_add(step >> shift); at }).collect();
            round_trip(&values, word);
        }
    }

    #[test]
    fn slow_words_take_few_bits() {
        let little: Vec<u8> = (0..4096i32).flat_map(|v| (v / 16).to_le_bytes()).collect();
        assert!(suppress(&little, 4).len() < little.len() / 8);
    }
}
