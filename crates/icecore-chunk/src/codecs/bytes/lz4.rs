//! LZ4 blocks, and `numcodecs.lz4`: a 4-byte little-endian length, then one block.

use std::ffi::{c_char, c_int};
use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use super::lz4_runs;
use crate::buffer::{Buffer, append};
use crate::codecs::byte_codec::BytesCodec;
use crate::errors::{bad_config, corrupt, overstated, wrong_length};
use crate::extension::{Extension, config_i64_or};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["lz4", "numcodecs.lz4"];

/// The largest block that LZ4 accepts.
const MAX_INPUT: usize = 0x7e00_0000;

unsafe extern "C" {
    // Part of the library that lz4-sys builds, but missing in its bindings.
    fn LZ4_decompress_safe_partial(
        source: *const c_char,
        dest: *mut c_char,
        source_size: c_int,
        target_size: c_int,
        capacity: c_int,
    ) -> c_int;
}

/// Decodes one block, which must fill `out` exactly.
pub(super) fn decode_block(codec: &str, input: &[u8], out: &mut [u8]) -> Result<()> {
    let damaged = |len: usize| corrupt(codec, format!("an LZ4 block does not decode to {len} bytes"));
    if lz4_runs::is_worth(input.len(), out.len()) {
        return lz4_runs::decode(input, out).ok_or_else(|| damaged(out.len()));
    }
    let (source, room) = (int(input.len())?, int(out.len())?);
    // SAFETY: pointers and lengths come from slices; the safe decoder stays within both.
    let n = unsafe { lz4_sys::LZ4_decompress_safe(input.as_ptr().cast(), out.as_mut_ptr().cast(), source, room) };
    match usize::try_from(n) {
        Ok(n) if n == out.len() => Ok(()),
        Ok(n) => Err(wrong_length(codec, n, out.len())),
        Err(_) => Err(damaged(out.len())),
    }
}

/// Decodes the first `enough` bytes of a block that fills `out`.
fn decode_start(codec: &str, input: &[u8], out: &mut [u8], enough: usize) -> Result<()> {
    let (source, target, room) = (int(input.len())?, int(enough)?, int(out.len())?);
    // SAFETY: as above; `enough` is at most the length of `out`.
    let n =
        unsafe { LZ4_decompress_safe_partial(input.as_ptr().cast(), out.as_mut_ptr().cast(), source, target, room) };
    match usize::try_from(n) {
        Ok(n) if n >= enough => Ok(()),
        Ok(n) => Err(wrong_length(codec, n, out.len())),
        Err(_) => Err(corrupt(codec, "an LZ4 block is damaged")),
    }
}

/// Appends one block to `out`.
pub(super) fn encode_block(input: &[u8], out: &mut Vec<u8>, acceleration: i32) -> Result<()> {
    let source = int(input.len())?;
    if input.len() > MAX_INPUT {
        return Err(too_large(input.len()));
    }
    let failed = || Error::new(ErrorKind::Codec, format!("lz4: could not compress {} bytes", input.len()));
    let compress = |start: *mut u8, room: usize| {
        let room = c_int::try_from(room).unwrap_or(c_int::MAX);
        // SAFETY: pointers and lengths come from a slice and from `append`.
        let n = unsafe { lz4_sys::LZ4_compress_fast(input.as_ptr().cast(), start.cast(), source, room, acceleration) };
        usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(failed)
    };
    // The bound that LZ4 documents.
    let most = input.len() + input.len() / 255 + 16;
    // SAFETY: LZ4 returns how many bytes it wrote.
    unsafe { append(out, most, compress) }
}

fn int(len: usize) -> Result<c_int> {
    c_int::try_from(len).map_err(|_| too_large(len))
}

fn too_large(len: usize) -> Error {
    Error::new(ErrorKind::Codec, format!("lz4: a block of {len} bytes; at most {MAX_INPUT} are possible"))
        .hint("choose smaller chunks")
}

#[derive(Debug)]
pub(crate) struct Lz4 {
    acceleration: i32,
}

impl Lz4 {
    pub fn parse(ext: &Extension) -> Result<Lz4> {
        match config_i64_or(ext, "acceleration", 1)? {
            a if i32::try_from(a).is_ok() => Ok(Lz4 { acceleration: a as i32 }),
            _ => Err(bad_config(ext, "acceleration", "a 32-bit integer")),
        }
    }
}

/// The length in the header, and the block after it.
fn split(input: &[u8]) -> Result<(usize, &[u8])> {
    match input.split_first_chunk::<4>() {
        Some((head, block)) => Ok((u32::from_le_bytes(*head) as usize, block)),
        None => Err(corrupt("lz4", format!("{} stored bytes, shorter than the header", input.len()))),
    }
}

impl BytesCodec for Lz4 {
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, _: &mut Scratch) -> Result<()> {
        let (len, block) = split(input)?;
        if len != out.len() {
            return Err(wrong_length("lz4", len, out.len()));
        }
        match wanted.end < out.len() {
            true => decode_start("lz4", block, out, wanted.end),
            false => decode_block("lz4", block, out),
        }
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        let (len, block) = split(input)?;
        // A block expands at most 255-fold.
        if len > cap || len > block.len().saturating_mul(256) {
            return Err(overstated("lz4", len, block.len()));
        }
        decode_block("lz4", block, out.sized(len)?)?;
        Ok(len)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        let len = u32::try_from(input.len()).map_err(|_| too_large(input.len()))?;
        out.extend(len.to_le_bytes());
        encode_block(input, out, self.acceleration)
    }
}
