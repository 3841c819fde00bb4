//! `bz2`: bzip2 streams, one or several. For reading old archives; packs never choose it.

use std::io::Read;
use std::ops::Range;

use bzip2::Compression;
use bzip2::read::{BzEncoder, MultiBzDecoder};
use icecore_grid::{Error, ErrorKind, Result};

use super::codec::BytesCodec;
use crate::buffer::{Buffer, first_guess};
use crate::extension::{Extension, config_i64_or};
use crate::refuse::{bad_config, corrupt, wrong_length};
use crate::scratch::Scratch;

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

/// Reads until `out` is full or the data end.
fn fill(reader: &mut impl Read, out: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < out.len() {
        match reader.read(&mut out[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) => return Err(corrupt("bz2", e.to_string())),
        }
    }
    Ok(done)
}

impl BytesCodec for Bz2 {
    fn decode_into(&self, input: &[u8], out: &mut [u8], _: Range<usize>, _: &mut Scratch) -> Result<()> {
        let mut reader = MultiBzDecoder::new(input);
        let done = fill(&mut reader, out)?;
        if done < out.len() {
            return Err(wrong_length("bz2", done, out.len()));
        }
        // The end is read too: the checksum of the stream stands there.
        match fill(&mut reader, &mut [0])? {
            0 => Ok(()),
            _ => Err(wrong_length("bz2", "more", out.len())),
        }
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        let mut reader = MultiBzDecoder::new(input);
        let (mut room, mut done) = (first_guess(input.len(), cap), 0);
        loop {
            done += fill(&mut reader, &mut out.sized(room)?[done..])?;
            match (done < room, room < cap) {
                (true, _) => return Ok(done),
                (false, true) => room = room.saturating_mul(2).min(cap),
                (false, false) => return Err(corrupt("bz2", format!("decodes to more than {cap} bytes"))),
            }
        }
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        out.clear();
        BzEncoder::new(input, Compression::new(self.level))
            .read_to_end(out)
            .map(|_| ())
            .map_err(|e| Error::new(ErrorKind::Codec, format!("bz2: {e}")))
    }
}
