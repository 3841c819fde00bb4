//! Fast loops for symbols far from the ends of input and output: for one stream, or alternating between two.
//!
//! The time goes into waiting for table entries and into mispredicted branches between literals and matches. With two
//! streams one advances while the other waits: three quarters of the time, on HDF5's chunks of floats.

use super::call::Place;
use super::decoder_state::{DecoderState, Limits, Turn};
use super::symbol_source::SymbolSource;
use crate::cpu_features::with_bmi;

with_bmi!(one, (stream: &mut SymbolSource, place: &mut Place<'_>) -> Turn, one_plain(stream, place));
with_bmi!(two, (streams: [&mut SymbolSource; 2], places: [&mut Place<'_>; 2]) -> [Turn; 2], two_plain(streams, places));

/// Decodes until a block ends, a limit is near, a match does not fit or the input is invalid; there must be room for a
/// checked turn.
#[inline(always)]
fn one_plain(stream: &mut SymbolSource, place: &mut Place<'_>) -> Turn {
    let limits = Limits::new(place);
    let mut state = DecoderState::enter(stream, place);
    let mut ended = Turn::Next;
    while ended == Turn::Next && state.fits::<false>(&limits) {
        // SAFETY: there is room.
        ended = unsafe { state.turn::<false>(&stream.tables, &limits) };
    }
    while ended == Turn::Next && state.fits::<true>(&limits) {
        // SAFETY: there is room.
        ended = unsafe { state.turn::<true>(&stream.tables, &limits) };
    }
    state.leave(stream, place);
    ended
}

/// As above with two streams, until either of them stops; there must be room for a turn in both.
#[inline(always)]
fn two_plain(streams: [&mut SymbolSource; 2], places: [&mut Place<'_>; 2]) -> [Turn; 2] {
    let limits = [Limits::new(places[0]), Limits::new(places[1])];
    let mut first = DecoderState::enter(streams[0], places[0]);
    let mut second = DecoderState::enter(streams[1], places[1]);
    let mut ended = [Turn::Next; 2];
    // The limits are read from memory in each turn, because registers are scarce.
    let limits = &limits;
    while first.fits::<false>(&limits[0]) && second.fits::<false>(&limits[1]) {
        // SAFETY: there is room in both.
        ended[0] = unsafe { first.turn::<false>(&streams[0].tables, &limits[0]) };
        if ended[0] != Turn::Next {
            break;
        }
        // SAFETY: the same.
        ended[1] = unsafe { second.turn::<false>(&streams[1].tables, &limits[1]) };
        if ended[1] != Turn::Next {
            break;
        }
    }
    first.leave(streams[0], places[0]);
    second.leave(streams[1], places[1]);
    ended
}
