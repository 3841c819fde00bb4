//! Integers for predictions: sortable bits, multiples of a lattice, or ranks.

use icecore_grid::Result;

use super::lattice::{self, Lattice};
use super::side_data::{NAME, Side, put_list};
use crate::codecs::word::Word;
use crate::errors::corrupt;

/// Representation of elements as integers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values<W> {
    /// Floats as integers of the same order; integers unchanged.
    Sortable,
    /// The bits unchanged.
    Raw,
    Lattice(Lattice),
    /// Ranks in a list of all different values, in ascending order of their sortable bits.
    Rank(Vec<W>),
}

/// A chunk as integers.
pub(super) struct Mapped<W> {
    pub values: Values<W>,
    pub words: Vec<W>,
    /// Elements without an integer.
    pub exceptions: Vec<usize>,
}

/// Requested representation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Space {
    Raw,
    Bits,
    Lattice,
    Rank,
}

/// Ranks pay only if values recur.
const LEAST_REPEATS: usize = 4;

/// The chunk in all representations of `space` (none if it does not suit the elements); masked elements are arbitrary.
pub(super) fn map<W: Word>(space: Space, raw: &[W], hole: &[bool], float: bool) -> Vec<Mapped<W>> {
    let plain = |values, words| vec![Mapped { values, words, exceptions: Vec::new() }];
    match space {
        Space::Bits if float => plain(Values::Sortable, raw.iter().map(|w| w.sortable()).collect()),
        Space::Bits | Space::Raw => plain(Values::Raw, raw.to_vec()),
        Space::Lattice if float && W::BITS >= 32 => lattice::find(raw, hole)
            .into_iter()
            .map(|f| Mapped { values: Values::Lattice(f.lattice), words: f.words, exceptions: f.exceptions })
            .collect(),
        Space::Lattice => Vec::new(),
        Space::Rank => {
            rank(raw, hole, float).into_iter().flat_map(|(list, words)| plain(Values::Rank(list), words)).collect()
        }
    }
}

fn rank<W: Word>(raw: &[W], hole: &[bool], float: bool) -> Option<(Vec<W>, Vec<W>)> {
    // Signed integers are ranked in unsigned order: wrapped differences between ranks cost little.
    let order = |w: W| if float { w.sortable() } else { w };
    let mut list: Vec<W> = raw.iter().zip(hole).filter(|(_, hole)| !**hole).map(|(w, _)| order(*w)).collect();
    list.sort_unstable();
    list.dedup();
    if list.len() * LEAST_REPEATS > raw.len() || list.is_empty() {
        return None;
    }
    let place = |w: &W| W::from_u64(list.binary_search(&order(*w)).unwrap_or(0) as u64);
    let words = raw.iter().map(place).collect();
    Some((list, words))
}

impl<W: Word> Values<W> {
    /// Serialized form: the number of the variant, then its parameters.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Values::Raw => out.push(0),
            Values::Sortable => out.push(1),
            Values::Lattice(Lattice::Dyadic(e)) => {
                out.push(2);
                out.extend_from_slice(&(*e as i16).to_le_bytes());
            }
            Values::Lattice(Lattice::Decimal(d, _)) => {
                out.push(3);
                out.extend_from_slice(&(*d as i16).to_le_bytes());
            }
            Values::Rank(list) => {
                out.push(4);
                put_list(out, &list.iter().map(|w| w.to_u64()).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    pub fn read(side: &mut Side, count: usize) -> Result<Values<W>> {
        let kind = side.byte()?;
        let mut number = || side.bytes(2).map(|b| i64::from(i16::from_le_bytes([b[0], b[1]])));
        let lattice = match kind {
            0 => return Ok(Values::Raw),
            1 => return Ok(Values::Sortable),
            2 => number().map(Lattice::dyadic)?,
            3 => number().map(Lattice::decimal)?,
            4 => return Ok(Values::Rank(side.list(count)?.into_iter().map(W::from_u64).collect())),
            other => return Err(corrupt(NAME, format!("values of kind {other}"))),
        };
        lattice.map(Values::Lattice).ok_or_else(|| corrupt(NAME, "a lattice out of range"))
    }

    /// Converts integers to the bits of elements, in place. With `float`, listed values are sortable bits.
    pub fn apply(&self, words: &mut [W], float: bool) -> Result<()> {
        match self {
            Values::Raw => {}
            Values::Sortable => words.iter_mut().for_each(|w| *w = w.bits()),
            Values::Lattice(lattice) => lattice.apply(words),
            Values::Rank(list) => {
                let list: Vec<W> = list.iter().map(|w| if float { w.bits() } else { *w }).collect();
                let mut beyond = false;
                for word in words.iter_mut() {
                    let value = usize::try_from(word.to_u64()).ok().and_then(|place| list.get(place));
                    beyond |= value.is_none();
                    *word = value.copied().unwrap_or_default();
                }
                if beyond {
                    return Err(corrupt(NAME, format!("a rank beyond the list of {} values", list.len())));
                }
            }
        }
        Ok(())
    }
}

/// Elements that are stored unchanged: distances between their positions, then their bits.
pub(super) fn put_exceptions<W: Word>(out: &mut Vec<u8>, places: &[usize], raw: &[W]) -> Result<()> {
    let mut last = 0;
    let distances: Vec<u64> = places.iter().map(|at| (at - std::mem::replace(&mut last, *at)) as u64).collect();
    put_list(out, &distances)?;
    put_list(out, &places.iter().map(|at| raw[*at].to_u64()).collect::<Vec<_>>())
}

/// Positions and bits.
pub(super) fn read_exceptions<W: Word>(side: &mut Side, count: usize) -> Result<Vec<(usize, W)>> {
    let distances = side.list(count)?;
    let bits = side.list(count)?;
    if distances.len() != bits.len() {
        return Err(corrupt(NAME, format!("{} places of {} exceptions", distances.len(), bits.len())));
    }
    let mut at = 0u64;
    let place = |(distance, bits): (u64, u64)| {
        at = at.saturating_add(distance);
        let place = usize::try_from(at).ok().filter(|at| *at < count);
        let place = place.ok_or_else(|| corrupt(NAME, format!("an exception after the last of {count} elements")))?;
        Ok((place, W::from_u64(bits)))
    };
    distances.into_iter().zip(bits).map(place).collect()
}
