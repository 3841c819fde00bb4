//! Keys of up to 64 bits.

use std::ops::Range;

use icecore_chunk::{DType, Number, with_number};
use icecore_grid::{Error, ErrorKind, Result};

use super::key_numbers::{NONE, known, next};
use super::word_tables::{Asked, WordTables};

/// Larger words are hashed; a direct table for smaller words takes at most 16 MiB.
const NEAR: u64 = 1 << 22;

/// Words by number. NaN is null, and -0.0 is 0.0.
#[derive(Default)]
pub struct Words {
    far: WordTables,
    /// Direct table with the numbers of small words (`NONE` if unknown), which need no hash.
    near: Vec<u32>,
    words: Vec<u64>,
    null: Option<u32>,
    /// Whether most of the last rows had new keys: a separate look-up of known keys would then be wasted.
    are_new: bool,
}

impl Words {
    /// The number of each row's key: integers are extended to 64 bits, floats widened. Null where `valid` is 0.
    ///
    /// # Errors
    /// `unsupported` for types that are not numeric, and for more than 2³² keys.
    pub fn add(&mut self, dtype: &DType, values: &[u8], valid: Option<&[u8]>) -> Result<Vec<u32>> {
        with_number!(dtype, T => {
            let words = |rows: Range<usize>| {
                let values = values.get(rows.start * T::SIZE..rows.end * T::SIZE).unwrap_or_default();
                let mut valid = valid.and_then(|valid| valid.get(rows)).map(|valid| valid.iter());
                T::values(values).map(move |value| {
                    let is_valid = valid.as_mut().is_none_or(|valid| valid.next() != Some(&0));
                    word(value).filter(|_| is_valid)
                })
            };
            self.rows(values.len() / T::SIZE, words)
        }, else {
            Err(Error::new(ErrorKind::Unsupported, format!("keys of {}", dtype.to_json())))
        })
    }

    /// The same for keys of two numbers per row.
    ///
    /// # Errors
    /// `unsupported` for more than 2³² keys.
    pub fn pairs(&mut self, high: &[u32], low: &[u32]) -> Result<Vec<u32>> {
        self.rows(high.len().min(low.len()), |rows| {
            let pairs = high.get(rows.clone()).unwrap_or_default().iter().zip(low.get(rows).unwrap_or_default());
            pairs.map(|(high, low)| Some(u64::from(*high) << 32 | u64::from(*low)))
        })
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The keys in the order of their numbers, and the number of null, whose word is meaningless.
    pub fn finish(self) -> (Vec<u64>, Option<u32>) {
        (self.words, self.null)
    }

    /// Known keys are looked up on all cores, and new large words are numbered on all cores too.
    fn rows<I>(&mut self, rows: usize, words: impl Fn(Range<usize>) -> I + Sync) -> Result<Vec<u32>>
    where
        I: Iterator<Item = Option<u64>>,
    {
        let mut codes = if self.are_new {
            vec![NONE; rows]
        } else {
            known(rows, |range, codes| {
                for (word, code) in words(range).zip(codes) {
                    *code = word.map_or(self.null.unwrap_or(NONE), |word| self.find(word));
                }
            })?
        };
        let before = self.words.len();
        if codes.contains(&NONE) {
            let mut asked = Asked::default();
            for (row, (word, code)) in words(0..rows).zip(&mut codes).enumerate() {
                if *code == NONE {
                    match word {
                        Some(word) if word >= NEAR => self.far.ask(&mut asked, row, word),
                        Some(word) => *code = self.code_of_near(word as usize)?,
                        None => *code = self.code_of_null()?,
                    }
                }
            }
            let fresh = self.far.number(&asked, self.words.len(), &mut codes)?;
            self.words.extend(fresh);
        }
        self.are_new = self.words.len() - before > rows / 2;
        Ok(codes)
    }

    #[inline(always)]
    fn find(&self, word: u64) -> u32 {
        if word < NEAR {
            return self.near.get(word as usize).copied().unwrap_or(NONE);
        }
        self.far.find(word)
    }

    #[inline]
    fn code_of_near(&mut self, word: usize) -> Result<u32> {
        if let Some(&code) = self.near.get(word).filter(|code| **code != NONE) {
            return Ok(code);
        }
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
