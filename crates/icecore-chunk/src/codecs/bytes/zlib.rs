//! `zlib`: RFC 1950 streams, as HDF5's deflate filter writes them.

use std::ops::Range;

use icecore_grid::Result;

use super::one_shot::{exactly, into_room, length};
use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::contexts::{DeflateStream, Framing};
use crate::errors::bad_config;
use crate::extension::{Extension, config_i64_or};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["zlib", "numcodecs.zlib"];

#[derive(Debug)]
pub(crate) struct Zlib {
    level: i32,
}

impl Zlib {
    pub fn parse(ext: &Extension) -> Result<Zlib> {
        Ok(Zlib { level: deflate_level(ext)? })
    }
}

/// Levels −1 (the usual 6) … 9.
pub(super) fn deflate_level(ext: &Extension) -> Result<i32> {
    match config_i64_or(ext, "level", -1)? {
        -1 => Ok(6),
        level @ 0..=9 => Ok(level as i32),
        _ => Err(bad_config(ext, "level", "-1 to 9")),
    }
}

impl BytesCodec for Zlib {
    fn decode_into(&self, input: &[u8], out: &mut [u8], _: Range<usize>, scratch: &mut Scratch) -> Result<()> {
        exactly("zlib", out.len(), decode(input, out, scratch)?)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        into_room("zlib", input.len(), out, cap, |out| decode(input, out, scratch))
    }

    fn is_deflate(&self) -> bool {
        true
    }

    fn deflated<'a>(&self, input: &'a [u8]) -> Option<DeflateStream<'a>> {
        DeflateStream::zlib(input)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        scratch.deflater(self.level)?.deflate(Framing::Zlib, input, out)
    }
}

/// Bytes after the stream are ignored, as by zlib itself: some HDF5 files have such padding.
fn decode(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<Option<usize>> {
    let decoded = scratch.inflater()?.inflate(Framing::Zlib, input, out);
    length("zlib", decoded.map(|(_, written)| written))
}

/// Decodes one stream that must fill `out` exactly.
pub(in crate::codecs) fn inflate_whole(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    exactly("zlib", out.len(), decode(input, out, scratch)?)
}
