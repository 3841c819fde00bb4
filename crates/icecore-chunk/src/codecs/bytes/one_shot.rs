//! Decoders that process a chunk as a whole; if the output is too short they return `None` without the needed length.

use icecore_grid::Result;

use crate::buffer::{Buffer, first_guess};
use crate::contexts::InflateError;
use crate::errors::{corrupt, wrong_length};

/// The decoded length of a stream; `Corrupt` if it is damaged.
pub(super) fn length(codec: &str, decoded: std::result::Result<usize, InflateError>) -> Result<Option<usize>> {
    match decoded {
        Ok(length) => Ok(Some(length)),
        Err(InflateError::TooLong) => Ok(None),
        Err(InflateError::BadData) => Err(corrupt(codec, "the stream is damaged")),
    }
}

/// Whether `expected` bytes were decoded; `Corrupt` for any other length.
pub(super) fn exactly(codec: &str, expected: usize, decoded: Option<usize>) -> Result<()> {
    match decoded {
        Some(length) if length == expected => Ok(()),
        Some(length) => Err(wrong_length(codec, length, expected)),
        None => Err(wrong_length(codec, "more", expected)),
    }
}

/// Decodes `input` with growing output sizes, at most `cap` bytes; returns the length.
pub(super) fn into_room(
    codec: &str,
    input: usize,
    out: &mut Buffer,
    cap: usize,
    mut decode: impl FnMut(&mut [u8]) -> Result<Option<usize>>,
) -> Result<usize> {
    let mut room = first_guess(input, cap);
    loop {
        match decode(out.sized(room)?)? {
            Some(length) => return Ok(length),
            None if room < cap => room = room.saturating_mul(2).min(cap),
            None => return Err(corrupt(codec, format!("decodes to more than {cap} bytes"))),
        }
    }
}
