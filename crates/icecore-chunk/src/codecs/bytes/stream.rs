//! Decoders with a streaming interface: read until the output is full and the stream ends.

use std::io::Read;

use icecore_grid::Result;

use crate::buffer::{Buffer, first_guess};
use crate::errors::{corrupt, wrong_length};

/// Reads until `out` is full or the data ends.
fn fill(name: &str, reader: &mut impl Read, out: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < out.len() {
        match reader.read(&mut out[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) => return Err(corrupt(name, e.to_string())),
        }
    }
    Ok(done)
}

/// Fills `out`; `Corrupt` for data of any other length.
pub(crate) fn read_into(name: &str, mut reader: impl Read, out: &mut [u8]) -> Result<()> {
    let done = fill(name, &mut reader, out)?;
    if done < out.len() {
        return Err(wrong_length(name, done, out.len()));
    }
    // Read to the end of the stream, where the checksum is.
    match fill(name, &mut reader, &mut [0])? {
        0 => Ok(()),
        _ => Err(wrong_length(name, "more", out.len())),
    }
}

/// Decodes `input` to at most `cap` bytes; returns the length.
pub(crate) fn read_unsized(
    name: &str,
    mut reader: impl Read,
    input: usize,
    out: &mut Buffer,
    cap: usize,
) -> Result<usize> {
    let (mut room, mut done) = (first_guess(input, cap), 0);
    loop {
        done += fill(name, &mut reader, &mut out.sized(room)?[done..])?;
        match (done < room, room < cap) {
            (true, _) => return Ok(done),
            (false, true) => room = room.saturating_mul(2).min(cap),
            (false, false) => return Err(corrupt(name, format!("decodes to more than {cap} bytes"))),
        }
    }
}
