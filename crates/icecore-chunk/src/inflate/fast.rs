//! Symbols as long as neither the input nor the output is near its end.

use super::bits::Bits;
use super::call::{Pause, Place};
use super::copy::{self, BEYOND, LONGEST};
use super::table::{Distances, Lengths};

/// Bytes of input that a turn may look at: its bits come in words of eight, three times, of which 7 count.
const INPUT: usize = 7 + 7 + 8;
/// Bytes of output that a turn may write: two, and one more or a repetition.
const OUTPUT: usize = 2 + LONGEST + BEYOND;

/// Goes on until a block ends (true) or an end is near (false).
pub(super) fn symbols(
    lengths: &Lengths,
    distances: &Distances,
    bits: &mut Bits,
    history: &[u8],
    place: &mut Place<'_>,
) -> Result<bool, Pause> {
    #[cfg(target_arch = "x86_64")]
    if crate::processor::has_bmi() {
        // SAFETY: the processor has these instructions.
        return unsafe { symbols_bmi2(lengths, distances, bits, history, place) };
    }
    turns(lengths, distances, bits, history, place)
}

/// The same with shifts by any register, a sixth less time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn symbols_bmi2(
    lengths: &Lengths,
    distances: &Distances,
    bits: &mut Bits,
    history: &[u8],
    place: &mut Place<'_>,
) -> Result<bool, Pause> {
    turns(lengths, distances, bits, history, place)
}

#[inline(always)]
fn turns(
    lengths: &Lengths,
    distances: &Distances,
    bits: &mut Bits,
    history: &[u8],
    place: &mut Place<'_>,
) -> Result<bool, Pause> {
    let (input, out) = (place.input, &mut *place.out);
    let (mut from, mut at, mut now) = (place.from, place.at, *bits);
    let (Some(inputs), Some(outputs)) = (input.len().checked_sub(INPUT), out.len().checked_sub(OUTPUT)) else {
        return Ok(false);
    };
    let near = |from: usize, at: usize| from > inputs || at > outputs;
    if near(from, at) {
        return Ok(false);
    }
    // SAFETY: of all that follows: each turn begins with `INPUT` bytes to be read, of which it passes 7 twice at most and looks
    // at 8 from there, and room for `OUTPUT` bytes: two, and one more or a repetition.
    let fill = |now: &mut Bits, from: &mut usize| *from += unsafe { now.fill_word(input.as_ptr().add(*from)) };
    fill(&mut now, &mut from);
    let mut entry = lengths.first(now.held);
    let ended = loop {
        let mut alone = entry.byte();
        if let Some(byte) = alone {
            now.drop(entry.bits());
            entry = lengths.first(now.held);
            unsafe { *out.get_unchecked_mut(at) = byte };
            at += 1;
            alone = entry.byte();
            if let Some(byte) = alone {
                now.drop(entry.bits());
                entry = lengths.first(now.held);
                unsafe { *out.get_unchecked_mut(at) = byte };
                at += 1;
                alone = entry.byte();
            }
        }
        if entry.is_special() {
            entry = lengths.further(entry, now.held);
            alone = entry.byte();
            if entry.is_end() {
                now.drop(entry.bits());
                break true;
            }
            if entry.is_special() {
                return Err(Pause::Bad("bits that are no code of a byte or a length"));
            }
        }
        if let Some(byte) = alone {
            now.drop(entry.bits());
            unsafe { *out.get_unchecked_mut(at) = byte };
            at += 1;
            if near(from, at) {
                break false;
            }
            fill(&mut now, &mut from);
            entry = lengths.first(now.held);
            continue;
        }
        let length = entry.value(now.held);
        now.drop(entry.bits());
        if now.count < 28 {
            fill(&mut now, &mut from);
        }
        entry = distances.first(now.held);
        if entry.is_special() {
            entry = distances.further(entry, now.held);
            if entry.is_special() {
                return Err(Pause::Bad("bits that are no code of a distance"));
            }
        }
        let distance = entry.value(now.held);
        now.drop(entry.bits());
        // The next symbol needn't wait for the bytes.
        fill(&mut now, &mut from);
        entry = lengths.first(now.held);
        if distance <= at {
            unsafe { copy::quickly(out.as_mut_ptr().add(at), length, distance) };
        } else if !copy::exactly(history, out, at, length, distance) {
            return Err(Pause::Bad("a repetition of what was before the stream"));
        }
        at += length;
        if near(from, at) {
            break false;
        }
    };
    (place.from, place.at) = (from, at);
    now.held &= (1 << now.count) - 1;
    *bits = now;
    Ok(ended)
}
