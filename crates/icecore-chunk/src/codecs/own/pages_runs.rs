//! Runs for `icecore.pages`: chunks of repeated elements as the lengths and the values of their runs, both in pages.

use std::ops::Range;

use icecore_grid::Result;

use super::pages_table::{NAME, SUM, check};
use crate::errors::corrupt;

/// First byte of a chunk of runs; other chunks begin with the bytes of a page's length, which are not 0.
pub(super) const RUNS: u8 = 0;
/// The first byte, u32 runs, u32 bytes of the lengths.
const FIXED: usize = 9;
/// Elements of a run, on average, from which runs are tried.
const REPEATED: usize = 4;

/// Lengths (u32, in native byte order) and values of the runs of equal elements of `size` bytes; `None` where most elements
/// differ from the one before.
pub(super) fn runs(raw: &[u8], size: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    let most = raw.len() / size / REPEATED;
    let (mut lengths, mut values, mut length) = (Vec::new(), Vec::new(), 0u32);
    let mut elements = raw.chunks_exact(size).peekable();
    while let Some(element) = elements.next() {
        length = length.checked_add(1)?;
        if elements.peek() != Some(&element) {
            lengths.extend(length.to_ne_bytes());
            values.extend_from_slice(element);
            length = 0;
            if lengths.len() / 4 > most {
                return None;
            }
        }
    }
    Some((lengths, values))
}

/// Appends a chunk: what it holds, the first element of each page of `page` runs, then the encoded lengths and values.
pub(super) fn write(lengths: &[u8], page: usize, encoded: [&[u8]; 2], out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.push(RUNS);
    out.extend(u32::try_from(lengths.len() / 4).ok()?.to_le_bytes());
    out.extend(u32::try_from(encoded[0].len()).ok()?.to_le_bytes());
    let mut first = 0u32;
    for part in lengths.chunks(page.checked_mul(4)?) {
        out.extend(first.to_le_bytes());
        for length in part.as_chunks::<4>().0 {
            first = first.checked_add(u32::from_ne_bytes(*length))?;
        }
    }
    out.extend(crc32c::crc32c(&out[start..]).to_le_bytes());
    encoded.iter().for_each(|part| out.extend_from_slice(part));
    Some(())
}

/// A chunk of runs that was not decoded yet.
pub(super) struct Runs<'a> {
    pub count: usize,
    /// The first element of each page of runs, and the number of elements.
    starts: Vec<usize>,
    page: usize,
    pub lengths: &'a [u8],
    pub values: &'a [u8],
}

impl<'a> Runs<'a> {
    /// Reads the beginning of a chunk of so many elements, with `page` runs in a page.
    pub fn parse(stored: &'a [u8], elements: usize, page: usize) -> Result<Runs<'a>> {
        let short = || corrupt(NAME, format!("{} bytes are too few for a chunk of runs", stored.len()));
        let (fixed, rest) = stored.split_first_chunk::<FIXED>().ok_or_else(short)?;
        let [_, a, b, c, d, e, f, g, h] = *fixed;
        let count = u32::from_le_bytes([a, b, c, d]) as usize;
        if count == 0 || count > elements {
            return Err(corrupt(NAME, format!("{count} runs of {elements} elements")));
        }
        let pages = count.div_ceil(page);
        let (firsts, rest) = rest.split_at_checked(pages * 4).ok_or_else(short)?;
        let (sum, rest) = rest.split_first_chunk::<SUM>().ok_or_else(short)?;
        check(&stored[..FIXED + firsts.len()], u32::from_le_bytes(*sum), "the table of runs")?;
        let (lengths, values) = rest.split_at_checked(u32::from_le_bytes([e, f, g, h]) as usize).ok_or_else(short)?;
        let mut starts: Vec<usize> =
            firsts.as_chunks::<4>().0.iter().map(|n| u32::from_le_bytes(*n) as usize).collect();
        starts.push(elements);
        match starts.first() == Some(&0) && starts.is_sorted() {
            true => Ok(Runs { count, starts, page, lengths, values }),
            false => Err(corrupt(NAME, "pages of runs that are not in order")),
        }
    }

    /// The pages that hold some of the elements, in order.
    pub fn chosen(&self, wanted: impl Iterator<Item = Range<usize>>) -> Vec<usize> {
        let mut taken = vec![false; self.starts.len() - 1];
        for range in wanted.filter(|range| range.start < range.end) {
            let first = self.starts.partition_point(|start| *start <= range.start).saturating_sub(1);
            let last = self.starts.partition_point(|start| *start < range.end).min(taken.len());
            taken[first.min(last)..last].fill(true);
        }
        taken.iter().enumerate().filter(|(_, taken)| **taken).map(|(nth, _)| nth).collect()
    }

    /// The runs of a page.
    pub fn of_page(&self, nth: usize) -> Range<usize> {
        nth * self.page..((nth + 1) * self.page).min(self.count)
    }

    /// Writes the elements of a page to their places in `out`.
    pub fn expand(&self, nth: usize, lengths: &[u8], values: &[u8], size: usize, out: &mut [u8]) -> Result<()> {
        let place = self.starts[nth] * size..self.starts[nth + 1] * size;
        let mut rest = &mut out[place];
        let runs = self.of_page(nth);
        let lengths = lengths[runs.start * 4..runs.end * 4].as_chunks::<4>().0;
        for (length, value) in lengths.iter().zip(values[runs.start * size..runs.end * size].chunks_exact(size)) {
            let len = (u32::from_ne_bytes(*length) as usize).saturating_mul(size);
            let (run, after) = std::mem::take(&mut rest)
                .split_at_mut_checked(len)
                .ok_or_else(|| corrupt(NAME, format!("page {nth} has longer runs than it has elements")))?;
            run.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(value));
            rest = after;
        }
        match rest.len() {
            0 => Ok(()),
            left => Err(corrupt(NAME, format!("the runs of page {nth} end {} elements too early", left / size))),
        }
    }
}
