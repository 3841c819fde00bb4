//! Symbols as long as neither an input nor an output is near its end: of one stream, or of two by turns.
//!
//! What costs time is the wait for a table's entry, and bytes or repetitions that come otherwise than foreseen. Of two streams
//! one goes on while the other waits: three quarters of the time, on HDF5's chunks of floats.

use super::call::Place;
use super::coded::Coded;
use super::lane::{Lane, Limits, Turn};
use crate::processor::with_bmi;

with_bmi!(one, (stream: &mut Coded, place: &mut Place<'_>) -> Turn, one_plain(stream, place));
with_bmi!(two, (streams: [&mut Coded; 2], places: [&mut Place<'_>; 2]) -> [Turn; 2], two_plain(streams, places));

/// Goes on until a block ends, an end is near, a repetition doesn't fit or something is wrong; there must be room for a careful
/// turn.
#[inline(always)]
fn one_plain(stream: &mut Coded, place: &mut Place<'_>) -> Turn {
    let limits = Limits::new(place);
    let mut lane = Lane::enter(stream, place);
    let mut ended = Turn::Next;
    while ended == Turn::Next && lane.fits::<false>(&limits) {
        // SAFETY: there is room.
        ended = unsafe { lane.turn::<false>(&stream.tables, &limits) };
    }
    while ended == Turn::Next && lane.fits::<true>(&limits) {
        // SAFETY: there is room.
        ended = unsafe { lane.turn::<true>(&stream.tables, &limits) };
    }
    lane.leave(stream, place);
    ended
}

/// The same with two, until either of them ends so; there must be room for a turn in both.
#[inline(always)]
fn two_plain(streams: [&mut Coded; 2], places: [&mut Place<'_>; 2]) -> [Turn; 2] {
    let limits = [Limits::new(places[0]), Limits::new(places[1])];
    let mut first = Lane::enter(streams[0], places[0]);
    let mut second = Lane::enter(streams[1], places[1]);
    let mut ended = [Turn::Next; 2];
    // Where the limits lie is read again for each turn: a register of its own each they are not worth.
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
