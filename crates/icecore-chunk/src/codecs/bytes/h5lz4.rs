//! HDF5's LZ4 filter (32004): u64 BE length, u32 BE block length, then for each block a u32 BE stored length and the
//! data.

use std::ops::Range;

use icecore_grid::Result;

use super::lz4;
use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::errors::{bad_config, corrupt, overstated, wrong_length};
use crate::extension::{Extension, config_i64_or, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.h5lz4", "imagecodecs_lz4h5"];

/// The HDF5 plugin's default block length.
const DEFAULT_BLOCK: usize = 1 << 30;

#[derive(Debug)]
pub(crate) struct H5Lz4 {
    block: usize,
}

impl H5Lz4 {
    pub fn parse(ext: &Extension) -> Result<H5Lz4> {
        if ext.name == NAME {
            only_keys(ext, &["block_size"])?;
        }
        let key = if ext.get("blocksize").is_some() { "blocksize" } else { "block_size" };
        match config_i64_or(ext, key, 0)? {
            0 => Ok(H5Lz4 { block: DEFAULT_BLOCK }),
            block if (1..=0x7e00_0000).contains(&block) => Ok(H5Lz4 { block: block as usize }),
            _ => Err(bad_config(ext, key, "0 to 2113929216")),
        }
    }
}

const NAME: &str = "icecore.h5lz4";

fn header(input: &[u8]) -> Result<(u64, usize, &[u8])> {
    match (input.first_chunk::<8>(), input.get(8..).and_then(|rest| rest.split_first_chunk::<4>())) {
        (Some(len), Some((block, rest))) => Ok((u64::from_be_bytes(*len), u32::from_be_bytes(*block) as usize, rest)),
        _ => Err(corrupt(NAME, format!("{} stored bytes, shorter than the header", input.len()))),
    }
}

fn decode(input: &[u8], block: usize, out: &mut [u8], wanted: &Range<usize>) -> Result<()> {
    if block == 0 && !out.is_empty() {
        return Err(corrupt(NAME, "the block length is 0"));
    }
    let (mut rest, mut at) = (input, 0);
    for part in out.chunks_mut(block.max(1)) {
        let (len, data) = rest.split_first_chunk::<4>().ok_or_else(|| corrupt(NAME, "the data end too early"))?;
        let len = u32::from_be_bytes(*len) as usize;
        let data = data.get(..len).ok_or_else(|| corrupt(NAME, "a block reaches past the end of the data"))?;
        rest = &rest[4 + len..];
        if at < wanted.end && at + part.len() > wanted.start {
            // A block that did not shrink is stored uncompressed.
            match len == part.len() {
                true => part.copy_from_slice(data),
                false => lz4::decode_block(NAME, data, part)?,
            }
        }
        at += part.len();
    }
    Ok(())
}

impl BytesCodec for H5Lz4 {
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, _: &mut Scratch) -> Result<()> {
        let (len, block, rest) = header(input)?;
        if len != out.len() as u64 {
            return Err(wrong_length(NAME, len, out.len()));
        }
        decode(rest, block, out, &wanted)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        let (len, block, rest) = header(input)?;
        if len > cap as u64 || len > (rest.len() as u64).saturating_mul(256) {
            return Err(overstated(NAME, len, rest.len()));
        }
        let len = len as usize;
        decode(rest, block, out.sized(len)?, &(0..len))?;
        Ok(len)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        let block = self.block.min(input.len()).max(1);
        out.extend((input.len() as u64).to_be_bytes());
        out.extend((block as u32).to_be_bytes());
        for part in input.chunks(block) {
            let head = out.len();
            out.extend([0; 4]);
            lz4::encode_block(part, out, 1)?;
            if out.len() - head - 4 >= part.len() {
                out.truncate(head + 4);
                out.extend(part);
            }
            let len = (out.len() - head - 4) as u32;
            out[head..head + 4].copy_from_slice(&len.to_be_bytes());
        }
        Ok(())
    }
}
