//! Decoder for a page of pco's classic mode, for processors with BMI2: 1.5 times as fast as the portable crate.
//!
//! A page begins with the first value of each order of differences and four interleaved ANS states. For each batch of
//! 256 numbers follow all the bits that lead from state to state, then all offsets from the bins' lower bounds.

use std::arch::x86_64::_bzhi_u64;
use std::cell::OnceCell;

use icecore_grid::Result;

use super::pco_table::{Node, Table};
use crate::codecs::prefix_sum::add_up;
use crate::codecs::word::Word;
use crate::cpu_features;
use crate::errors::corrupt;

const BATCH: usize = 256;
/// Number of valid bits that one unaligned load guarantees.
const LOADED: u32 = 56;

/// A number in pco's representation: its sortable bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    Float,
}

/// Parameters of a page, from its chunk's metadata.
#[derive(Debug)]
pub(super) struct Page<W> {
    pub table: Table<W>,
    /// Order of the differences.
    pub order: usize,
    pub kind: Kind,
}

/// The stream, bit by bit from the lowest.
struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Number of stored bits; any bits after them are zeros.
    end: usize,
}

impl Cursor<'_> {
    /// Up to 56 bits; zeros after the end.
    fn take(&mut self, bits: u32) -> u64 {
        let bytes = self.bytes.get(self.pos / 8..).unwrap_or_default();
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(w, b)| *w = *b);
        let value = u64::from_le_bytes(word) >> (self.pos % 8) & ((1 << bits) - 1);
        self.pos += bits as usize;
        value
    }

    fn check(&self) -> Result<()> {
        if self.pos <= self.end { Ok(()) } else { Err(corrupt("pcodec", "a page ends too early")) }
    }
}

/// Symbols of one batch: lower bounds, and the number of offset bits to add.
#[repr(align(64))]
struct Batch<W> {
    lower: [W; BATCH],
    bits: [u32; BATCH],
}

impl<W: Word> Page<W> {
    /// Whether this decoder supports the page.
    pub fn fits(&self) -> bool {
        cpu_features::has_bmi() && cpu_features::has_avx2() && self.table.most <= LOADED && self.table.nodes.len() > 1
    }

    /// Bytes before the body.
    pub fn head_len(&self) -> usize {
        (self.order * W::BITS as usize + 4 * self.table.size_log as usize).div_ceil(8)
    }

    /// Fills `out` from the page's header and body; returns the length of the body.
    pub fn read(&self, head: &[u8], body: &[u8], out: &mut [W]) -> Result<usize> {
        debug_assert!(self.fits());
        let mut cursor = Cursor { bytes: head, pos: 0, end: head.len() * 8 };
        let mut sums: Vec<W> = (0..self.order)
            .map(|_| W::from_u64(cursor.take(W::BITS / 2) | cursor.take(W::BITS / 2) << (W::BITS / 2)))
            .collect();
        let states = std::array::from_fn(|_| cursor.take(self.table.size_log) as usize);
        cursor.check()?;
        // SAFETY: `fits` has seen that the processor has the instructions.
        unsafe { self.body(states, &mut sums, body, out) }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn body(&self, mut states: [usize; 4], sums: &mut [W], body: &[u8], out: &mut [W]) -> Result<usize> {
        let worst = BATCH * (self.table.size_log + self.table.most) as usize / 8 + 16;
        let mut cursor = Cursor { bytes: body, pos: 0, end: body.len() * 8 };
        let (tail, mut before) = (OnceCell::new(), 0);
        let mut stored = out.len().saturating_sub(self.order);
        let top = W::from_u64(1 << (W::BITS - 1));
        let flip = if self.kind == Kind::Signed && sums.is_empty() { top } else { W::default() };
        let mut batch = Batch { lower: [W::default(); BATCH], bits: [0; BATCH] };
        for part in out.chunks_mut(BATCH) {
            cursor.check()?;
            if cursor.pos / 8 + worst > cursor.bytes.len() && tail.get().is_none() {
                // The rest is too close to the end for whole words: continue in a copy padded with zeros.
                before = cursor.pos / 8;
                let bytes = tail.get_or_init(|| [&body[before..], &vec![0; worst]].concat());
                cursor = Cursor { bytes, pos: cursor.pos % 8, end: (body.len() - before) * 8 };
            }
            match <&mut [W; BATCH]>::try_from(&mut *part) {
                // SAFETY: from `pos` on there are `worst` bytes, more than a batch can take.
                Ok(whole) if stored >= BATCH => unsafe {
                    symbols(&self.table.nodes, &mut states, &mut cursor, &mut batch);
                    self.add_offsets(&mut cursor, &batch, flip, whole);
                },
                _ => self.few(&mut states, &mut cursor, flip, &mut part[..stored.min(BATCH)]),
            }
            stored = stored.saturating_sub(BATCH);
            if !sums.is_empty() {
                sum_up(sums, part, top);
            }
            self.finish(part, top, sums.is_empty());
        }
        cursor.check()?;
        if cursor.take(cursor.pos.wrapping_neg() as u32 % 8) != 0 {
            return Err(corrupt("pcodec", "bits after the end of a page"));
        }
        Ok(before + cursor.pos / 8)
    }

    /// # Safety
    /// As `offsets`.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    unsafe fn add_offsets(&self, cursor: &mut Cursor, batch: &Batch<W>, flip: W, out: &mut [W; BATCH]) {
        // SAFETY: as the caller promises.
        unsafe {
            match LOADED / self.table.most.max(1) {
                0 | 1 => offsets::<W, 1>(cursor, batch, flip, out),
                2 | 3 => offsets::<W, 2>(cursor, batch, flip, out),
                _ => offsets::<W, 4>(cursor, batch, flip, out),
            }
        }
    }

