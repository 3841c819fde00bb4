//! `blosc` (version 1). Decoded block by block in this file, so that only the needed blocks are touched and unshuffled
//! bytes go directly to the output; encoded by c-blosc.

use std::ffi::CString;
use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use super::bitshuffle::bitunshuffle;
use super::blosc_block::Blocks;
use super::blosc_frame::{Filter, Frame, HEADER, Packer, next_stream};
use super::shuffle::unshuffle;
use super::{blosclz, lz4};
use crate::buffer::{Buffer, append, out_of_memory};
use crate::codecs::byte_codec::BytesCodec;
use crate::contexts::Framing;
use crate::errors::{bad_config, corrupt, overstated, wrong_length};
use crate::extension::{Extension, config_i64_or, config_str};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["blosc", "numcodecs.blosc"];

/// The largest buffer that blosc 1 accepts.
const MAX_INPUT: usize = i32::MAX as usize - HEADER;
/// Maximum block size that c-blosc chooses.
const LARGEST_BLOCK: usize = 4 << 20;
/// c-blosc's constant for bit-shuffle.
const BITS: i32 = 2;

#[derive(Debug)]
pub(crate) struct Blosc {
    compressor: CString,
    level: i32,
    shuffle: i32,
    typesize: usize,
    block: usize,
}

impl Blosc {
    pub fn parse(ext: &Extension, itemsize: usize) -> Result<Blosc> {
        let cname = match ext.get("cname") {
            None => "lz4",
            Some(_) => config_str(ext, "cname")?,
        };
        if !["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"].contains(&cname) {
            return Err(bad_config(ext, "cname", "blosclz, lz4, lz4hc, snappy, zlib, zstd"));
        }
        let level = match config_i64_or(ext, "clevel", 5)? {
            level @ 0..=9 => level as i32,
            _ => return Err(bad_config(ext, "clevel", "0 to 9")),
        };
        let typesize = match config_i64_or(ext, "typesize", 0)? {
            0 => itemsize,
            size @ 1..=0xffff_ffff => size as usize,
            _ => return Err(bad_config(ext, "typesize", "a positive integer")),
        };
        let block = match config_i64_or(ext, "blocksize", 0)? {
            block @ 0..=0x7fff_ffff => block as usize,
            _ => return Err(bad_config(ext, "blocksize", "0 to 2147483647")),
        };
        // c-blosc takes types of at most 255 bytes and handles larger ones as bytes.
        let typesize = if typesize > 255 { 1 } else { typesize.max(1) };
        let compressor = CString::new(cname).map_err(|_| bad_config(ext, "cname", "a name"))?;
        Ok(Blosc { compressor, level, shuffle: shuffle_mode(ext, typesize)?, typesize, block })
    }
}

impl Blosc {
    fn blocks(&self) -> Blocks<'_> {
        let compressor = self.compressor.to_str().unwrap_or_default();
        Blocks { compressor, level: self.level, typesize: self.typesize, size: self.block }
    }
}

/// The shuffle mode by its name in Zarr v3, or by numcodecs' number (−1: bits for single bytes, else bytes).
fn shuffle_mode(ext: &Extension, typesize: usize) -> Result<i32> {
    let auto = if typesize == 1 { 2 } else { 1 };
    match ext.get("shuffle").map(|v| (v.as_str(), v.as_i64())) {
        Some((Some("noshuffle"), _)) | Some((_, Some(0))) => Ok(0),
        None | Some((Some("shuffle"), _)) | Some((_, Some(1))) => Ok(1),
        Some((Some("bitshuffle"), _)) | Some((_, Some(2))) => Ok(2),
        Some((_, Some(-1))) => Ok(auto),
        Some(_) => Err(bad_config(ext, "shuffle", "noshuffle, shuffle, bitshuffle, -1 to 2")),
    }
}

impl BytesCodec for Blosc {
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()> {
        let frame = Frame::parse(input)?;
        frame.expect(out.len())?;
        decode(&frame, input, out, wanted, scratch)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        let frame = Frame::parse(input)?;
        // zstd encodes a run of 128 KiB in 4 bytes; no other compressor expands more.
        if frame.len > cap || frame.len > input.len().saturating_mul(1 << 16) {
            return Err(overstated("blosc", frame.len, input.len()));
        }
        decode(&frame, input, out.sized(frame.len)?, 0..frame.len, scratch)?;
        Ok(frame.len)
    }

