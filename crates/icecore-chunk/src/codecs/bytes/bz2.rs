//! `bz2`: one or more bzip2 streams. For reading old archives; `pack` never chooses it.

use std::io::Read;
use std::ops::Range;

use bzip2::Compression;
use bzip2::read::{BzEncoder, MultiBzDecoder};
use icecore_grid::{Error, ErrorKind, Result};

use super::stream::{read_into, read_unsized};
use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::errors::bad_config;
use crate::extension::{Extension, config_i64_or};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["bz2", "numcodecs.bz2"];

#[derive(Debug)]
pub(crate) struct Bz2 {
    level: u32,
}

impl Bz2 {
    pub fn parse(ext: &Extension) -> Result<Bz2> {
        match config_i64_or(ext, "level", 1)? {
            level @ 1..=9 => Ok(Bz2 { level: level as u32 }),
            _ => Err(bad_config(ext, "level", "1 to 9")),
        }
    }
}

impl BytesCodec for Bz2 {
    fn decode_into(&self, input: &[u8], out: &mut [u8], _: Range<usize>, _: &mut Scratch) -> Result<()> {
        read_into("bz2", MultiBzDecoder::new(input), out)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        read_unsized("bz2", MultiBzDecoder::new(input), input.len(), out, cap)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        BzEncoder::new(input, Compression::new(self.level))
            .read_to_end(out)
            .map(|_| ())
            .map_err(|e| Error::new(ErrorKind::Codec, format!("bz2: {e}")))
    }
}