    /// An incomplete batch, number by number.
    fn few(&self, states: &mut [usize; 4], cursor: &mut Cursor, flip: W, out: &mut [W]) {
        let mut bits = [0; BATCH];
        for (at, out) in out.iter_mut().enumerate() {
            let state = &mut states[at % 4];
            let node = self.table.nodes[*state];
            *state = node.next() + cursor.take(node.bits()) as usize;
            (*out, bits[at]) = (node.lower, node.offset_bits());
        }
        out.iter_mut().zip(bits).for_each(|(out, bits)| *out = out.add(W::from_u64(cursor.take(bits))).xor(flip));
    }

    /// Converts sortable bits to numbers; nothing to do for signed ones without differences.
    #[inline(always)]
    fn finish(&self, numbers: &mut [W], top: W, flipped: bool) {
        match self.kind {
            Kind::Float => numbers.iter_mut().for_each(|n| *n = n.bits()),
            Kind::Signed if !flipped => numbers.iter_mut().for_each(|n| *n = n.xor(top)),
            _ => {}
        }
    }
}

/// Undoes the differences, the highest order first. They are stored like signed numbers.
#[inline(always)]
fn sum_up<W: Word>(sums: &mut [W], numbers: &mut [W], top: W) {
    numbers.iter_mut().for_each(|n| *n = n.xor(top));
    let Some(end) = numbers.len().checked_sub(1) else { return };
    for sum in sums.iter_mut().rev() {
        // Each number is the sum of the preceding steps, so the result of the last step is the first number of the next
        // batch.
        let last = numbers[end];
        numbers.copy_within(..end, 1);
        numbers[0] = *sum;
        *sum = add_up(numbers, W::default()).add(last);
    }
}

/// At least 56 bits from `pos`.
///
/// # Safety
/// 8 bytes must be readable from the byte of `pos`.
#[inline(always)]
unsafe fn word(bytes: *const u8, pos: usize) -> u64 {
    // SAFETY: as the caller promises.
    u64::from_le(unsafe { bytes.add(pos >> 3).cast::<u64>().read_unaligned() }) >> (pos & 7)
}

/// Advances the four states through a batch.
///
/// # Safety
/// All states are valid indexes of `nodes`, and nodes lead only to valid indexes. From the cursor on, the maximum
/// length of a batch plus 8 bytes must be readable.
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn symbols<W: Word>(nodes: &[Node<W>], states: &mut [usize; 4], cursor: &mut Cursor, batch: &mut Batch<W>) {
    // Separate variables stay in registers.
    let [mut a, mut b, mut c, mut d] = *states;
    let (bytes, mut pos) = (cursor.bytes.as_ptr(), cursor.pos);
    let rows = batch.lower.as_chunks_mut::<4>().0.iter_mut().zip(batch.bits.as_chunks_mut::<4>().0);
    for (lower, bits) in rows {
        // SAFETY: four steps take up to 4 × 14 bits.
        let mut packed = unsafe { word(bytes, pos) };
        macro_rules! step {
            ($state:ident, $nth:literal) => {
                // SAFETY: a state is a place in `nodes`.
                let node = unsafe { nodes.get_unchecked($state) };
                // Only the lowest byte of the second operand matters, here as in the shift.
                $state = node.next() + _bzhi_u64(packed, node.steps) as usize;
                packed >>= node.steps & 63;
                pos += node.bits() as usize;
                (lower[$nth], bits[$nth]) = (node.lower, node.offset_bits());
            };
        }
        step!(a, 0);
        step!(b, 1);
        step!(c, 2);
        step!(d, 3);
        let _ = packed;
    }
    *states = [a, b, c, d];
    cursor.pos = pos;
}

/// Adds the offsets of a batch, `N` per load: none may be longer than 56 / `N` bits.
///
/// # Safety
/// From the cursor on, the bytes of the batch plus 8 more must be readable.
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn offsets<W: Word, const N: usize>(cursor: &mut Cursor, batch: &Batch<W>, flip: W, out: &mut [W; BATCH]) {
    let (bytes, mut pos) = (cursor.bytes.as_ptr(), cursor.pos);
    let rows = batch.lower.as_chunks::<N>().0.iter().zip(batch.bits.as_chunks::<N>().0);
    for (out, (lower, bits)) in out.as_chunks_mut::<N>().0.iter_mut().zip(rows) {
        // SAFETY: as the caller promises.
        let mut packed = unsafe { word(bytes, pos) };
        for nth in 0..N {
            out[nth] = W::from_u64(_bzhi_u64(packed, bits[nth])).add(lower[nth]).xor(flip);
            packed >>= bits[nth] & 63;
            pos += bits[nth] as usize;
        }
    }
    cursor.pos = pos;
}
