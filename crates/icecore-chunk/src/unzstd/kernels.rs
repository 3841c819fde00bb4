//! Hot loops, compiled portably and with BMI2 shifts.

use super::decoder_state::{DecoderState, Limits, Turn};
use super::huffman::Huffman;
use super::sequences::Tables;
use super::streams::{Stream, by_turns};
use crate::cpu_features::with_bmi;

with_bmi!(single_stream, (streams: &mut [Stream<'_>; 1], table: &Huffman) -> (), by_turns(streams, table));
with_bmi!(four_streams, (streams: &mut [Stream<'_>; 4], table: &Huffman) -> (), by_turns(streams, table));
with_bmi!(
    sequences,
    (state: &mut DecoderState, limits: &Limits, tables: &Tables) -> Turn,
    short_ones::<SHUFFLES>(state, limits, tables)
);

/// Runs turns until input or output lack room for another, or a turn stops.
#[inline(always)]
fn short_ones<const NEAR: bool>(state: &mut DecoderState, limits: &Limits, tables: &Tables) -> Turn {
    if tables.often_again() {
        rounds::<NEAR, true>(state, limits, tables)
    } else {
        rounds::<false, false>(state, limits, tables)
    }
}

/// Runs turns as long as there is room.
#[inline(always)]
fn rounds<const NEAR: bool, const AGAIN: bool>(state: &mut DecoderState, limits: &Limits, tables: &Tables) -> Turn {
    loop {
        let turns = state.turns(limits);
        if turns == 0 {
            return Turn::Next;
        }
        // Passed by pointer: the limits are read from memory in each turn, because registers are scarce.
        let limit: *const Limits = limits;
        let (mut here, mut to_go) = (*state, turns);
        let turn = loop {
            // SAFETY: there is room.
            let turn = unsafe { here.turn::<NEAR, AGAIN>(tables, limit, &mut state.undone) };
            if turn != Turn::Next {
                break turn;
            }
            to_go -= 1;
            if to_go == 0 {
                break turn;
            }
        };
        here.undone = state.undone;
        here.left -= turns - to_go + usize::from(turn == Turn::Undone);
        *state = here;
        let turn = state.settle(turn, limits);
        if turn != Turn::Next {
            return turn;
        }
    }
}
