//! Accumulators of keys, sharded over threads.

use std::sync::{Mutex, PoisonError};

use icecore_chunk::Number;
use icecore_grid::{Error, ErrorKind, Result};

use crate::pool::{for_each, threads};

/// Key `i` is in list `i % LISTS`.
const LISTS: usize = 16;
/// Rows whose keys are processed together.
const BLOCK: usize = 1024;
/// Fewer rows than this are processed by one thread.
const FEW: usize = 1 << 14;
/// Up to this number of keys, each piece of the rows has its own accumulators, which are combined at the end.
const FEW_KEYS: usize = 1024;
/// Rows per piece.
const PIECE: usize = 1 << 16;

/// Accumulator of one key.
pub trait Place: Clone + Default + Send {
    /// Combines with the accumulator of later rows.
    fn join(&mut self, other: &Self);
}

impl Place for u64 {
    fn join(&mut self, other: &Self) {
        *self += other;
    }
}

/// One accumulator per key. The result does not depend on the number of threads: with few keys the rows are always
/// divided into the same pieces; with many keys one thread processes all rows of a key, in their order.
pub struct ShardedAccumulators<P> {
    lists: [Vec<P>; LISTS],
}

/// Rows: their key numbers, and the values of a column; null where `valid` is 0.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub codes: &'a [u32],
    pub values: &'a [u8],
    pub valid: Option<&'a [u8]>,
}

/// The lists of one thread; the lists of other threads are empty.
type Hand<'a, P> = [&'a mut [P]; LISTS];

impl<P> Default for ShardedAccumulators<P> {
    fn default() -> Self {
        Self { lists: [const { Vec::new() }; LISTS] }
    }
}

impl<P> ShardedAccumulators<P> {
    /// The accumulators in the order of the key numbers.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        let keys: usize = self.lists.iter().map(Vec::len).sum();
        (0..keys).filter_map(|key| self.lists.get(key % LISTS)?.get(key / LISTS))
    }
}

impl<P: Place> ShardedAccumulators<P> {
    /// Adds the values that are neither null nor NaN.
    ///
    /// # Errors
    /// `memory` if no thread can be started.
    pub fn add<T: Number>(&mut self, keys: usize, rows: &Rows<'_>, add: impl Fn(&mut P, T) + Sync) -> Result<()> {
        for (i, list) in self.lists.iter_mut().enumerate() {
            list.resize(list.len().max((keys + LISTS - 1 - i) / LISTS), P::default());
        }
        if keys <= FEW_KEYS { self.add_pieces(keys, rows, add) } else { self.add_dealt(rows, add) }
    }

    fn add_pieces<T: Number>(&mut self, keys: usize, rows: &Rows<'_>, add: impl Fn(&mut P, T) + Sync) -> Result<()> {
        let pieces: Vec<Mutex<Vec<P>>> = rows.codes.chunks(PIECE).map(|_| Mutex::default()).collect();
        for_each(pieces.len(), |i| {
            let mut places = vec![P::default(); keys];
            take(
                &rows.piece::<T>(i),
                |_| true,
                |code, value| {
                    if let Some(place) = places.get_mut(code) {
                        add(place, value);
                    }
                },
            );
            if let Some(piece) = pieces.get(i) {
                *piece.lock().unwrap_or_else(PoisonError::into_inner) = places;
            }
            Ok(())
        })?;
        for piece in pieces {
            for (key, place) in piece.into_inner().unwrap_or_else(PoisonError::into_inner).iter().enumerate() {
                if let Some(known) = self.lists.get_mut(key % LISTS).and_then(|list| list.get_mut(key / LISTS)) {
                    known.join(place);
                }
            }
        }
        Ok(())
    }

