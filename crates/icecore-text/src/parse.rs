//! Parser: text → columns and escapes.

use icecore_grid::{Error, ErrorKind, Result};
use rayon::prelude::*;

use crate::escapes::Gather;
use crate::format::{Format, Layout};
use crate::parse_output::Parsed;
use crate::part::part;
use crate::trimmed;
use crate::values::Values;

/// Minimum text size per thread.
const SHARE: usize = 1 << 20;

/// Parses the rows of `text`, on all threads of the current pool. `last`: this is the end of the text.
///
/// # Errors
/// `Unsupported` for blocks of 2^32 bytes or more.
pub fn parse(format: &Format, text: &[u8], last: bool) -> Result<Parsed> {
    parse_with(format, text, last, false).map(joined)
}

/// As `parse`, and prints everything again and compares it with the text.
///
/// # Errors
/// Also `Internal` if they differ.
pub fn parse_checked(format: &Format, text: &[u8], last: bool) -> Result<Parsed> {
    parse_with(format, text, last, true).map(joined)
}

/// As either of these, with the columns of each thread's part separately, in order.
///
/// # Errors
/// As theirs.
pub fn parse_apart(format: &Format, text: &[u8], last: bool, checked: bool) -> Result<(Parsed, Vec<Vec<Values>>)> {
    parse_with(format, text, last, checked)
}

fn parse_with(format: &Format, text: &[u8], last: bool, checked: bool) -> Result<(Parsed, Vec<Vec<Values>>)> {
    match trimmed::plain(format) {
        Some(plain) => trimmed::parse(&plain, text, last, checked, parse_full),
        None => parse_full(format, text, last, checked),
    }
}

/// The same for rows without trimmed ends.
pub(crate) fn parse_full(
    format: &Format,
    text: &[u8],
    last: bool,
    checked: bool,
) -> Result<(Parsed, Vec<Vec<Values>>)> {
    if u32::try_from(text.len()).is_err() {
        return Err(Error::new(ErrorKind::Unsupported, "a block of text of 4 GiB or more").hint("smaller blocks"));
    }
    let parts = shares(format, text);
    let count = parts.len();
    let mut parsed: Vec<Parsed> = parts
        .par_iter()
        .enumerate()
        .map(|(i, share)| part(format, share, last && i + 1 == count, checked))
        .collect::<Result<_>>()?;
    // A quoted row continues beyond the end of its part: the rest is parsed in one piece.
    let cut = |i: &usize| parsed[*i].used < parts[*i].len();
    if let Some(stop) = (0..count.saturating_sub(1)).find(cut) {
        parsed.truncate(stop + 1);
        let from = parts.iter().take(stop).map(|part| part.len()).sum::<usize>() + parsed[stop].used;
        parsed.push(part(format, text.get(from..).unwrap_or_default(), last, checked)?);
    }
    Ok(gathered(format, parsed))
}

/// Divides the text after line ends, one part per thread.
fn shares<'a>(format: &Format, text: &'a [u8]) -> Vec<&'a [u8]> {
    let one_piece = matches!(&format.layout, Layout::Fixed { template, .. } if template.last() != Some(&b'\n'));
    let count = if one_piece { 1 } else { (text.len() / SHARE).clamp(1, rayon::current_num_threads()) };
    let mut parts = Vec::with_capacity(count);
    let mut from = 0;
    for i in 1..count {
        let near = (text.len() / count * i).max(from);
        let Some(end) = text.get(near..).and_then(|t| t.iter().position(|b| *b == b'\n')) else { break };
        parts.push(text.get(from..=near + end).unwrap_or_default());
        from = near + end + 1;
    }
    parts.push(text.get(from..).unwrap_or_default());
    parts
}

/// Merges the parts; only the columns of the first part are included.
fn gathered(format: &Format, parsed: Vec<Parsed>) -> (Parsed, Vec<Vec<Values>>) {
    let mut parts = parsed.into_iter();
    let (mut gather, mut behind) = (Gather::default(), Vec::new());
    let Some(mut all) = parts.next() else { return (Parsed::new(format, 0), behind) };
    gather.append(std::mem::take(&mut all.escapes));
    for part in parts {
        let rows = gather.escapes.rows;
        behind.push(part.columns);
        for (mine, other) in all.lost.iter_mut().zip(part.lost).chain(all.junk.iter_mut().zip(part.junk)) {
            mine.append(other, rows);
        }
        gather.append(part.escapes);
        all.used += part.used;
    }
    (Parsed { escapes: gather.escapes, ..all }, behind)
}

fn joined((mut all, behind): (Parsed, Vec<Vec<Values>>)) -> Parsed {
    for part in behind {
        all.columns.iter_mut().zip(part).for_each(|(mine, other)| mine.append(other));
    }
    all
}
