//! Pages of bytes for `icecore.pages`: zstd frames over a dictionary, which is a sample of the pages.

use std::ops::Range;

use icecore_grid::Result;

use super::pages_table::{NAME, Table};
use crate::codecs::array::pco_wrapped::Paged;
use crate::errors::corrupt;
use crate::min_match::MinMatch;
use crate::scratch::Scratch;

/// Largest dictionary, and the part of a chunk that it may be.
const MOST: usize = 32 << 10;
const PART: usize = 32;
/// Pages that the sample is taken from.
const SAMPLES: usize = 32;

/// Compresses pages of `page` bytes: with the dictionary, or without where that is shorter.
pub(super) fn write_pages(raw: &[u8], page: usize, level: i32, scratch: &mut Scratch) -> Result<Paged> {
    let plain = with_dictionary(raw, page, level, &[], scratch)?;
    let sample = sample(raw, page);
    if sample.is_empty() {
        return Ok(plain);
    }
    let shared = with_dictionary(raw, page, level, &sample, scratch)?;
    let len = |paged: &Paged| paged.statistics.len() + paged.pages.len();
    Ok(if len(&shared) < len(&plain) { shared } else { plain })
}

/// Decodes the chosen pages into their places in `out`. The statistics are a u32, the dictionary's length, and its frame, or
/// nothing.
pub(super) fn read_pages(
    table: &Table<'_>,
    chosen: &[usize],
    place: impl Fn(usize) -> Range<usize>,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    let mut dictionary = Vec::new();
    if let Some((len, frame)) = table.statistics.split_first_chunk::<4>() {
        let len = u32::from_le_bytes(*len) as usize;
        if len == 0 || len > MOST {
            return Err(corrupt(NAME, format!("a dictionary of {len} bytes, expected 1 to {MOST}")));
        }
        dictionary.resize(len, 0);
        scratch.decompressor()?.decompress(frame, &mut dictionary, len)?;
    }
    for nth in chosen {
        let (stored, part) = (table.page(*nth)?, &mut out[place(*nth)]);
        match stored.len() == part.len() {
            true => part.copy_from_slice(stored),
            false => scratch.decompressor()?.decompress_with(stored, &dictionary, part)?,
        }
    }
    Ok(())
}

fn with_dictionary(raw: &[u8], page: usize, level: i32, dictionary: &[u8], scratch: &mut Scratch) -> Result<Paged> {
    let mut made = Paged { statistics: Vec::new(), pages: Vec::new(), lengths: Vec::new() };
    let zstd = scratch.compressor()?;
    if !dictionary.is_empty() {
        made.statistics.extend((dictionary.len() as u32).to_le_bytes());
        zstd.compress(dictionary, &mut made.statistics, level, false, MinMatch::Usual)?;
    }
    for part in raw.chunks(page) {
        let start = made.pages.len();
        zstd.compress_with(part, dictionary, &mut made.pages, level)?;
        if made.pages.len() - start >= part.len() {
            made.pages.truncate(start);
            made.pages.extend_from_slice(part); // a page as long as its bytes is them
        }
        made.lengths.push(made.pages.len() - start);
    }
    Ok(made)
}

/// Beginnings of pages that are spread over the chunk.
fn sample(raw: &[u8], page: usize) -> Vec<u8> {
    let pages = raw.len().div_ceil(page.max(1));
    let most = MOST.min(raw.len() / PART);
    let taken = pages.min(SAMPLES);
    let mut found = Vec::new();
    for nth in 0..taken {
        let start = nth * pages / taken * page;
        let end = raw.len().min(start + page.min(most / taken));
        found.extend_from_slice(&raw[start..end]);
    }
    found
}
