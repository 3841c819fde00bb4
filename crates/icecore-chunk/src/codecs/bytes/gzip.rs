//! `gzip`: RFC 1952, one or more members.

use std::ops::Range;

use icecore_grid::Result;

use super::one_shot::{exactly, into_room};
use super::zlib::deflate_level;
use crate::buffer::Buffer;
use crate::codecs::byte_codec::BytesCodec;
use crate::contexts::{DeflateStream, Framing, InflateError};
use crate::errors::corrupt;
use crate::extension::Extension;
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["gzip", "numcodecs.gzip"];

#[derive(Debug)]
pub(crate) struct Gzip {
    level: i32,
}

impl Gzip {
    pub fn parse(ext: &Extension) -> Result<Gzip> {
        Ok(Gzip { level: deflate_level(ext)? })
    }
}

impl BytesCodec for Gzip {
    fn decode_into(&self, input: &[u8], out: &mut [u8], _: Range<usize>, scratch: &mut Scratch) -> Result<()> {
        exactly("gzip", out.len(), members(input, out, scratch)?)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        into_room("gzip", input.len(), out, cap, |out| members(input, out, scratch))
    }

    fn is_deflate(&self) -> bool {
        true
    }

    fn deflated<'a>(&self, input: &'a [u8]) -> Option<DeflateStream<'a>> {
        DeflateStream::gzip(input)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        scratch.deflater(self.level)?.deflate(Framing::Gzip, input, out)
    }
}

/// Decodes every member; `None` if `out` is too short for them.
fn members(mut input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<Option<usize>> {
    let mut written = 0;
    loop {
        match scratch.inflater()?.inflate(Framing::Gzip, input, &mut out[written..]) {
            Ok((used, more)) => {
                written += more;
                input = input.get(used..).unwrap_or_default();
            }
            Err(InflateError::TooLong) => return Ok(None),
            Err(InflateError::BadData) => return Err(corrupt("gzip", "a member is damaged")),
        }
        // Trailing zeros are ignored, as by gzip(1).
        if input.iter().all(|b| *b == 0) {
            return Ok(Some(written));
        }
    }
}
