//! Keys of variable length.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use icecore_grid::{Error, ErrorKind, Result};

use super::key_numbers::{NONE, known, next};

/// Strings by number.
#[derive(Default)]
pub struct Texts {
    /// With the hash, which is compared first and reused when the table grows.
    numbers: HashTable<(u64, u32)>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    null: Option<u32>,
    hasher: FixedState,
}

impl Texts {
    /// The number of each row's key; `offsets` into `bytes` as in Arrow's columnar format. Null where `valid` is 0.
    ///
    /// # Errors
    /// `internal` for offsets outside the bytes, `unsupported` for more than 2³² keys.
    pub fn add(&mut self, offsets: &[i64], bytes: &[u8], valid: Option<&[u8]>) -> Result<Vec<u32>> {
        let rows = offsets.len().saturating_sub(1);
        let texts = |rows| texts(offsets, bytes, valid, rows);
        let mut codes = known(rows, |range, codes| {
            let mut last: Option<(&[u8], u32)> = None; // consecutive rows often have the same key
            for (text, code) in texts(range).zip(codes) {
                *code = match (text, last) {
                    (Ok(Some(text)), Some((before, code))) if before == text => code,
                    (Ok(Some(text)), _) => {
                        let code = self.find(self.hasher.hash_one(text), text).unwrap_or(NONE);
                        last = Some((text, code));
                        code
                    }
                    (Ok(None), _) => self.null.unwrap_or(NONE),
                    (Err(_), _) => NONE,
                };
            }
        })?;
        if codes.contains(&NONE) {
            for (text, code) in texts(0..rows).zip(&mut codes).filter(|(_, code)| **code == NONE) {
                *code = match text? {
                    Some(text) => self.code(text)?,
                    None => self.code_of_null()?,
                };
            }
        }
        Ok(codes)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Offsets and bytes of the keys in the order of their numbers, and the number of null, whose string is empty.
    pub fn finish(self) -> (Vec<i64>, Vec<u8>, Option<u32>) {
        (std::iter::once(0).chain(self.ends.iter().map(|end| *end as i64)).collect(), self.bytes, self.null)
    }

    fn find(&self, hash: u64, text: &[u8]) -> Option<u32> {
        let known = |code: u32| {
            let at = code as usize;
            let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
            start.zip(self.ends.get(at)).and_then(|(start, end)| self.bytes.get(*start..*end))
        };
        let same = |(other, code): &(u64, u32)| *other == hash && known(*code) == Some(text);
        self.numbers.find(hash, same).map(|(_, code)| *code)
    }

    fn code(&mut self, text: &[u8]) -> Result<u32> {
        let hash = self.hasher.hash_one(text);
        if let Some(code) = self.find(hash, text) {
            return Ok(code);
        }
        let code = self.push(text)?;
        self.numbers.insert_unique(hash, (hash, code), |(hash, _)| *hash);
        Ok(code)
    }

    fn code_of_null(&mut self) -> Result<u32> {
        if let Some(code) = self.null {
            return Ok(code);
        }
        let code = self.push(&[])?;
        self.null = Some(code);
        Ok(code)
    }

    fn push(&mut self, text: &[u8]) -> Result<u32> {
        let code = next(self.ends.len())?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        Ok(code)
    }
}

/// The strings of some rows, None where `valid` is 0.
pub(super) fn texts<'a>(
    offsets: &[i64],
    bytes: &'a [u8],
    valid: Option<&[u8]>,
    rows: Range<usize>,
) -> impl Iterator<Item = Result<Option<&'a [u8]>>> {
    let ends = offsets.get(rows.start..=rows.end).unwrap_or_default().windows(2);
    let mut valid = valid.and_then(|valid| valid.get(rows)).map(|valid| valid.iter());
    ends.map(move |ends| {
        let is_valid = valid.as_mut().is_none_or(|valid| valid.next() != Some(&0));
        let text = ends.first().zip(ends.last()).and_then(|(a, b)| bytes.get(*a as usize..*b as usize));
        text.map(|text| Some(text).filter(|_| is_valid)).ok_or_else(outside)
    })
}

fn outside() -> Error {
    Error::new(ErrorKind::Internal, "a key lies outside of its batch")
}
