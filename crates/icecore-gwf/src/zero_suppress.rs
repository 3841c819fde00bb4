//! Zero suppression: differences in blocks of equal bit width, packed least significant bit first.

use icecore_grid::Result;

use crate::problem::corrupt;

/// Reads fields of up to 64 bits from a stream of little-endian words.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    #[inline]
    fn take(&mut self, width: usize) -> Result<u64> {
        let end = self.at + width;
        if end > self.bytes.len() * 8 {
            return Err(corrupt("zero-suppressed data ends early"));
        }
        let (byte, shift) = (self.at / 8, self.at % 8);
        self.at = end;
        let mut word = self.load(byte) >> shift;
        if shift + width > 64 {
            word |= u64::from(self.bytes.get(byte + 8).copied().unwrap_or(0)) << (64 - shift);
        }
        Ok(if width == 64 { word } else { word & ((1 << width) - 1) })
    }

    #[inline]
    fn load(&self, byte: usize) -> u64 {
        if let Some(eight) = self.bytes.get(byte..).and_then(|rest| rest.first_chunk::<8>()) {
            return u64::from_le_bytes(*eight);
        }
        let mut last = [0; 8];
        let rest = self.bytes.get(byte..).unwrap_or(&[]);
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(last)
    }
}

/// Expands `packed` (little-endian words of `word` bytes) into `out`: native words, the differences summed.
pub(crate) fn expand(packed: &[u8], word: usize, out: &mut [u8]) -> Result<()> {
    match word {
        2 => expand_words::<2>(packed, 4, out, |x| (x as u16).to_ne_bytes()),
        4 => expand_words::<4>(packed, 5, out, |x| (x as u32).to_ne_bytes()),
        _ => expand_words::<8>(packed, 6, out, u64::to_ne_bytes),
    }
}

fn expand_words<const N: usize>(
    packed: &[u8],
    field: usize,
    out: &mut [u8],
    to: impl Fn(u64) -> [u8; N],
) -> Result<()> {
    let mut bits = Bits { bytes: packed, at: 0 };
    let (words, _) = out.as_chunks_mut::<N>();
    if words.is_empty() {
        return Ok(());
    }
    let block = bits.take(16)? as usize;
    if block == 0 {
        return Err(corrupt("zero-suppressed blocks of no elements"));
    }
    let mut sum = 0u64;
    for part in words.chunks_mut(block) {
        let width = bits.take(field)? as usize + 1;
        if width == 1 {
            part.fill(to(sum));
            continue;
        }
        let bias = (1u64 << (width - 1)) - 1;
        for word in part {
            sum = sum.wrapping_add(bits.take(width)?.wrapping_sub(bias));
            *word = to(sum);
        }
    }
    Ok(())
}
