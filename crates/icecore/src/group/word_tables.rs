//! Hash tables of key numbers; each thread fills its own table, which fits its CPU cache.

use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use icecore_grid::Result;

use super::key_numbers::{NONE, next};
use crate::pool::for_each;

const TABLES: usize = 16;

/// A word and its number, in 12 bytes.
struct Entry {
    high: u32,
    low: u32,
    code: u32,
}

impl Entry {
    fn new(word: u64, code: u32) -> Self {
        Self { high: (word >> 32) as u32, low: word as u32, code }
    }

    fn word(&self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }
}

/// Words by number.
#[derive(Default)]
pub(super) struct WordTables {
    tables: [HashTable<Entry>; TABLES],
    hasher: FixedState,
}

/// Rows and their words, by table.
#[derive(Default)]
pub(super) struct Asked([Vec<(usize, u64)>; TABLES]);

/// The work of one thread.
struct Part<'a> {
    table: &'a mut HashTable<Entry>,
    asked: &'a [(usize, u64)],
    codes: Vec<u32>,
    /// Positions of the new words in the table, in the order of their numbers.
    fresh: Vec<(usize, u64)>,
}

impl WordTables {
    #[inline(always)]
    pub fn find(&self, word: u64) -> u32 {
        let hash = self.hasher.hash_one(word);
        let table = self.tables.get(table_of(hash));
        table.and_then(|table| table.find(hash, |entry| entry.word() == word)).map_or(NONE, |entry| entry.code)
    }

    #[inline(always)]
    pub fn ask(&self, asked: &mut Asked, row: usize, word: u64) {
        if let Some(list) = asked.0.get_mut(table_of(self.hasher.hash_one(word))) {
            list.push((row, word));
        }
    }

    /// Writes the numbers of the rows' words to `codes`. New words are numbered from `first` on, table by table and in
    /// the order of their occurrence, independently of the number of threads. They are returned in the order of their
    /// numbers.
    ///
    /// # Errors
    /// `unsupported` for more than 2³² keys.
    pub fn number(&mut self, asked: &Asked, first: usize, codes: &mut [u32]) -> Result<Vec<u64>> {
        next(first + asked.0.iter().map(Vec::len).sum::<usize>())?;
        let (hasher, first) = (&self.hasher, first as u32);
        let parts = self.tables.iter_mut().zip(&asked.0).map(|(table, asked)| {
            Mutex::new((Part { table, asked, codes: Vec::with_capacity(asked.len()), fresh: Vec::new() }, 0))
        });
        let mut parts: Vec<_> = parts.collect();
        for_each(parts.len(), |i| {
            if let Some(part) = parts.get(i) {
                part.lock().unwrap_or_else(PoisonError::into_inner).0.look_up(first, hasher);
            }
            Ok(())
        })?;
        let mut before = 0;
        for part in &mut parts {
            let (part, start) = part.get_mut().unwrap_or_else(PoisonError::into_inner);
            *start = before;
            before += part.fresh.len() as u32;
        }
        for_each(parts.len(), |i| {
            if let Some(part) = parts.get(i) {
                let (part, start) = &mut *part.lock().unwrap_or_else(PoisonError::into_inner);
                part.shift(first, *start);
            }
            Ok(())
        })?;
        let mut words = Vec::with_capacity(before as usize);
        for part in parts {
            let (part, _) = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            words.extend(part.fresh.iter().map(|(_, word)| *word));
            for ((row, _), code) in part.asked.iter().zip(part.codes) {
                if let Some(place) = codes.get_mut(*row) {
                    *place = code;
                }
            }
        }
        Ok(words)
    }
}

impl Part<'_> {
    /// Numbers the words as if no other table had new ones.
    fn look_up(&mut self, first: u32, hasher: &FixedState) {
        // After this the table does not move its entries.
        self.table.reserve(self.asked.len(), |entry| hasher.hash_one(entry.word()));
        for (_, word) in self.asked {
            let hash = hasher.hash_one(*word);
            let known = self.table.find(hash, |entry| entry.word() == *word).map(|entry| entry.code);
            self.codes.push(known.unwrap_or_else(|| {
                let code = first + self.fresh.len() as u32;
                let entry = Entry::new(*word, code);
                let made = self.table.insert_unique(hash, entry, |entry| hasher.hash_one(entry.word()));
                self.fresh.push((made.bucket_index(), *word));
                code
            }));
        }
    }

    /// Shifts the numbers by the `start` new words of the earlier tables.
    fn shift(&mut self, first: u32, start: u32) {
        for (bucket, _) in &self.fresh {
            if let Some(entry) = self.table.get_bucket_mut(*bucket) {
                entry.code += start;
            }
        }
        self.codes.iter_mut().filter(|code| **code >= first).for_each(|code| *code += start);
    }
}

/// Chooses a table by hash bits that the tables themselves do not use.
#[inline(always)]
fn table_of(hash: u64) -> usize {
    (hash >> 48) as usize % TABLES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_numbers() {
        let mut far = WordTables::default();
        let mut known: Vec<u64> = Vec::new();
        for batch in 0..5u64 {
            let words: Vec<u64> = (0..20_000).map(|i| (i * 7919 % (3000 * (batch + 1))) << 23 | 1 << 60).collect();
            let mut asked = Asked::default();
            words.iter().enumerate().for_each(|(row, word)| far.ask(&mut asked, row, *word));
            let mut codes = vec![NONE; words.len()];
            let fresh = far.number(&asked, known.len(), &mut codes).unwrap();
            known.extend(fresh);
            assert!(words.iter().zip(&codes).all(|(word, code)| known[*code as usize] == *word));
            assert!(words.iter().zip(&codes).all(|(word, code)| far.find(*word) == *code));
        }
        assert_eq!(known.len(), 15_000);
        let different: std::collections::HashSet<u64> = known.into_iter().collect();
        assert_eq!(different.len(), 15_000);
        assert_eq!(far.find(5), NONE);
    }
}