    fn shuffled_blocks(
        &self,
        input: &[u8],
        len: usize,
        size: usize,
        wanted: Range<usize>,
        scratch: &mut Scratch,
        see: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<bool> {
        let frame = Frame::parse(input)?;
        frame.expect(len)?;
        let regrouped = frame.filter == Filter::Shuffle && frame.typesize == size && frame.block.is_multiple_of(size);
        if !regrouped || frame.copied || frame.packer == Packer::Snappy || !len.is_multiple_of(size) {
            return Ok(false);
        }
        let mut buffer = scratch.take();
        for index in frame.touched(&wanted) {
            let part = frame.part(index);
            let bytes = buffer.sized(part.len())?;
            unpack_block(&frame, &mut frame.block_at(input, index)?, bytes, scratch)?;
            see(part.start, bytes);
        }
        scratch.give(buffer);
        Ok(true)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        if input.len() > MAX_INPUT {
            return Err(Error::new(
                ErrorKind::Codec,
                format!("blosc: {} bytes; at most {MAX_INPUT} are possible", input.len()),
            )
            .hint("choose smaller chunks"));
        }
        let failed = |n| Error::new(ErrorKind::Codec, format!("blosc: could not compress {} bytes ({n})", input.len()));
        let most = input.len() + HEADER; // given more room, c-blosc might use it
        let block = if self.shuffle == BITS { self.blocks().for_bits(input.len()) } else { self.block };
        // c-blosc allocates three blocks without checking the result, so check first that the memory is available.
        let own = 3 * input.len().min(if block > 0 { block } else { LARGEST_BLOCK }) + (1 << 16);
        let mut trial = Vec::<u8>::new();
        trial.try_reserve_exact(own).map_err(|_| out_of_memory(own))?;
        drop(std::hint::black_box(trial)); // keeps the compiler from removing the allocation
        let compress = |start: *mut u8, room: usize| {
            // SAFETY: pointers and lengths come from slices and from `append`, the name ends with a zero; the context
            // variant keeps no globals.
            let n = unsafe {
                blosc_src::blosc_compress_ctx(
                    self.level,
                    self.shuffle,
                    self.typesize,
                    input.len(),
                    input.as_ptr().cast(),
                    start.cast(),
                    room.min(most),
                    self.compressor.as_ptr(),
                    block,
                    1,
                )
            };
            usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| failed(n))
        };
        // SAFETY: c-blosc returns how many bytes it wrote.
        unsafe { append(out, most, compress) }
    }
}

fn decode(frame: &Frame, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    if frame.copied {
        out[wanted.clone()].copy_from_slice(&input[HEADER + wanted.start..HEADER + wanted.end]);
        return Ok(());
    }
    if frame.packer == Packer::Snappy {
        return decode_with_c(frame, input, out);
    }
    let (mut shuffled, mut tmp) = (scratch.take(), scratch.take());
    for index in frame.touched(&wanted) {
        let Range { start, end } = frame.part(index);
        let mut rest = frame.block_at(input, index)?;
        let part = &mut out[start..end];
        if frame.filter == Filter::None {
            unpack_block(frame, &mut rest, part, scratch)?;
            continue;
        }
        let bytes = shuffled.sized(part.len())?;
        unpack_block(frame, &mut rest, bytes, scratch)?;
        // Only the needed elements are unshuffled.
        let inside = wanted.start.saturating_sub(start)..wanted.end.min(end) - start;
        unfilter(frame, bytes, part, inside, &mut tmp)?;
    }
    scratch.give(tmp);
    scratch.give(shuffled);
    Ok(())
}

fn unpack_block(frame: &Frame, rest: &mut &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    let streams = frame.streams(out.len());
    if !out.len().is_multiple_of(streams) {
        return Err(corrupt("blosc", format!("a block of {} bytes split in {streams}", out.len())));
    }
    for part in out.chunks_exact_mut(out.len() / streams) {
        let data = next_stream(rest)?;
        if data.len() == part.len() {
            part.copy_from_slice(data);
            continue;
        }
        match frame.packer {
            Packer::Lz4 => lz4::decode_block("blosc", data, part)?,
            Packer::Zstd => scratch.decompressor()?.decompress(data, part, part.len())?,
            Packer::BloscLz => blosclz::decode(data, part)?,
            _ => inflate(data, part, scratch)?,
        }
    }
    Ok(())
}

fn inflate(data: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    match scratch.inflater()?.inflate(Framing::Zlib, data, out) {
        Ok((_, n)) if n == out.len() => Ok(()),
        Ok((_, n)) => Err(wrong_length("blosc", n, out.len())),
        Err(_) => Err(corrupt("blosc", "a zlib stream is damaged")),
    }
}

fn unfilter(frame: &Frame, bytes: &[u8], out: &mut [u8], wanted: Range<usize>, tmp: &mut Buffer) -> Result<()> {
    let size = frame.typesize;
    if frame.filter == Filter::Shuffle {
        unshuffle(size, bytes, out, wanted);
        return Ok(());
    }
    // c-blosc does not shuffle blocks whose number of elements is not a multiple of 8.
    let count = bytes.len() / size;
    let body = if count.is_multiple_of(8) { count * size } else { 0 };
    out[body..].copy_from_slice(&bytes[body..]);
    bitunshuffle(size, &bytes[..body], &mut out[..body], tmp)
}

/// Snappy inside blosc is rare: c-blosc decodes the whole buffer.
fn decode_with_c(frame: &Frame, input: &[u8], out: &mut [u8]) -> Result<()> {
    let mut len = 0;
    // SAFETY: pointers and lengths come from slices; validation makes sure that decoding reads only `stored` bytes, which
    // the header check proved to be there, and it writes at most the length of `out`.
    let n = unsafe {
        match blosc_src::blosc_cbuffer_validate(input.as_ptr().cast(), frame.stored, &mut len) {
            0 => blosc_src::blosc_decompress_ctx(input.as_ptr().cast(), out.as_mut_ptr().cast(), out.len(), 1),
            _ => return Err(corrupt("blosc", "the container is damaged")),
        }
    };
    match usize::try_from(n) {
        Ok(n) if n == out.len() => Ok(()),
        Ok(n) => Err(wrong_length("blosc", n, out.len())),
        Err(_) => Err(corrupt("blosc", "the data are damaged")),
    }
}
