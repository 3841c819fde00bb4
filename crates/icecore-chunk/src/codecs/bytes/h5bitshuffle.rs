//! HDF5's bitshuffle filter (32008), alone or with LZ4 or zstd inside.
//!
//! Alone: blocks of `block_size` elements, each bit-shuffled separately; the last block is cut to a multiple of 8
//! elements, and the remaining elements are stored unchanged. With a compressor: u64 BE decoded length, u32 BE block
//! length in bytes, then for each block a u32 BE stored length and the data; the remaining elements follow raw.

use std::ops::Range;

use icecore_grid::Result;

use super::bitshuffle::{bitshuffle, bitunshuffle};
use super::lz4;
use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::errors::{bad_config, corrupt, overstated, wrong_length};
use crate::extension::{Extension, config_i64_or, config_str, only_keys};
use crate::min_match::MinMatch;
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.h5bitshuffle"];

const NAME: &str = "icecore.h5bitshuffle";
/// The filter's default: blocks of 8 KiB, but at least 128 elements.
const TARGET_BLOCK: usize = 8192;
const MIN_BLOCK: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Inner {
    None,
    Lz4,
    Zstd,
}

#[derive(Debug)]
pub(crate) struct H5BitShuffle {
    itemsize: usize,
    /// Elements per block.
    block: usize,
    inner: Inner,
}

impl H5BitShuffle {
    pub fn parse(ext: &Extension) -> Result<H5BitShuffle> {
        only_keys(ext, &["itemsize", "block_size", "compression"])?;
        let itemsize = match config_i64_or(ext, "itemsize", 0)? {
            size @ 1..=0xffff => size as usize,
            _ => return Err(bad_config(ext, "itemsize", "1 to 65535")),
        };
        let block = match config_i64_or(ext, "block_size", 0)? {
            0 => (TARGET_BLOCK / itemsize / 8 * 8).max(MIN_BLOCK),
            n @ 1..=0x0fff_ffff if n % 8 == 0 => n as usize,
            _ => return Err(bad_config(ext, "block_size", "0, or a multiple of 8")),
        };
        let inner = match ext.get("compression").map(|_| config_str(ext, "compression")).transpose()? {
            None | Some("none") => Inner::None,
            Some("lz4") => Inner::Lz4,
            Some("zstd") => Inner::Zstd,
            Some(_) => return Err(bad_config(ext, "compression", "none, lz4, zstd")),
        };
        Ok(H5BitShuffle { itemsize, block, inner })
    }

    /// Lengths in bytes: of the shuffled data, and of a block.
    fn parts(&self, len: usize, block: usize) -> (usize, usize) {
        let group = 8 * self.itemsize;
        (len / group * group, block.saturating_mul(self.itemsize))
    }

    fn decode(
        &self,
        input: &[u8],
        block: usize,
        out: &mut [u8],
        wanted: &Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (body, step) = self.parts(out.len(), block);
        let (mut packed, mut tmp) = (scratch.take(), scratch.take());
        let (blocks, tail) = out.split_at_mut(body);
        let (mut rest, mut at) = (input, 0);
        for part in blocks.chunks_mut(step) {
            let len = part.len();
            let data = self.stored(&mut rest, len)?;
            if at < wanted.end && at + len > wanted.start {
                let bits = match self.inner {
                    Inner::None => data,
                    Inner::Lz4 => unpack(&mut packed, len, |out| lz4::decode_block(NAME, data, out))?,
                    Inner::Zstd => unpack(&mut packed, len, |out| scratch.decompressor()?.decompress(data, out, len))?,
                };
                bitunshuffle(self.itemsize, bits, part, &mut tmp)?;
            }
            at += len;
        }
        match rest.len() == tail.len() {
            true => tail.copy_from_slice(rest),
            false => {
                return Err(corrupt(
                    NAME,
                    format!("{} bytes after the last block, expected {}", rest.len(), tail.len()),
                ));
            }
        }
        scratch.give(packed);
        scratch.give(tmp);
        Ok(())
    }

    /// Takes the stored bytes of one block from the front.
    fn stored<'a>(&self, rest: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
        let short = || corrupt(NAME, "a block reaches past the end of the data");
        let len = match self.inner {
            Inner::None => len,
            _ => {
                let (head, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
                *rest = after;
                u32::from_be_bytes(*head) as usize
            }
        };
        let (data, after) = rest.split_at_checked(len).ok_or_else(short)?;
        *rest = after;
        Ok(data)
    }

    /// The decoded length, the block length in elements, and the blocks; reads the header if there is one.
    fn header<'a>(&self, input: &'a [u8]) -> Result<(u64, usize, &'a [u8])> {
        if self.inner == Inner::None {
            return Ok((input.len() as u64, self.block, input));
        }
        let (len, rest) = match (input.first_chunk::<8>(), input.get(8..).and_then(|r| r.split_first_chunk::<4>())) {
            (Some(len), Some((block, rest))) => ((u64::from_be_bytes(*len), u32::from_be_bytes(*block) as usize), rest),
            _ => return Err(corrupt(NAME, format!("{} stored bytes, shorter than the header", input.len()))),
        };
        match len.1 / self.itemsize {
            block if block > 0 && block % 8 == 0 && block * self.itemsize == len.1 => Ok((len.0, block, rest)),
            _ => Err(corrupt(NAME, format!("a block length of {} bytes with elements of {}", len.1, self.itemsize))),
        }
    }
}

fn unpack(packed: &mut Buffer, len: usize, decode: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<&[u8]> {
    let out = packed.sized(len)?;
    decode(out)?;
    Ok(out)
}

impl BytesCodec for H5BitShuffle {
    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        (self.inner == Inner::None).then_some(decoded)
    }

    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()> {
        let (len, block, rest) = self.header(input)?;
        if len != out.len() as u64 {
            return Err(wrong_length(NAME, len, out.len()));
        }
        self.decode(rest, block, out, &wanted, scratch)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        let (len, block, rest) = self.header(input)?;
        // zstd encodes a run of 128 KiB in 4 bytes; no other compressor expands more.
        if len > cap as u64 || len > (rest.len() as u64).saturating_mul(1 << 16) {
            return Err(overstated(NAME, len, rest.len()));
        }
        let len = len as usize;
        self.decode(rest, block, out.sized(len)?, &(0..len), scratch)?;
        Ok(len)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let (body, step) = self.parts(input.len(), self.block);
        let (mut bits, mut tmp, mut packed) = (scratch.take(), scratch.take(), Vec::new());
        if self.inner != Inner::None {
            out.extend((input.len() as u64).to_be_bytes());
            out.extend((step as u32).to_be_bytes());
        }
        for part in input[..body].chunks(step) {
            let shuffled = bits.sized(part.len())?;
            bitshuffle(self.itemsize, part, shuffled, &mut tmp)?;
            packed.clear();
            match self.inner {
                Inner::None => {
                    out.extend_from_slice(shuffled);
                    continue;
                }
                Inner::Lz4 => lz4::encode_block(shuffled, &mut packed, 1)?,
                Inner::Zstd => scratch.compressor()?.compress(shuffled, &mut packed, 3, false, MinMatch::Usual)?,
            }
            out.extend((packed.len() as u32).to_be_bytes());
            out.extend_from_slice(&packed);
        }
        out.extend_from_slice(&input[body..]);
        scratch.give(bits);
        scratch.give(tmp);
        Ok(())
    }
}
