//! What takes time, each as it is and with shifts by any register where there are any.

use super::huffman::Huffman;
use super::lane::{Lane, Limits, Turn};
use super::sequences::Tables;
use super::streams::{Stream, by_turns};
use crate::processor::with_bmi;

with_bmi!(single_stream, (streams: &mut [Stream<'_>; 1], table: &Huffman) -> (), by_turns(streams, table));
with_bmi!(four_streams, (streams: &mut [Stream<'_>; 4], table: &Huffman) -> (), by_turns(streams, table));
with_bmi!(sequences, (lane: Lane, limits: &Limits, tables: &Tables) -> (Lane, Turn), short_ones(lane, limits, tables));

/// Goes on until there is no room for a turn, or one ends otherwise.
#[inline(always)]
fn short_ones(lane: Lane, limits: &Limits, tables: &Tables) -> (Lane, Turn) {
    // By a pointer: limits are read again for each turn, a register of their own they are not worth.
    let (mut lane, limits): (Lane, *const Limits) = (lane, limits);
    loop {
        // SAFETY: they are there.
        let turns = lane.turns(unsafe { &*limits });
        if turns == 0 {
            return (lane, Turn::Next);
        }
        let mut to_go = turns;
        let turn = loop {
            // SAFETY: there is room.
            let turn = unsafe { lane.turn(tables, limits) };
            if turn != Turn::Next {
                break turn;
            }
            to_go -= 1;
            if to_go == 0 {
                break turn;
            }
        };
        lane.left -= turns - to_go + usize::from(matches!(turn, Turn::Undone(_)));
        // SAFETY: they are there.
        let turn = lane.settle(turn, unsafe { &*limits });
        if turn != Turn::Next {
            return (lane, turn);
        }
    }
}
