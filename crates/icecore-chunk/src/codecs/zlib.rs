//! `zlib`: RFC 1950 streams, as HDF5's deflate filter writes them.

use std::ops::Range;

use icecore_grid::Result;

use super::codec::BytesCodec;
use crate::buffer::{Buffer, first_guess};
use crate::contexts::{Deflated, Framing, InflateError};
use crate::extension::{Extension, config_i64_or};
use crate::refuse::{bad_config, corrupt, wrong_length};
use crate::scratch::Scratch;

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
        match scratch.inflater()?.inflate(Framing::Zlib, input, out) {
            // Bytes after the stream are ignored, as zlib itself does: HDF5 files with such padding exist.
            Ok((_, written)) if written == out.len() => Ok(()),
            Ok((_, written)) => Err(wrong_length("zlib", written, out.len())),
            Err(InflateError::TooLong) => Err(wrong_length("zlib", "more", out.len())),
            Err(InflateError::BadData) => Err(corrupt("zlib", "the stream is damaged")),
        }
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        let mut room = first_guess(input.len(), cap);
        loop {
            match scratch.inflater()?.inflate(Framing::Zlib, input, out.sized(room)?) {
                Ok((_, written)) => return Ok(written),
                Err(InflateError::TooLong) if room < cap => room = room.saturating_mul(2).min(cap),
                Err(InflateError::TooLong) => return Err(corrupt("zlib", format!("decodes to more than {cap} bytes"))),
                Err(InflateError::BadData) => return Err(corrupt("zlib", "the stream is damaged")),
            }
        }
    }

    fn is_deflate(&self) -> bool {
        true
    }

    fn deflated<'a>(&self, input: &'a [u8]) -> Option<Deflated<'a>> {
        Deflated::zlib(input)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        scratch.deflater(self.level)?.deflate(Framing::Zlib, input, out)
    }
}
