//! HDF5's LZF filter: LibLZF's stream without a header.
//!
//! A control byte below 32 starts a run of control + 1 literal bytes. Otherwise its upper three bits are the length of
//! a match minus 2 (7: the next byte adds to it), and its lower five bits with the next byte are the distance minus 1.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use super::one_shot::{exactly, into_room, length};
use crate::buffer::{Buffer, grow};
use crate::codecs::byte_codec::BytesCodec;
use crate::contexts::InflateError;
use crate::extension::{Extension, config_bool_or, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.h5lzf", "imagecodecs_lzf"];

const NAME: &str = "lzf";
/// The format's maximum match length and distance.
const MAX_MATCH: usize = 264;
const MAX_DISTANCE: usize = 8192;
const MAX_LITERALS: usize = 32;
const HASH_BITS: u32 = 14;

#[derive(Debug)]
pub(crate) struct Lzf;

impl Lzf {
    pub fn parse(ext: &Extension) -> Result<Lzf> {
        if ext.name == "icecore.h5lzf" {
            only_keys(ext, &["header"])?;
        }
        match config_bool_or(ext, "header", false)? {
            false => Ok(Lzf),
            true => Err(Error::new(ErrorKind::Unsupported, format!("codec {} with header: true", ext.name))
                .hint("only the headerless stream of HDF5's filter is read")),
        }
    }
}

fn decode(input: &[u8], out: &mut [u8]) -> std::result::Result<usize, InflateError> {
    let (mut at, mut done) = (0, 0);
    while let Some(control) = input.get(at) {
        let control = usize::from(*control);
        at += 1;
        if control < MAX_LITERALS {
            let run = input.get(at..at + control + 1).ok_or(InflateError::BadData)?;
            out.get_mut(done..done + run.len()).ok_or(InflateError::TooLong)?.copy_from_slice(run);
            at += run.len();
            done += run.len();
            continue;
        }
        let mut byte = || {
            at += 1;
            input.get(at - 1).map(|b| usize::from(*b)).ok_or(InflateError::BadData)
        };
        let length = 2 + match control >> 5 {
            7 => 7 + byte()?,
            n => n,
        };
        let distance = ((control & 31) << 8 | byte()?) + 1;
        let from = done.checked_sub(distance).ok_or(InflateError::BadData)?;
        if done + length > out.len() {
            return Err(InflateError::TooLong);
        }
        if distance >= length {
            out.copy_within(from..from + length, done);
        } else {
            // The match overlaps its output: copy byte by byte, so that the pattern repeats.
            for k in 0..length {
                out[done + k] = out[from + k];
            }
        }
        done += length;
    }
    Ok(done)
}

impl BytesCodec for Lzf {
    fn decode_into(&self, input: &[u8], out: &mut [u8], _: Range<usize>, _: &mut Scratch) -> Result<()> {
        exactly(NAME, out.len(), length(NAME, decode(input, out))?)
    }

    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, _: &mut Scratch) -> Result<usize> {
        into_room(NAME, input.len(), out, cap, |out| length(NAME, decode(input, out)))
    }

    fn encode(&self, input: &[u8], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        let mut table = Vec::new();
        grow(&mut table, 4 << HASH_BITS)?;
        let (mut at, mut literals) = (0, 0);
        while at < input.len() {
            let (length, distance) = find_match(input, at, &mut table);
            if length == 0 {
                at += 1;
                continue;
            }
            put_literals(&input[literals..at], out);
            put_match(length, distance, out);
            at += length;
            literals = at;
        }
        put_literals(&input[literals..], out);
        Ok(())
    }
}

/// The length (0 for none) and distance of a match at `at`. `table` holds u32 positions + 1 by the hash of 3 bytes.
fn find_match(input: &[u8], at: usize, table: &mut [u8]) -> (usize, usize) {
    let Some(key) = input.get(at..at + 3) else { return (0, 0) };
    let word = u32::from_le_bytes([key[0], key[1], key[2], 0]);
    let slot = (word.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize;
    let entry = &mut table.as_chunks_mut::<4>().0[slot];
    let before = u32::from_le_bytes(*entry) as usize;
    *entry = (at as u32).wrapping_add(1).to_le_bytes();
    if before == 0 || before > at || at + 1 - before > MAX_DISTANCE {
        return (0, 0);
    }
    let from = before - 1;
    let longest = (input.len() - at).min(MAX_MATCH);
    let length = (0..longest).take_while(|k| input[from + k] == input[at + k]).count();
    if length < 3 { (0, 0) } else { (length, at - from) }
}

fn put_literals(literals: &[u8], out: &mut Vec<u8>) {
    for run in literals.chunks(MAX_LITERALS) {
        out.push(run.len() as u8 - 1);
        out.extend_from_slice(run);
    }
}

fn put_match(length: usize, distance: usize, out: &mut Vec<u8>) {
    let (code, low) = (length - 2, distance - 1);
    out.push(((code.min(7) << 5) | (low >> 8)) as u8);
    if code >= 7 {
        out.push((code - 7) as u8);
    }
    out.push((low & 0xff) as u8);
}
