//! Bit reader that reads from the end of its bytes to the beginning.

use std::ops::Range;

/// Bytes of the input before every stream: headers guarantee them, so whole words that end with the next bits can be
/// read.
pub(super) const BEFORE: usize = 8;

/// A stream that was written forwards: its last byte ends with a one and zero bits as padding.
#[derive(Clone, Copy)]
pub(super) struct Back<'a> {
    /// The input up to the end of the stream.
    pub input: &'a [u8],
    /// Start of the stream and the unread position, in bits of the input.
    begin: usize,
    pub at: usize,
}

impl<'a> Back<'a> {
    pub fn new(input: &'a [u8], stream: Range<usize>) -> Option<Self> {
        let last = *input.get(stream.clone())?.last().filter(|last| **last > 0)?;
        let at = 8 * stream.end - last.leading_zeros() as usize - 1;
        (stream.start >= BEFORE).then(|| Back::resume(input, stream, at))
    }

    /// A reader at the given position.
    pub fn resume(input: &'a [u8], stream: Range<usize>, at: usize) -> Self {
        Back { input: &input[..stream.end], begin: 8 * stream.start, at }
    }

    /// Whether exactly the whole stream was read.
    pub fn is_done(&self) -> bool {
        self.at == self.begin
    }

    /// Whether more bits were read than the stream has.
    pub fn is_beyond(&self) -> bool {
        self.at < self.begin
    }

    /// The next bits, at least 57, first bit highest. Bits after the last one are undefined.
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        let end = self.at.div_ceil(8);
        let word = end.checked_sub(8).and_then(|from| self.input.get(from..)?.first_chunk());
        u64::from_le_bytes(*word.unwrap_or(&[0; 8])) << (8 * end - self.at)
    }

    /// The next bits, at most 32; None if there are fewer.
    #[inline]
    pub fn take(&mut self, bits: usize) -> Option<usize> {
        let word = self.peek();
        self.at = self.at.checked_sub(bits).filter(|at| *at >= self.begin)?;
        Some((word >> 1 >> (63 - bits)) as usize)
    }
}
