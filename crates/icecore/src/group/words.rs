//! Keys of up to 64 bits.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use icecore_chunk::{DType, Number, with_number};
use icecore_grid::{Error, ErrorKind, Result};

use super::number::next;

/// Words from here on are hashed: what is below takes 16 MiB at most.
const NEAR: u64 = 1 << 22;
const NONE: u32 = u32::MAX;

/// Words by their numbers. NaN is null, and -0.0 is 0.0.
#[derive(Default)]
pub struct Words {
    numbers: HashTable<(u64, u32)>,
    /// The numbers of small words (`NONE` where there is none), which need no hash.
    near: Vec<u32>,
    words: Vec<u64>,
    null: Option<u32>,
    hasher: FixedState,
}

impl Words {
    /// The number of each row's key: whole numbers are extended to 64 bits, floats widened. Null is where `valid` has 0.
    ///
    /// # Errors
    /// `unsupported` for types that are no numbers, and more than 2³² keys.
    pub fn add(&mut self, dtype: &DType, values: &[u8], valid: Option<&[u8]>) -> Result<Vec<u32>> {
        with_number!(dtype, T => self.rows(T::values(values).map(word::<T>), valid), else {
            Err(Error::new(ErrorKind::Unsupported, format!("keys of {}", dtype.to_json())))
        })
    }

    /// The same, of two numbers a row.
    ///
    /// # Errors
    /// `unsupported` for more than 2³² keys.
    pub fn pairs(&mut self, high: &[u32], low: &[u32]) -> Result<Vec<u32>> {
        self.rows(high.iter().zip(low).map(|(high, low)| Some(u64::from(*high) << 32 | u64::from(*low))), None)
    }

    /// The keys in order of their numbers.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The number of null, whose word means nothing.
    pub fn null(&self) -> Option<u32> {
        self.null
    }

    fn rows(&mut self, words: impl Iterator<Item = Option<u64>>, valid: Option<&[u8]>) -> Result<Vec<u32>> {
        let mut codes = Vec::with_capacity(words.size_hint().0);
        for (row, word) in words.enumerate() {
            codes.push(match word.filter(|_| valid.is_none_or(|valid| valid.get(row) != Some(&0))) {
                Some(word) => self.code(word)?,
                None => self.code_of_null()?,
            });
        }
        Ok(codes)
    }

    #[inline]
    fn code(&mut self, word: u64) -> Result<u32> {
        match self.near.get(word as usize) {
            Some(&code) if code != NONE => Ok(code),
            _ if word < NEAR => self.code_of_near(word as usize),
            _ => self.code_of_far(word),
        }
    }

    fn code_of_near(&mut self, word: usize) -> Result<u32> {
        let code = next(self.words.len())?;
        if word >= self.near.len() {
            self.near.resize((word + 1).next_power_of_two(), NONE);
        }
        if let Some(slot) = self.near.get_mut(word) {
            *slot = code;
        }
        self.words.push(word as u64);
        Ok(code)
    }

    fn code_of_far(&mut self, word: u64) -> Result<u32> {
        let hash = self.hasher.hash_one(word);
        if let Some((_, code)) = self.numbers.find(hash, |(known, _)| *known == word) {
            return Ok(*code);
        }
        let code = next(self.words.len())?;
        self.words.push(word);
        self.numbers.insert_unique(hash, (word, code), |(known, _)| self.hasher.hash_one(*known));
        Ok(code)
    }

    fn code_of_null(&mut self) -> Result<u32> {
        if let Some(code) = self.null {
            return Ok(code);
        }
        let code = next(self.words.len())?;
        self.words.push(0);
        self.null = Some(code);
        Ok(code)
    }
}

#[inline(always)]
fn word<T: Number>(value: T) -> Option<u64> {
    if T::FLOAT { (!value.is_nan()).then(|| (value.float() + 0.0).to_bits()) } else { Some(value.int() as u64) }
}
