//! The bits of an element as an unsigned integer; all arithmetic wraps and is therefore reversible.

use half::f16;

/// A word: u8 to u64.
pub(in crate::codecs) trait Word: Copy + Ord + Default + Send + Sync + 'static {
    const BITS: u32;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Signed to unsigned, small magnitudes to small numbers: 0, -1, 1, -2, … become 0, 1, 2, 3, …
    fn fold(self) -> Self;
    fn unfold(self) -> Self;
    /// Converts the bits of a float to an integer with the same order.
    fn sortable(self) -> Self;
    /// The inverse of `sortable`.
    fn bits(self) -> Self;
    fn leading_zeros(self) -> u32;
    fn to_u64(self) -> u64;
    /// Truncates a u64 to its low bits.
    fn from_u64(value: u64) -> Self;
    /// The value as a signed number.
    fn to_i64(self) -> i64;
    /// The float with these bits.
    fn to_f64(self) -> f64;
    /// The bits of the nearest float of this width.
    fn from_f64(value: f64) -> Self;
    fn from_ne(bytes: &[u8]) -> Self;
}

macro_rules! word {
    ($word:ty, $signed:ty, $to_f64:expr, $from_f64:expr) => {
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn fold(self) -> Self {
                (self << 1) ^ ((self as $signed >> (Self::BITS - 1)) as $word)
            }
            #[inline(always)]
            fn unfold(self) -> Self {
                (self >> 1) ^ (self & 1).wrapping_neg()
            }
            #[inline(always)]
            fn sortable(self) -> Self {
                self ^ ((self as $signed >> (Self::BITS - 1)) as $word | 1 << (Self::BITS - 1))
            }
            #[inline(always)]
            fn bits(self) -> Self {
                self ^ (!(self as $signed >> (Self::BITS - 1)) as $word | 1 << (Self::BITS - 1))
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                <$word>::leading_zeros(self)
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $word
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                i64::from(self as $signed)
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }
            #[inline(always)]
            fn from_ne(bytes: &[u8]) -> Self {
                bytes.as_chunks().0.first().map_or(0, |b| <$word>::from_ne_bytes(*b))
            }
        }
    };
}

// There are no one-byte floats, so this is never called for floats.
word!(u8, i8, f64::from, |v: f64| v as u8);
word!(u16, i16, |w| f16::from_bits(w).to_f64(), |v| f16::from_f64(v).to_bits());
word!(u32, i32, |w| f64::from(f32::from_bits(w)), |v: f64| (v as f32).to_bits());
word!(u64, i64, f64::from_bits, f64::to_bits);

/// Reads native-order elements as words.
pub(super) fn to_words<W: Word>(raw: &[u8]) -> Vec<W> {
    raw.chunks_exact(size_of::<W>()).map(W::from_ne).collect()
}

/// The native-order bytes of words.
pub(super) fn as_bytes<W: Word>(words: &[W]) -> &[u8] {
    // SAFETY: words are plain integers without padding; any byte may be read.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) }
}

/// Runs `work` on the elements in place, or on an aligned copy if they are not aligned.
pub(super) fn with_words<W: Word, T>(bytes: &mut [u8], work: impl FnOnce(&mut [W]) -> T) -> T {
    // SAFETY: every bit pattern is a word.
    let (head, words, tail) = unsafe { bytes.align_to_mut::<W>() };
    if head.is_empty() && tail.is_empty() {
        return work(words);
    }
    let mut copy = to_words::<W>(bytes);
    let result = work(&mut copy);
    bytes.copy_from_slice(as_bytes(&copy));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_fold_are_inverted() {
        let floats = [f32::NEG_INFINITY, -1e30, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, 1e30, f32::INFINITY];
        let sorted: Vec<u32> = floats.iter().map(|f| f.to_bits().sortable()).collect();
        assert!(sorted.is_sorted());
        for bits in [0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fc0_0001] {
            assert_eq!(bits.sortable().bits(), bits);
            assert_eq!(bits.fold().unfold(), bits);
        }
        assert_eq!([0i8, -1, 1, -2, i8::MIN].map(|v| (v as u8).fold()), [0, 1, 2, 3, 255]);
        for bits in 0..=u16::MAX {
            assert_eq!(bits.sortable().bits(), bits);
            assert_eq!(bits.unfold().fold(), bits);
        }
    }
}
