//! `gzip`: RFC 1952, one member or several after another.

use std::ops::Range;

use icecore_grid::Result;

use super::codec::BytesCodec;
use super::zlib::deflate_level;
use crate::buffer::{Buffer, first_guess};
use crate::contexts::{Deflated, Framing, InflateError};
use crate::extension::Extension;
use crate::refuse::{corrupt, wrong_length};
use crate::scratch::Scratch;

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
        match members(input, out, scratch)? {
            Some(written) if written == out.len() => Ok(()),
            Some(written) => Err(wrong_length("gzip", written, out.len())),
            None => Err(wrong_length("gzip", "more", out.len())),
        }
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize> {
        let mut room = first_guess(input.len(), cap);
        loop {
            match members(input, out.sized(room)?, scratch)? {
                Some(written) => return Ok(written),
                None if room < cap => room = room.saturating_mul(2).min(cap),
                None => return Err(corrupt("gzip", format!("decodes to more than {cap} bytes"))),
            }
        }
    }

    fn is_deflate(&self) -> bool {
        true
    }

    fn deflated<'a>(&self, input: &'a [u8]) -> Option<Deflated<'a>> {
        Deflated::gzip(input)
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        scratch.deflater(self.level)?.deflate(Framing::Gzip, input, out)
    }
}

/// Decodes every member; `None` where `out` is too short for them.
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
        // Zeros may pad the end, as gzip(1) allows.
        if input.iter().all(|b| *b == 0) {
            return Ok(Some(written));
        }
    }
}
