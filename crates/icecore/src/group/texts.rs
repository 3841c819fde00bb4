//! Keys of any length.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use icecore_grid::{Error, ErrorKind, Result};

use super::number::next;

/// Texts by their numbers.
#[derive(Default)]
pub struct Texts {
    /// With the hash, which is compared first and needed again when the table grows.
    numbers: HashTable<(u64, u32)>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    null: Option<u32>,
    hasher: FixedState,
}

impl Texts {
    /// The number of each row's key; `offsets` into `bytes` as in Arrow's columnar format. Null is where `valid` has 0.
    ///
    /// # Errors
    /// `internal` for offsets outside of the bytes, `unsupported` for more than 2³² keys.
    pub fn add(&mut self, offsets: &[i64], bytes: &[u8], valid: Option<&[u8]>) -> Result<Vec<u32>> {
        let mut codes = Vec::with_capacity(offsets.len());
        let mut last: Option<(&[u8], u32)> = None; // rows that follow each other often have one key
        for (row, (start, end)) in offsets.iter().zip(offsets.iter().skip(1)).enumerate() {
            if valid.is_some_and(|valid| valid.get(row) == Some(&0)) {
                codes.push(self.code_of_null()?);
                continue;
            }
            let text = bytes.get(*start as usize..*end as usize).ok_or_else(outside)?;
            let code = match last {
                Some((before, code)) if before == text => code,
                _ => self.code(text)?,
            };
            last = Some((text, code));
            codes.push(code);
        }
        Ok(codes)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The keys' (offsets, bytes) in order of their numbers.
    pub fn texts(&self) -> (Vec<i64>, &[u8]) {
        (std::iter::once(0).chain(self.ends.iter().map(|end| *end as i64)).collect(), &self.bytes)
    }

    /// The number of null, whose text is empty.
    pub fn null(&self) -> Option<u32> {
        self.null
    }

    fn code(&mut self, text: &[u8]) -> Result<u32> {
        let hash = self.hasher.hash_one(text);
        let known = |code: u32| {
            let at = code as usize;
            let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
            start.zip(self.ends.get(at)).and_then(|(start, end)| self.bytes.get(*start..*end))
        };
        let same = |(other, code): &(u64, u32)| *other == hash && known(*code) == Some(text);
        if let Some((_, code)) = self.numbers.find(hash, same) {
            return Ok(*code);
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

fn outside() -> Error {
    Error::new(ErrorKind::Internal, "a key lies outside of its batch")
}
