//! The stream of blosc's own compressor, `blosclz`. Decoding only.
//!
//! A control byte below 32 starts control + 1 literal bytes (the first control byte always does). Otherwise its upper
//! three bits are the length of a match minus 2 (7: following bytes add to it, up to the first that is not 255). Its
//! lower five bits with the next byte are the distance minus 1; if all of them are set, two more bytes hold the
//! distance beyond 8191.

use icecore_grid::Result;

use crate::errors::{corrupt, wrong_length};

const NAME: &str = "blosclz";
const FAR: usize = 8191;

/// Decodes a stream that must fill `out` exactly.
pub(super) fn decode(input: &[u8], out: &mut [u8]) -> Result<()> {
    let mut bytes = input.iter();
    let (room, mut done, mut first) = (out.len(), 0, true);
    while let Some(control) = bytes.next() {
        let control = usize::from(if first { control & 31 } else { *control });
        first = false;
        if control < 32 {
            let run = bytes.as_slice().get(..control + 1).ok_or_else(truncated)?;
            out.get_mut(done..done + run.len()).ok_or_else(|| wrong_length(NAME, "more", room))?.copy_from_slice(run);
            done += run.len();
            bytes = bytes.as_slice()[control + 1..].iter();
            continue;
        }
        let (length, distance) = read_match(control, &mut bytes)?;
        copy_match(out, done, length, distance)?;
        done += length;
    }
    if done == out.len() { Ok(()) } else { Err(wrong_length(NAME, done, out.len())) }
}

fn truncated() -> icecore_grid::Error {
    corrupt(NAME, "the stream ends too early")
}

fn read_match(control: usize, bytes: &mut std::slice::Iter<u8>) -> Result<(usize, usize)> {
    let mut byte = || bytes.next().map(|b| usize::from(*b)).ok_or_else(truncated);
    let mut length = (control >> 5) + 2;
    if length == 9 {
        loop {
            let more = byte()?;
            length += more;
            if more != 255 {
                break;
            }
        }
    }
    let low = byte()?;
    let distance = (control & 31) << 8 | low;
    match distance {
        FAR => Ok((length, (byte()? << 8 | byte()?) + FAR + 1)),
        _ => Ok((length, distance + 1)),
    }
}

fn copy_match(out: &mut [u8], done: usize, length: usize, distance: usize) -> Result<()> {
    let from =
        done.checked_sub(distance).ok_or_else(|| corrupt(NAME, "a match reaches before the start of the data"))?;
    if length > out.len() - done {
        return Err(wrong_length(NAME, "more", out.len()));
    }
    if distance >= length {
        out.copy_within(from..from + length, done);
    } else if distance == 1 {
        let byte = out[from];
        out[done..done + length].fill(byte);
    } else {
        // The match overlaps its output: copy byte by byte, so that the pattern repeats.
        for k in 0..length {
            out[done + k] = out[from + k];
        }
    }
    Ok(())
}
