//! `numcodecs.lzma`: xz streams (and the older .lzma files), as Python's `lzma` module writes them.

use std::io::Read;
use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use liblzma::read::{XzDecoder, XzEncoder};
use liblzma::stream::{Check, Filters, LzmaOptions, Stream};

use super::stream::{read_into, read_unsized};
use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::errors::bad_config;
use crate::extension::{Extension, config_i64_or};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["numcodecs.lzma"];

/// Memory limit of a decoder: the strongest preset needs 65 MiB, a hostile header requests gigabytes.
const MEMORY: u64 = 256 << 20;
/// Python's numbers of the container formats and of the checks.
const FORMAT_XZ: i64 = 1;
const FORMAT_ALONE: i64 = 2;
/// The library's minimum dictionary size.
const SHORTEST: u32 = 4096;

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
        // A filter chain that is not recorded in the stream cannot be undone without the configuration.
        match ext.get("filters") {
            None => Ok(Lzma { preset, alone, check }),
            Some(_) => Err(bad_config(ext, "filters", "null")),
        }
    }

    /// Options of the preset, with a dictionary no longer than the input: an 8 MiB dictionary would cost readers up to
    /// a third of their time and memory. The output is the same.
    fn options(&self, len: usize) -> std::result::Result<LzmaOptions, liblzma::stream::Error> {
        let mut options = LzmaOptions::new_preset(self.preset)?;
        let preset = 1 << [18, 20, 21, 22, 22, 23, 23, 24, 25, 26][self.preset as usize];
        options.dict_size(u32::try_from(len).unwrap_or(u32::MAX).clamp(SHORTEST, preset));
        Ok(options)
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
        let stream = self.options(input.len()).and_then(|options| match self.alone {
            true => Stream::new_lzma_encoder(&options),
            false => Stream::new_stream_encoder(Filters::new().lzma2(&options), self.check),
        });
        XzEncoder::new_stream(input, stream.map_err(failed)?)
            .read_to_end(out)
            .map(|_| ())
            .map_err(|e| Error::new(ErrorKind::Codec, format!("lzma: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_need_memory_for_the_chunk_not_for_the_preset() {
        let raw: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let lzma = Lzma { preset: 9, alone: false, check: Check::Crc64 };
        let mut stored = Vec::new();
        lzma.encode(&raw, &mut stored, &mut Scratch::new()).unwrap();
        let (mut out, stream) = (Vec::new(), Stream::new_stream_decoder(1 << 20, 0).unwrap());
        XzDecoder::new_stream(stored.as_slice(), stream).read_to_end(&mut out).unwrap();
        assert!(out == raw);
    }
}
