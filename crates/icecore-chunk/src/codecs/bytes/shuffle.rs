//! `shuffle`: group the bytes of the elements by position, first bytes first (HDF5, numcodecs, blosc).

use std::ops::Range;

use icecore_grid::Result;

use crate::buffer::{Buffer, grow};
use crate::codecs::byte_codec::BytesCodec;
use crate::codecs::plane_split::split;
use crate::errors::{bad_config, corrupt, wrong_length};
use crate::extension::{Extension, config_i64_or};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["shuffle", "numcodecs.shuffle"];

#[derive(Debug)]
pub(crate) struct Shuffle {
    elementsize: usize,
}

impl Shuffle {
    /// The default size is that of an element (`itemsize`), as in zarr-python.
    pub fn parse(ext: &Extension, itemsize: usize) -> Result<Shuffle> {
        match config_i64_or(ext, "elementsize", itemsize.max(1) as i64)? {
            size @ 1..=0xff_ffff => Ok(Shuffle { elementsize: size as usize }),
            _ => Err(bad_config(ext, "elementsize", "1 to 16777215")),
        }
    }
}

impl BytesCodec for Shuffle {
    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, _: &mut Scratch) -> Result<()> {
        if input.len() != out.len() {
            return Err(wrong_length("shuffle", input.len(), out.len()));
        }
        unshuffle(self.elementsize, input, out, wanted);
        Ok(())
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        if input.len() > cap {
            return Err(corrupt("shuffle", format!("{} bytes where at most {cap} can be", input.len())));
        }
        unshuffle(self.elementsize, input, out.sized(input.len())?, 0..input.len());
        Ok(input.len())
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        let start = out.len();
        grow(out, start + input.len())?;
        shuffle(self.elementsize, input, &mut out[start..]);
        Ok(())
    }

    fn encode_over(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        out.truncate(input.len());
        grow(out, input.len())?;
        shuffle(self.elementsize, input, out);
        Ok(())
    }
}

/// Elements processed together, so that input and output stay in the first-level cache.
const TILE: usize = 512;

/// Regroups bytes; an incomplete last element stays at the end. `src` and `dst` have the same length.
pub(super) fn shuffle(size: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / size;
    let (body, tail) = dst.split_at_mut(count * size);
    tail.copy_from_slice(&src[count * size..]);
    if size == 1 {
        return body.copy_from_slice(&src[..count]);
    }
    for start in (0..count).step_by(TILE) {
        let end = (start + TILE).min(count);
        let elements = &src[start * size..end * size];
        for plane in 0..size {
            let target = &mut body[plane * count + start..plane * count + end];
            if cfg!(target_endian = "little") && matches!(size, 2 | 4 | 8) {
                split(size, elements, 1, 8 * plane as u32, target);
                continue;
            }
            for (byte, element) in target.iter_mut().zip(elements.chunks_exact(size)) {
                *byte = element[plane];
            }
        }
    }
}

/// The inverse of `shuffle`, for the elements that overlap `wanted` (bytes of `dst`).
pub(super) fn unshuffle(size: usize, src: &[u8], dst: &mut [u8], wanted: Range<usize>) {
    let count = src.len() / size;
    let body = count * size;
    if wanted.end > body {
        dst[body..].copy_from_slice(&src[body..]);
    }
    let (lo, hi) = (wanted.start / size, wanted.end.div_ceil(size).min(count));
    if lo >= hi {
        return;
    }
    if size == 1 {
        return dst[lo..hi].copy_from_slice(&src[lo..hi]);
    }
    let done = unshuffle_simd(size, count, &src[..body], &mut dst[..body], lo, hi);
    unshuffle_plain(size, count, src, dst, done, hi);
}

