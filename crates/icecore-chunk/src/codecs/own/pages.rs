//! `icecore.pages`: small pages that can be decoded alone, over statistics that all pages of a chunk share.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use pco::data_types::Number;

use super::pages_bytes;
use super::pages_runs::{self, RUNS, Runs};
use super::pages_table::{NAME, Table, write};
use crate::codecs::array::pco::{for_number, is_number, numbers, with_numbers};
use crate::codecs::array::pco_wrapped::{PageReader, Paged, write_pages};
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, config_i64_or, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.pages"];

/// Elements of a page: one batch of pco's.
const PAGE: i64 = 256;
const MOST: i64 = 1 << 24;

#[derive(Debug)]
pub(crate) struct Pages {
    /// The type as pco takes it; `None` for bytes.
    number: Option<DType>,
    /// Elements of a page, and its bytes.
    page: usize,
    bytes: usize,
    level: usize,
}

impl Pages {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Pages> {
        only_keys(ext, &["page", "level"])?;
        let number = match dtype {
            DType::Bool => Some(DType::UInt8),
            DType::Bytes(_) | DType::Raw(_) if dtype.size() > 0 => None,
            _ if is_number(dtype) => Some(dtype.clone()),
            _ => {
                return Err(Error::new(ErrorKind::Unsupported, format!("{NAME} of {}", dtype.to_json()))
                    .hint("it supports booleans, real numbers, times and bytes of fixed length"));
            }
        };
        let page = match config_i64_or(ext, "page", PAGE)? {
            page @ 1..=MOST => page as usize,
            _ => return Err(bad_config(ext, "page", "1 to 16777216")),
        };
        let level = match config_i64_or(ext, "level", 8)? {
            level @ 0..=12 => level as usize,
            _ => return Err(bad_config(ext, "level", "0 to 12")),
        };
        let bytes = page.checked_mul(dtype.size()).ok_or_else(|| bad_config(ext, "page", "fewer elements"))?;
        Ok(Pages { number, page, bytes, level })
    }

    /// The pages that the ranges touch, in order.
    fn chosen(&self, wanted: &[Range<usize>], count: usize) -> Vec<usize> {
        let mut taken = vec![false; count];
        for range in wanted.iter().filter(|range| range.start < range.end) {
            let last = (range.end.div_ceil(self.bytes)).min(count);
            taken[(range.start / self.bytes).min(last)..last].fill(true);
        }
        taken.iter().enumerate().filter(|(_, taken)| **taken).map(|(nth, _)| nth).collect()
    }
}

impl ArrayCodec for Pages {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_parts(stored, shape, &[wanted], out, scratch)
    }

    fn decode_parts(
        &self,
        stored: &[u8],
        _: &[u64],
        wanted: &[Range<usize>],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        if out.is_empty() {
            return if stored.is_empty() { Ok(()) } else { Err(corrupt(NAME, "bytes of a chunk without elements")) };
        }
        if stored.first() == Some(&RUNS) {
            return self.decode_runs(stored, wanted, out, scratch);
        }
        self.decode_pages(stored, wanted, out, scratch)
    }

    fn encode(&self, raw: &[u8], _: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if raw.is_empty() {
            return Ok(());
        }
        let start = out.len();
        self.encode_pages(raw, out, scratch)?;
        if let Some(shorter) = self.encode_runs(raw, scratch)?.filter(|runs| runs.len() < out.len() - start) {
            out.truncate(start);
            out.extend_from_slice(&shorter);
        }
        Ok(())
    }

    fn has_parts(&self) -> bool {
        true
    }
}

impl Pages {
    /// Bytes of an element.
    fn size(&self) -> usize {
        self.bytes / self.page
    }

    /// The codec of the lengths of runs.
    fn of_lengths(&self) -> Pages {
        Pages { number: Some(DType::UInt32), page: self.page, bytes: self.page * 4, level: self.level }
    }

    /// A chunk as runs; `None` where elements are seldom repeated.
    fn encode_runs(&self, raw: &[u8], scratch: &mut Scratch) -> Result<Option<Vec<u8>>> {
        let Some((lengths, values)) = pages_runs::runs(raw, self.size()) else { return Ok(None) };
        let (mut first, mut second, mut out) = (Vec::new(), Vec::new(), Vec::new());
        self.of_lengths().encode_pages(&lengths, &mut first, scratch)?;
        self.encode_pages(&values, &mut second, scratch)?;
        Ok(pages_runs::write(&lengths, self.page, [&first, &second], &mut out).map(|()| out))
    }

    fn decode_runs(&self, stored: &[u8], wanted: &[Range<usize>], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let size = self.size();
        let runs = Runs::parse(stored, out.len() / size, self.page)?;
        let chosen = runs.chosen(wanted.iter().map(|range| range.start / size..range.end.div_ceil(size)));
        let parts = |size: usize| -> Vec<Range<usize>> {
            chosen.iter().map(|nth| runs.of_page(*nth)).map(|runs| runs.start * size..runs.end * size).collect()
        };
        let (mut lengths, mut values) = (vec![0; runs.count * 4], vec![0; runs.count * size]);
        self.of_lengths().decode_pages(runs.lengths, &parts(4), &mut lengths, scratch)?;
        self.decode_pages(runs.values, &parts(size), &mut values, scratch)?;
        chosen.iter().try_for_each(|nth| runs.expand(*nth, &lengths, &values, size, out))
    }

    fn decode_pages(
        &self,
        stored: &[u8],
        wanted: &[Range<usize>],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let count = out.len().div_ceil(self.bytes);
        let table = Table::parse(stored, count, out.len() - (count - 1) * self.bytes)?;
        let chosen = self.chosen(wanted, count);
        let len = out.len();
        let place = |nth: usize| nth * self.bytes..((nth + 1) * self.bytes).min(len);
        match &self.number {
            Some(dtype) => for_number!(dtype, read_pages(&table, &chosen, place, out, scratch)),
            None => pages_bytes::read_pages(&table, &chosen, place, out, scratch),
        }
    }

    fn encode_pages(&self, raw: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let made = match &self.number {
            Some(dtype) => for_number!(dtype, paged(raw, self.page, self.level))?,
            None => pages_bytes::write_pages(raw, self.bytes, self.level as i32, scratch)?,
        };
        let last = raw.len() - (made.lengths.len() - 1) * self.bytes;
        write(&made.statistics, &made.pages, &made.lengths, last, out)
    }
}

fn paged<T: Number>(raw: &[u8], page: usize, level: usize) -> Result<Paged> {
    write_pages(&numbers::<T>(raw), page, level)
}

fn read_pages<T: Number>(
    table: &Table<'_>,
    chosen: &[usize],
    place: impl Fn(usize) -> Range<usize>,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    if chosen.is_empty() {
        return Ok(());
    }
    let mut reader = PageReader::<T>::new(table.statistics)?;
    for nth in chosen {
        let stored = table.page(*nth)?;
        with_numbers(&mut out[place(*nth)], scratch, |numbers| reader.read(stored, numbers))?;
    }
    Ok(())
}
