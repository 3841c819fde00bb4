//! Side data of a chunk: small numbers, and lists of numbers compressed by pco.

use icecore_grid::{Error, ErrorKind, Result};
use pco::ChunkConfig;

use crate::codecs::array::pco::read_numbers;
use crate::errors::corrupt;

pub(super) const NAME: &str = "icecore.predict";

/// Seven bits per byte, least significant first; the top bit means that more bytes follow.
pub(super) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Count and stored length as numbers, then the list in pco's standalone format for u64.
pub(super) fn put_list(out: &mut Vec<u8>, list: &[u64]) -> Result<()> {
    let packed = pco::standalone::simple_compress(list, &ChunkConfig::default())
        .map_err(|e| Error::new(ErrorKind::Codec, format!("{NAME}: {e}")))?;
    put_number(out, list.len() as u64);
    put_number(out, packed.len() as u64);
    out.extend_from_slice(&packed);
    Ok(())
}

/// Reads the output of the functions above; `Corrupt` if it is invalid.
pub(super) struct Side<'a> {
    rest: &'a [u8],
}

impl<'a> Side<'a> {
    pub fn new(stored: &'a [u8]) -> Side<'a> {
        Side { rest: stored }
    }

    /// The unread rest.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(len).ok_or_else(|| corrupt(NAME, "the chunk ends in its header"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    pub fn number(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt(NAME, "a number of more than 64 bits"))
    }

    pub fn f64(&mut self) -> Result<f64> {
        let value = self.bytes(8)?.as_chunks().0.first().map_or(f64::NAN, |b| f64::from_le_bytes(*b));
        if value.is_finite() { Ok(value) } else { Err(corrupt(NAME, format!("a coefficient of {value}"))) }
    }

    /// Reads a list of at most `max` numbers.
    pub fn list(&mut self, max: usize) -> Result<Vec<u64>> {
        let (count, len) = (self.number()?, self.number()?);
        let count = usize::try_from(count).ok().filter(|count| *count <= max);
        let count = count.ok_or_else(|| corrupt(NAME, format!("a list longer than {max}")))?;
        let packed = self.bytes(usize::try_from(len).unwrap_or(usize::MAX))?;
        let mut list = Vec::new();
        list.try_reserve_exact(count).map_err(|_| crate::buffer::out_of_memory(count * 8))?;
        list.resize(count, 0);
        read_numbers(packed, &mut list)?;
        Ok(list)
    }
}