    fn add_dealt<T: Number>(&mut self, rows: &Rows<'_>, add: impl Fn(&mut P, T) + Sync) -> Result<()> {
        let many = if rows.codes.len() < FEW { 1 } else { threads().clamp(1, LISTS) };
        let mut hands: Vec<Hand<'_, P>> = (0..many).map(|_| Hand::default()).collect();
        for (i, list) in self.lists.iter_mut().enumerate() {
            if let Some(place) = hands.get_mut(i % many).and_then(|hand| hand.get_mut(i)) {
                *place = list;
            }
        }
        let hands: Vec<Mutex<Hand<'_, P>>> = hands.into_iter().map(Mutex::new).collect();
        for_each(many, |i| {
            let hand = hands.get(i).ok_or_else(|| Error::new(ErrorKind::Internal, "no lists for a thread"))?;
            let mut hand = hand.lock().unwrap_or_else(PoisonError::into_inner);
            take(
                rows,
                |list| list % many == i,
                |code, value| {
                    if let Some(place) = hand.get_mut(code % LISTS).and_then(|list| list.get_mut(code / LISTS)) {
                        add(place, value);
                    }
                },
            );
            Ok(())
        })
    }
}

impl<'a> Rows<'a> {
    fn piece<T: Number>(&self, i: usize) -> Self {
        fn part(all: &[u8], start: usize, end: usize) -> &[u8] {
            all.get(start..end.min(all.len())).unwrap_or_default()
        }
        let (start, end) = (i * PIECE, (i + 1) * PIECE);
        Self {
            codes: self.codes.chunks(PIECE).nth(i).unwrap_or_default(),
            values: part(self.values, start * T::SIZE, end * T::SIZE),
            valid: self.valid.map(|valid| part(valid, start, end)),
        }
    }
}

/// Calls `put` with the key numbers and values of the rows whose keys are in lists for which `is_mine` is true.
fn take<T: Number>(rows: &Rows<'_>, is_mine: impl Fn(usize) -> bool, mut put: impl FnMut(usize, T)) {
    let mine: [bool; LISTS] = std::array::from_fn(is_mine);
    if mine == [true; LISTS] && rows.valid.is_none() {
        let both = rows.codes.iter().zip(T::values(rows.values));
        both.filter(|(_, value)| !value.is_nan()).for_each(|(code, value)| put(*code as usize, value));
        return;
    }
    let (mut codes, mut values) = ([0; BLOCK], [T::from_int(0); BLOCK]);
    let mut valid = rows.valid.unwrap_or_default().chunks(BLOCK);
    let all = [1; BLOCK];
    for (block, bytes) in rows.codes.chunks(BLOCK).zip(rows.values.chunks(BLOCK * T::SIZE)) {
        let mut count = 0;
        // Without a branch, which would be unpredictable.
        for ((code, value), valid) in block.iter().zip(T::values(bytes)).zip(valid.next().unwrap_or(&all)) {
            if let (Some(a), Some(b)) = (codes.get_mut(count), values.get_mut(count)) {
                (*a, *b) = (*code, value);
            }
            let is_mine = mine.get(*code as usize % LISTS).is_some_and(|is_mine| *is_mine);
            count += usize::from(is_mine & !value.is_nan() & (*valid != 0));
        }
        codes.iter().zip(&values).take(count).for_each(|(code, value)| put(*code as usize, *value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Place for Vec<u32> {
        fn join(&mut self, other: &Self) {
            self.extend(other);
        }
    }

    #[test]
    fn rows_of_a_key_go_in_in_their_order() {
        const ROWS: u32 = 200_000;
        for keys in [10, 5000] {
            let codes: Vec<u32> = (0..ROWS).map(|i| i * 7919 % keys).collect();
            let values: Vec<u8> = (0..ROWS).flat_map(u32::to_ne_bytes).collect();
            let valid: Vec<u8> = (0..ROWS).map(|i| u8::from(i % 3 != 0)).collect();
            for valid in [None, Some(valid.as_slice())] {
                let mut wanted = vec![Vec::new(); keys as usize];
                for (row, code) in codes.iter().enumerate() {
                    if valid.is_none_or(|valid| valid[row] != 0) {
                        wanted[*code as usize].push(row as u32);
                    }
                }
                let mut dealt = ShardedAccumulators::<Vec<u32>>::default();
                let rows = Rows { codes: &codes, values: &values, valid };
                dealt.add(keys as usize, &rows, |place, value: u32| place.push(value)).unwrap();
                assert!(dealt.iter().eq(&wanted));
                for many in [1, 2, 3, 16] {
                    let mut found = vec![Vec::new(); keys as usize];
                    for i in 0..many {
                        take(&rows, |list| list % many == i, |code, value: u32| found[code].push(value));
                    }
                    assert_eq!(found, wanted, "{many} threads");
                }
            }
        }
    }
}
