//! Bit reader for a stream that arrives in pieces.

/// Bits read from the input, the next one lowest; above them are zeros.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    pub held: u64,
    pub count: u32,
}

impl Bits {
    /// Reads as many bytes of `input`, from `at` on, as fit.
    #[inline(always)]
    pub fn fill(&mut self, input: &[u8], at: &mut usize) {
        if let Some(word) = input.get(*at..).and_then(<[u8]>::first_chunk) {
            let bytes = (63 - self.count) >> 3;
            let word = u64::from_le_bytes(*word) & ((1 << (8 * bytes)) - 1);
            self.held |= word << self.count;
            self.count += 8 * bytes;
            *at += bytes as usize;
            return;
        }
        while self.count < 56
            && let Some(byte) = input.get(*at)
        {
            self.held |= u64::from(*byte) << self.count;
            self.count += 8;
            *at += 1;
        }
    }

    /// Returns unused whole bytes to the input; `at` is the read position.
    pub fn give_back(&mut self, at: &mut usize) {
        let bytes = (self.count as usize / 8).min(*at);
        *at -= bytes;
        self.count -= 8 * bytes as u32;
        self.held &= (1 << self.count) - 1;
    }

    #[inline(always)]
    pub fn drop(&mut self, bits: u32) {
        self.held >>= bits;
        self.count -= bits;
    }

    /// The next bits as a number, at most 32; None if not all are available.
    #[inline(always)]
    pub fn take(&mut self, bits: u32) -> Option<usize> {
        if self.count < bits {
            return None;
        }
        let value = self.held & ((1 << bits) - 1);
        self.drop(bits);
        Some(value as usize)
    }
}
