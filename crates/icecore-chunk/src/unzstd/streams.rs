//! Huffman-coded streams, decoded in parallel.

use super::huffman::Huffman;
use super::reverse_bits::{BEFORE, Back};

/// Symbols between two refills: this many codes fit into 56 bits.
const TURN: usize = 5;
/// Input bytes that they may consume.
const INPUT: usize = 7;

/// One stream and the output of its symbols.
pub(super) struct Stream<'a> {
    bits: Back<'a>,
    out: &'a mut [u8],
    done: usize,
}

impl<'a> Stream<'a> {
    pub fn new(bits: Back<'a>, out: &'a mut [u8]) -> Self {
        Stream { bits, out, done: 0 }
    }

    /// Number of turns with enough room. Reads may go beyond the start of the stream; the final check detects that.
    fn turns(&self) -> usize {
        ((self.bits.at / 8).saturating_sub(BEFORE) / INPUT).min((self.out.len() - self.done) / TURN)
    }

    /// Decodes symbol by symbol to the end. True if input and output end together, which RFC 8878 (4.2.2) requires.
    pub fn finish(self, table: &Huffman) -> bool {
        let ends_together = self.decode_rest(table);
        #[cfg(test)]
        tests::note_end(ends_together);
        ends_together
    }

    fn decode_rest(mut self, table: &Huffman) -> bool {
        for byte in &mut self.out[self.done..] {
            let entry = table.first(self.bits.peek());
            *byte = (entry >> 8) as u8;
            if self.bits.is_beyond() {
                return false;
            }
            self.bits.at -= usize::from(entry & 15);
        }
        self.bits.is_done()
    }
}

/// Decodes several streams in turns as long as all of them have room: one advances while the others wait.
#[inline(always)]
pub(super) fn by_turns<const N: usize>(streams: &mut [Stream<'_>; N], table: &Huffman) {
    loop {
        let turns = streams.iter().map(Stream::turns).min().unwrap_or(0);
        if turns == 0 {
            return;
        }
        let mut held = [0u64; N];
        let mut from = [std::ptr::null::<u8>(); N];
        let mut to = [std::ptr::null_mut::<u8>(); N];
        for i in 0..N {
            // A word that ends with the next bits, and a marker bit after them: its position shows the number of bits
            // used.
            let Back { input, at, .. } = streams[i].bits;
            let end = at.div_ceil(8);
            from[i] = input[end - 8..end].as_ptr();
            // SAFETY: 8 bytes are there.
            held[i] = (unsafe { load(from[i]) } | 1) << (8 * end - at);
            to[i] = streams[i].out[streams[i].done..].as_mut_ptr();
        }
        for turn in 0..turns {
            for i in 0..N {
                // SAFETY: there is room for this many turns.
                let to = unsafe { to[i].add(TURN * turn) };
                for nth in 0..TURN {
                    let entry = table.first(held[i]);
                    held[i] = held[i].wrapping_shl(u32::from(entry as u8));
                    // SAFETY: the same.
                    unsafe { to.add(nth).write((entry >> 8) as u8) };
                }
            }
            for i in 0..N {
                let used = held[i].trailing_zeros() as usize;
                from[i] = from[i].wrapping_sub(used / 8);
                // SAFETY: the input has as many bytes in front of this as all turns may take.
                held[i] = (unsafe { load(from[i]) } | 1) << (used % 8);
            }
        }
        for i in 0..N {
            let at = from[i].addr() - streams[i].bits.input.as_ptr().addr();
            streams[i].bits.at = 8 * at + 64 - held[i].trailing_zeros() as usize;
            streams[i].done += TURN * turns;
        }
    }
}

/// # Safety
/// 8 bytes must be readable.
#[inline(always)]
unsafe fn load(from: *const u8) -> u64 {
    // SAFETY: as the caller says.
    u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() })
}

/// Which check rejected a frame, for the differential tests.
#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local!(static UNEVEN: Cell<bool> = const { Cell::new(false) });

    pub fn note_end(ends_together: bool) {
        UNEVEN.set(UNEVEN.get() || !ends_together);
    }

    /// Runs `decode`; returns its result, and whether a Huffman stream ended before or after its last symbol.
    pub fn noting_uneven_ends<T>(decode: impl FnOnce() -> T) -> (T, bool) {
        UNEVEN.set(false);
        (decode(), UNEVEN.get())
    }
}
