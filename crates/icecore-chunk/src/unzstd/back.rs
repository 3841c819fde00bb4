//! Bits that are read from the end of their bytes to the beginning.

/// A stream that was written forwards: its last byte ends with a one and zeros.
#[derive(Clone, Copy)]
pub(super) struct Back<'a> {
    bytes: &'a [u8],
    /// Bits that are left.
    pub left: usize,
}

impl<'a> Back<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let last = *bytes.last().filter(|last| **last > 0)?;
        Some(Back { bytes, left: 8 * bytes.len() - last.leading_zeros() as usize - 1 })
    }

    /// `left` bits of it are left.
    pub fn at(bytes: &'a [u8], left: usize) -> Self {
        Back { bytes, left }
    }

    /// The next bits, 32 at most; none where there are less.
    #[inline]
    pub fn take(&mut self, bits: usize) -> Option<usize> {
        self.left = self.left.checked_sub(bits)?;
        let at = self.left / 8;
        let word = match self.bytes.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_le_bytes(*word),
            None => self.bytes[at..].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        Some((word >> (self.left % 8)) as usize & ((1 << bits) - 1))
    }
}
