//! The next bits of a stream that comes piece by piece.

/// Bits that were taken from the input, the next one lowest; above them are zeros.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    pub held: u64,
    pub count: u32,
}

impl Bits {
    /// Takes as many bytes of `input` from `at` on as there is room for.
    pub fn fill(&mut self, input: &[u8], at: &mut usize) {
        while self.count < 56
            && let Some(byte) = input.get(*at)
        {
            self.held |= u64::from(*byte) << self.count;
            self.count += 8;
            *at += 1;
        }
    }

    /// The same where 8 more bytes are there, all at once; how many of them count. Above the bits that do are some of those
    /// that follow.
    ///
    /// # Safety
    /// 8 bytes from `from` on may be read.
    #[inline(always)]
    pub unsafe fn fill_word(&mut self, from: *const u8) -> usize {
        // SAFETY: as the caller says.
        let word = u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() });
        self.held |= word << self.count;
        let bytes = (63 - self.count) >> 3;
        self.count |= 56;
        bytes as usize
    }

    /// Gives back the whole bytes of those that were taken from `at` bytes of input.
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

    /// The next bits as a number, 32 at most; none where they are not all there.
    pub fn take(&mut self, bits: u32) -> Option<usize> {
        if self.count < bits {
            return None;
        }
        let value = self.held & ((1 << bits) - 1);
        self.drop(bits);
        Some(value as usize)
    }
}
