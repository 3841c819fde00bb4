//! The table in front of the pages of `icecore.pages`: where each is, and their checksums.

use icecore_grid::{Error, ErrorKind, Result};

use crate::errors::corrupt;

pub(super) const NAME: &str = "icecore.pages";
/// Bytes in front of the statistics: u8 bytes of a page's length, u32 bytes of the chunk's last page, u32 bytes of the statistics.
const FIXED: usize = 9;
pub(super) const SUM: usize = 4;

/// A chunk that was not decoded yet.
pub(super) struct Table<'a> {
    pub statistics: &'a [u8],
    /// Where each page ends in `pages`, its checksum included.
    ends: Vec<usize>,
    pages: &'a [u8],
}

impl<'a> Table<'a> {
    /// Reads the table of a chunk with so many pages; its last page decodes to `last` bytes; the statistics and the lengths
    /// have the right checksum.
    pub fn parse(stored: &'a [u8], count: usize, last: usize) -> Result<Table<'a>> {
        let short = || corrupt(NAME, format!("{} bytes, too few for {count} pages and their table", stored.len()));
        let (fixed, rest) = stored.split_first_chunk::<FIXED>().ok_or_else(short)?;
        let [width, e, f, g, h, a, b, c, d] = *fixed;
        if !(1..=4).contains(&width) {
            return Err(corrupt(NAME, format!("lengths of pages take {width} bytes, expected 1 to 4")));
        }
        let lengths = count.checked_mul(usize::from(width)).ok_or_else(short)?;
        let (statistics, rest) = rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize).ok_or_else(short)?;
        let (lengths, rest) = rest.split_at_checked(lengths).ok_or_else(short)?;
        let (sum, pages) = rest.split_first_chunk::<SUM>().ok_or_else(short)?;
        check(&stored[..FIXED + statistics.len() + lengths.len()], u32::from_le_bytes(*sum), "the table")?;
        let stated = u32::from_le_bytes([e, f, g, h]) as usize;
        if stated != last {
            return Err(corrupt(NAME, format!("the last page decodes to {stated} bytes, expected {last}")));
        }
        let mut ends = Vec::with_capacity(count);
        let mut end = 0usize;
        for length in lengths.chunks_exact(usize::from(width)) {
            let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            end = end.saturating_add(length).saturating_add(SUM);
            ends.push(end);
        }
        match end == pages.len() {
            true => Ok(Table { statistics, ends, pages }),
            false => Err(corrupt(NAME, format!("pages of {end} bytes in all, stored are {}", pages.len()))),
        }
    }

    /// The bytes of a page, with the right checksum.
    pub fn page(&self, nth: usize) -> Result<&'a [u8]> {
        let start = nth.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let part = start.zip(self.ends.get(nth)).and_then(|(start, end)| self.pages.get(start..*end));
        let (page, sum) = part
            .and_then(<[u8]>::split_last_chunk::<SUM>)
            .ok_or_else(|| corrupt(NAME, format!("there is no page {nth}")))?;
        check(page, u32::from_le_bytes(*sum), &format!("page {nth}"))?;
        Ok(page)
    }
}

pub(super) fn check(part: &[u8], stated: u32, name: &str) -> Result<()> {
    match crc32c::crc32c(part) {
        found if found == stated => Ok(()),
        found => Err(corrupt(NAME, format!("the checksum of {name} is {stated:#010x}, its data have {found:#010x}"))),
    }
}

/// Appends a chunk: the table, then `pages`, which are as long as `lengths` says; the last one decodes to `last` bytes.
pub(super) fn write(statistics: &[u8], pages: &[u8], lengths: &[usize], last: usize, out: &mut Vec<u8>) -> Result<()> {
    let most = lengths.iter().copied().max().unwrap_or(0).max(1);
    let width = most.ilog2() as usize / 8 + 1;
    let numbers = u32::try_from(statistics.len()).ok().zip(u32::try_from(last).ok()).filter(|_| width <= 4);
    let (stated, last) = numbers.ok_or_else(|| {
        Error::new(ErrorKind::Codec, format!("{NAME}: a page of more than 4 GiB")).hint("choose smaller pages")
    })?;
    let start = out.len();
    out.push(width as u8);
    out.extend(last.to_le_bytes());
    out.extend(stated.to_le_bytes());
    out.extend_from_slice(statistics);
    lengths.iter().for_each(|length| out.extend_from_slice(&length.to_le_bytes()[..width]));
    out.extend(crc32c::crc32c(&out[start..]).to_le_bytes());
    let mut rest = pages;
    for length in lengths {
        let (page, after) = rest.split_at_checked(*length).unwrap_or((rest, &[]));
        out.extend_from_slice(page);
        out.extend(crc32c::crc32c(page).to_le_bytes());
        rest = after;
    }
    Ok(())
}
