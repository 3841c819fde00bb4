//! `zstd`: one or more frames. Stops early if only the beginning of a chunk is needed.

use std::ops::Range;

use icecore_grid::Result;

use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::errors::bad_config;
use crate::extension::{Extension, config_bool_or, config_i64_or};
use crate::min_match::MinMatch;
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["zstd", "numcodecs.zstd"];

#[derive(Debug)]
pub(crate) struct Zstd {
    level: i32,
    checksum: bool,
}

impl Zstd {
    pub fn parse(ext: &Extension) -> Result<Zstd> {
        match config_i64_or(ext, "level", 0)? {
            level @ -131_072..=22 => {
                Ok(Zstd { level: level as i32, checksum: config_bool_or(ext, "checksum", false)? })
            }
            _ => Err(bad_config(ext, "level", "-131072 to 22")),
        }
    }
}

impl BytesCodec for Zstd {
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()> {
        scratch.decompressor()?.decompress(input, out, wanted.end)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        scratch.decompressor()?.decompress_unsized(input, out, cap)
    }

    fn uses_min_match(&self) -> bool {
        // Other levels were chosen explicitly; leave them unchanged.
        matches!(self.level, 0 | 3)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let min_match = if self.uses_min_match() { scratch.min_match } else { MinMatch::Usual };
        scratch.compressor()?.compress(input, out, self.level, self.checksum, min_match)
    }
}
