//! Envelopes: compressed blocks of metadata with a type, a length and an XXH3 at the end.

use icecore_grid::{ReadAt, Result};
use twox_hash::XxHash3_64;

use crate::compression::Expander;
use crate::cursor::{Cursor, corrupt};
use crate::source::read_at;

pub(super) const HEADER: u64 = 1;
pub(super) const FOOTER: u64 = 2;
pub(super) const PAGE_LIST: u64 = 3;

/// Location of an envelope, and its decoded length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub offset: u64,
    pub stored: u64,
    pub len: u64,
}

pub(super) fn fetch(source: &dyn ReadAt, link: &Link, expander: &mut Expander) -> Result<Vec<u8>> {
    let stored = read_at(source, link.offset, link.stored)?;
    let len = usize::try_from(link.len).map_err(|_| corrupt(format!("an envelope of {} bytes", link.len)))?;
    let mut out = Vec::new();
    expander.expand(&stored, len, &mut out)?;
    Ok(out)
}

/// The checksum at the end, as stored.
pub(super) fn checksum(bytes: &[u8]) -> Result<u64> {
    let sum = bytes.last_chunk::<8>().ok_or_else(|| corrupt("an envelope without a checksum"))?;
    Ok(u64::from_le_bytes(*sum))
}

/// Checks type, length and checksum; returns a cursor over the payload.
pub(super) fn open(bytes: &[u8], kind: u64) -> Result<Cursor<'_>> {
    let expected = checksum(bytes)?;
    let body = bytes.get(..bytes.len().saturating_sub(8)).unwrap_or_default();
    let sum = XxHash3_64::oneshot(body);
    if sum != expected {
        return Err(corrupt(format!("checksum is {sum:016x}, expected {expected:016x}")));
    }
    let mut cursor = Cursor::new(body);
    let head = cursor.u64_le()?;
    let (found, len) = (head & 0xffff, head >> 16);
    if found != kind || len != bytes.len() as u64 {
        return Err(corrupt(format!(
            "an envelope of type {found} and {len} bytes, expected type {kind} and {} bytes",
            bytes.len()
        )));
    }
    Ok(cursor)
}

/// A copy with a correct length and checksum, for fuzzers, which would not get past these checks.
pub(super) fn sealed(bytes: &[u8], header: Option<(usize, u64)>) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if let Some((at, sum)) = header
        && let Some(place) = out.get_mut(at..at + 8)
    {
        place.copy_from_slice(&sum.to_le_bytes());
    }
    let len = (out.len() + 8) as u64;
    if let Some((head, _)) = out.split_first_chunk_mut::<8>() {
        let kind = u64::from_le_bytes(*head) & 0xffff;
        *head = (len << 16 | kind).to_le_bytes();
    }
    let sum = XxHash3_64::oneshot(&out);
    out.extend(sum.to_le_bytes());
    out
}
