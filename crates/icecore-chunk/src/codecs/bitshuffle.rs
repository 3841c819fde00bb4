//! Bit shuffling: the bits of the elements regrouped, all lowest bits of the first byte, then the next ones, …
//! (bitshuffle, blosc). Works on groups of 8 elements.

use super::shuffle::{shuffle, unshuffle};
use crate::buffer::Buffer;
use icecore_grid::Result;

/// Regroups the bits of whole elements, whose number is a multiple of 8. All slices are of one length.
pub(super) fn bitshuffle(size: usize, src: &[u8], dst: &mut [u8], tmp: &mut Buffer) -> Result<()> {
    let planes = tmp.sized(src.len())?;
    shuffle(size, src, planes);
    let count = src.len() / size;
    for (plane, rows) in planes.chunks_exact(count.max(1)).zip(dst.chunks_exact_mut(count.max(1))) {
        split_plane(plane, rows);
    }
    Ok(())
}

/// The inverse of `bitshuffle`.
pub(super) fn bitunshuffle(size: usize, src: &[u8], dst: &mut [u8], tmp: &mut Buffer) -> Result<()> {
    let count = src.len() / size;
    let planes = tmp.sized(src.len())?;
    for (rows, plane) in src.chunks_exact(count.max(1)).zip(planes.chunks_exact_mut(count.max(1))) {
        join_plane(rows, plane);
    }
    unshuffle(size, planes, dst, 0..src.len());
    Ok(())
}

/// Eight rows of bits to one plane of bytes.
fn join_plane(rows: &[u8], plane: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { join_plane_avx2(rows, plane) };
    }
    join_plane_plain(rows, plane);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn join_plane_avx2(rows: &[u8], plane: &mut [u8]) {
    join_plane_plain(rows, plane);
}

/// Columns whose bits are turned together, in four registers' worth of eight bytes, and columns that stay in the first
/// cache between the two steps.
const WIDE: usize = 32;
const BLOCK: usize = 512;

#[inline(always)]
fn join_plane_plain(rows: &[u8], plane: &mut [u8]) {
    let stride = rows.len() / 8;
    let wide = stride / WIDE * WIDE;
    let mut turned = [0; 8 * BLOCK];
    for at in (0..wide).step_by(BLOCK) {
        let count = BLOCK.min(wide - at);
        for column in (0..count).step_by(WIDE) {
            turn(rows, stride, at + column, &mut turned, count, column);
        }
        unshuffle(8, &turned[..8 * count], &mut plane[8 * at..8 * (at + count)], 0..8 * count);
    }
    for at in wide..stride {
        let block = (0..8).fold(0u64, |block, row| block | u64::from(rows[row * stride + at]) << (8 * row));
        plane[8 * at..8 * at + 8].copy_from_slice(&transpose8(block).to_le_bytes());
    }
}

/// The 8×8 bits of each of some columns transposed: bit b of row r becomes bit r of row b. Squares are exchanged between
/// rows, ever smaller ones, so that no byte has to leave its column.
#[inline(always)]
fn turn(rows: &[u8], stride: usize, from: usize, out: &mut [u8], width: usize, to: usize) {
    let mut words = [[0u64; WIDE / 8]; 8];
    for (row, words) in words.iter_mut().enumerate() {
        let bytes = rows[row * stride + from..][..WIDE].as_chunks::<8>().0;
        words.iter_mut().zip(bytes).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    }
    for (apart, mask) in [(4, 0x0f0f_0f0f_0f0f_0f0f_u64), (2, 0x3333_3333_3333_3333), (1, 0x5555_5555_5555_5555)] {
        for low in (0..8).filter(|row| row & apart == 0) {
            let (upper, lower) = words.split_at_mut(low + apart);
            for (a, b) in upper[low].iter_mut().zip(&mut lower[0]) {
                let t = ((*a >> apart) ^ *b) & mask;
                *b ^= t;
                *a ^= t << apart;
            }
        }
    }
    for (row, words) in words.iter().enumerate() {
        let bytes = out[row * width + to..][..WIDE].as_chunks_mut::<8>().0;
        bytes.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    }
}

/// One plane of bytes to eight rows of bits.
fn split_plane(plane: &[u8], rows: &mut [u8]) {
    let stride = plane.len() / 8;
    for (at, group) in plane.as_chunks::<8>().0.iter().enumerate() {
        let block = transpose8(u64::from_le_bytes(*group)).to_le_bytes();
        for (row, byte) in block.into_iter().enumerate() {
            rows[row * stride + at] = byte;
        }
    }
}

/// Transposes an 8×8 matrix of bits by exchanging ever larger squares across the diagonal.
#[inline(always)]
fn transpose8(mut x: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa_u64), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    }
    x
}
