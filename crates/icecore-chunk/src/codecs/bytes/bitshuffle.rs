//! Bit shuffle: group the bits of the elements by position, lowest bits of the first byte first.
//! (bitshuffle, blosc). Works on groups of 8 elements.

use super::shuffle::{shuffle, unshuffle};
use crate::buffer::Buffer;
use icecore_grid::Result;

/// Regroups the bits of whole elements; their number is a multiple of 8. All slices have the same length.
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

/// Combines eight rows of bits to one plane of bytes.
fn join_plane(rows: &[u8], plane: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has AVX2.
        let done = unsafe { super::bitshuffle_x86::join_wide(rows, plane) };
        return join_columns(rows, plane, done);
    }
    join_columns(rows, plane, 0);
}

/// Processes the columns from `from` one by one.
fn join_columns(rows: &[u8], plane: &mut [u8], from: usize) {
    let stride = rows.len() / 8;
    for at in from..stride {
        let block = (0..8).fold(0u64, |block, row| block | u64::from(rows[row * stride + at]) << (8 * row));
        plane[8 * at..8 * at + 8].copy_from_slice(&transpose8(block).to_le_bytes());
    }
}

/// Splits one plane of bytes into eight rows of bits.
fn split_plane(plane: &[u8], rows: &mut [u8]) {
    let stride = plane.len() / 8;
    for (at, group) in plane.as_chunks::<8>().0.iter().enumerate() {
        let block = transpose8(u64::from_le_bytes(*group)).to_le_bytes();
        for (row, byte) in block.into_iter().enumerate() {
            rows[row * stride + at] = byte;
        }
    }
}

/// Transposes an 8×8 matrix of bits by exchanging blocks of 1, 2 and 4 bits across the diagonal.
#[inline(always)]
fn transpose8(mut x: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa_u64), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back() {
        for (size, count) in [(1, 8), (2, 248), (4, 256), (3, 264), (8, 2 * 256 + 8), (4, 4096 + 32)] {
            let bytes: Vec<u8> = (0..size * count).map(|i| ((i * i / 7) ^ (i >> 3)) as u8).collect();
            let (mut split, mut joined, mut tmp) = (vec![0; bytes.len()], vec![0; bytes.len()], Buffer::default());
            bitshuffle(size, &bytes, &mut split, &mut tmp).unwrap();
            // Bit `bit` of byte `byte` of element `at`, by the format's definition.
            for (at, byte, bit) in [(0, 0, 0), (count - 1, size - 1, 7), (count / 2 + 1, size / 2, 3)] {
                let place = (byte * 8 + bit) * (count / 8) + at / 8;
                assert_eq!(split[place] >> (at % 8) & 1, bytes[at * size + byte] >> bit & 1, "{size} × {count}");
            }
            bitunshuffle(size, &split, &mut joined, &mut tmp).unwrap();
            assert_eq!(joined, bytes, "{size} × {count}");
            let (rows, mut plain) = (&split[..count], vec![0; count]);
            join_columns(rows, &mut plain, 0);
            join_plane(rows, &mut joined[..count]);
            assert_eq!(joined[..count], plain, "{size} × {count} without wide registers");
        }
    }
}
