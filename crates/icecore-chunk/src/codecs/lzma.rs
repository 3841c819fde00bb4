//! `numcodecs.lzma`: xz streams (and the older .lzma files), as Python's `lzma` module writes them.

use std::io::Read;
use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use liblzma::read::{XzDecoder, XzEncoder};
use liblzma::stream::{Check, LzmaOptions, Stream};

use super::codec::BytesCodec;
use super::stream::{read_into, read_unsized};
use crate::buffer::Buffer;
use crate::extension::{Extension, config_i64_or};
use crate::refuse::bad_config;
use crate::scratch::Scratch;

/// What a decoder may take: the strongest preset needs 65 MiB, a hostile header asks for gigabytes.
const MEMORY: u64 = 256 << 20;
/// Python's numbers of the container formats and of the checks.
const FORMAT_XZ: i64 = 1;
const FORMAT_ALONE: i64 = 2;

#[derive(Debug)]
pub(crate) struct Lzma {
    preset: u32,
    alone: bool,
    check: Check,
}

impl Lzma {
    pub fn parse(ext: &Extension) -> Result<Lzma> {
        let alone = match config_i64_or(ext, "format", FORMAT_XZ)? {
            FORMAT_XZ => false,
            FORMAT_ALONE => true,
            _ => return Err(bad_config(ext, "format", "1 (xz) or 2 (lzma alone)")),
        };
        let check = match config_i64_or(ext, "check", -1)? {
            0 => Check::None,
            1 => Check::Crc32,
            -1 | 4 => Check::Crc64,
            10 => Check::Sha256,
            _ => return Err(bad_config(ext, "check", "-1, 0, 1, 4 or 10")),
        };
        let preset = match config_i64_or(ext, "preset", 6)? {
            preset @ 0..=9 => preset as u32,
            _ => return Err(bad_config(ext, "preset", "0 to 9")),
        };
        // A filter chain that the stream itself does not name can't be undone without it.
        match ext.get("filters") {
            None => Ok(Lzma { preset, alone, check }),
            Some(_) => Err(bad_config(ext, "filters", "null")),
        }
    }

    fn decoder<'a>(&self, input: &'a [u8]) -> Result<XzDecoder<&'a [u8]>> {
        let stream = match self.alone {
            true => Stream::new_lzma_decoder(MEMORY),
            false => Stream::new_stream_decoder(MEMORY, liblzma::stream::CONCATENATED),
        };
        Ok(XzDecoder::new_stream(input, stream.map_err(failed)?))
    }
}

fn failed(error: liblzma::stream::Error) -> Error {
    Error::new(ErrorKind::Codec, format!("lzma: {error}"))
}

impl BytesCodec for Lzma {
    fn decode_into(&self, input: &[u8], out: &mut [u8], _: Range<usize>, _: &mut Scratch) -> Result<()> {
        read_into("lzma", self.decoder(input)?, out)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        read_unsized("lzma", self.decoder(input)?, input.len(), out, cap)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        let stream = match self.alone {
            true => LzmaOptions::new_preset(self.preset).and_then(|o| Stream::new_lzma_encoder(&o)),
            false => Stream::new_easy_encoder(self.preset, self.check),
        };
        XzEncoder::new_stream(input, stream.map_err(failed)?)
            .read_to_end(out)
            .map(|_| ())
            .map_err(|e| Error::new(ErrorKind::Codec, format!("lzma: {e}")))
    }
}