fn unshuffle_plain(size: usize, count: usize, src: &[u8], dst: &mut [u8], lo: usize, hi: usize) {
    for start in (lo..hi).step_by(TILE) {
        let end = (start + TILE).min(hi);
        let elements = &mut dst[start * size..end * size];
        for plane in 0..size {
            let source = &src[plane * count + start..plane * count + end];
            for (element, byte) in elements.chunks_exact_mut(size).zip(source) {
                element[plane] = *byte;
            }
        }
    }
}

/// Processes elements from `lo` on in vectors; returns the first unprocessed one.
#[cfg(target_arch = "x86_64")]
fn unshuffle_simd(size: usize, count: usize, src: &[u8], dst: &mut [u8], lo: usize, hi: usize) -> usize {
    use super::unshuffle_x86::{avx2, sse2};
    debug_assert!(src.len() == size * count && dst.len() == size * count && hi <= count);
    let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
    // SAFETY: both slices hold `count` elements of `size` bytes, `hi` is at most `count`; SSE2 is part of x86_64.
    unsafe {
        match (size, crate::cpu_features::has_avx2()) {
            (2, true) => avx2::unshuffle2(from, to, count, lo, hi),
            (4, true) => avx2::unshuffle4(from, to, count, lo, hi),
            (8, true) => avx2::unshuffle8(from, to, count, lo, hi),
            (2, false) => sse2::unshuffle2(from, to, count, lo, hi),
            (4, false) => sse2::unshuffle4(from, to, count, lo, hi),
            (8, false) => sse2::unshuffle8(from, to, count, lo, hi),
            _ => lo,
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn unshuffle_simd(_: usize, _: usize, _: &[u8], _: &mut [u8], lo: usize, _: usize) -> usize {
    lo
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every implementation must agree with the definition, for any `wanted` range.
    #[test]
    fn all_paths_agree() {
        for size in [1, 2, 3, 4, 7, 8, 12, 16] {
            for count in [0, 1, 15, 16, 31, 33, 64, 100, 257, 600] {
                for extra in [0, size - 1] {
                    let raw: Vec<u8> = (0..count * size + extra).map(|i| (i * 31 % 251) as u8).collect();
                    let mut packed = vec![0; raw.len()];
                    shuffle(size, &raw, &mut packed);
                    for i in 0..count * size {
                        assert_eq!(packed[i % size * count + i / size], raw[i]);
                    }
                    for wanted in
                        [0..raw.len(), 0..raw.len() / 3, raw.len() / 2..raw.len(), 5.min(raw.len())..raw.len()]
                    {
                        let mut out = vec![0; raw.len()];
                        unshuffle(size, &packed, &mut out, wanted.clone());
                        assert_eq!(out[wanted.clone()], raw[wanted], "{size} {count}");
                    }
                    let mut out = vec![0; raw.len()];
                    unshuffle_plain(size, count, &packed, &mut out, 0, count);
                    assert_eq!(out[..count * size], raw[..count * size], "plain {size} {count}");
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn processors_without_avx2_agree() {
        use crate::codecs::bytes::unshuffle_x86::sse2;
        for count in [0, 15, 16, 47, 600] {
            for size in [2, 4, 8] {
                let raw: Vec<u8> = (0..count * size).map(|i| (i * 31 % 251) as u8).collect();
                let (mut packed, mut out) = (vec![0; raw.len()], vec![0; raw.len()]);
                shuffle(size, &raw, &mut packed);
                let lo = count / 5;
                let (from, to) = (packed.as_ptr(), out.as_mut_ptr());
                // SAFETY: both hold `count` elements of `size` bytes.
                let done = unsafe {
                    match size {
                        2 => sse2::unshuffle2(from, to, count, lo, count),
                        4 => sse2::unshuffle4(from, to, count, lo, count),
                        _ => sse2::unshuffle8(from, to, count, lo, count),
                    }
                };
                assert!(count - done < 16 || done == lo);
                assert_eq!(out[lo * size..done * size], raw[lo * size..done * size], "{size} {count}");
            }
        }
    }
}
