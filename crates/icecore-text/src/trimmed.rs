//! Fixed rows whose spaces at the end may be missing: padded before they are parsed, trimmed after they are printed.
//!
//! A row prints without trailing spaces. A row with trailing spaces keeps them as an escape of the cell after all
//! others.

use std::collections::HashMap;
use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::characters::{narrow, widen};
use crate::escapes::Escapes;
use crate::format::{Format, Layout};
use crate::parse_output::Parsed;
use crate::values::{Values, View};

/// Parser of complete rows.
type Parse = fn(&Format, &[u8], bool, bool) -> Result<(Parsed, Vec<Vec<Values>>)>;
/// Printer of complete rows.
type Print = fn(&Format, &[View<'_>], &Escapes) -> Result<Vec<Vec<u8>>>;

/// Maximum length of a row: a longer stretch without a line feed is stored as text.
const LONGEST: usize = 1 << 20;

/// The format of the padded rows; `None` if rows are complete anyway.
pub(crate) fn plain(format: &Format) -> Option<Format> {
    let Layout::Fixed { template, cells, trimmed: true, characters } = &format.layout else { return None };
    let (template, cells, characters) = (template.clone(), cells.clone(), characters.clone());
    let layout = Layout::Fixed { template, cells, trimmed: false, characters };
    Some(Format { layout, columns: format.columns.clone() })
}

/// Position of a template's line end.
fn width(template: &[u8]) -> usize {
    template.len() - template.iter().rev().take_while(|b| matches!(b, b'\n' | b'\r')).count()
}

fn without_spaces(body: &[u8]) -> &[u8] {
    body.get(..body.iter().rposition(|b| *b != b' ').map_or(0, |n| n + 1)).unwrap_or_default()
}

/// Whether a line holds nothing but spaces, or an end-of-file sign or zeros that fill up a file.
fn is_bare(body: &[u8]) -> bool {
    body.iter().all(|b| matches!(b, b' ' | 0x1a | 0))
}

/// Lines padded with spaces to the template's length, and their original lengths.
struct Padded {
    text: Vec<u8>,
    /// For each line: its length in the text, and the end of the padded one.
    lines: Vec<(Range<usize>, usize)>,
}

impl Padded {
    fn of(template: &[u8], characters: &[(u32, u32)], text: &[u8], last: bool) -> Padded {
        let body = width(template);
        let end = template.get(body..).unwrap_or_default();
        let mut padded = Padded { text: Vec::with_capacity(text.len() * 2), lines: Vec::new() };
        let mut at = 0;
        for line in text.split_inclusive(|b| *b == b'\n') {
            let whole = line.last() == Some(&b'\n');
            if !whole && !last && line.len() <= LONGEST {
                break;
            }
            let (inner, tail) = parts(line, end, !whole && last);
            if !characters.is_empty() && tail.is_some() {
                padded.widened(characters, inner);
            } else {
                padded.text.extend_from_slice(inner);
            }
            if characters.is_empty()
                && inner.len() < body
                && !tail.is_none_or(|_| is_bare(inner) || inner.starts_with(b"#"))
            {
                padded.text.resize(padded.text.len() + body - inner.len(), b' ');
            }
            padded.text.extend_from_slice(line.get(inner.len()..).unwrap_or_default());
            padded.lines.push((at..at + line.len(), padded.text.len()));
            at += line.len();
        }
        padded
    }

    /// Appends a line whose cells are counted in characters; a single byte for one that is not a row.
    fn widened(&mut self, characters: &[(u32, u32)], inner: &[u8]) {
        let (start, mut again) = (self.text.len(), Vec::with_capacity(inner.len()));
        let is_row = !is_bare(inner) && widen(characters, inner, &mut self.text);
        // The spaces that fill the last stretches may be missing in the text.
        let same = is_row && {
            narrow(characters, self.text.get(start..).unwrap_or_default(), &mut again);
            without_spaces(&again) == without_spaces(inner)
        };
        let full = again.len() == inner.len();
        if !same || (inner.starts_with(b"#") && !full) {
            self.text.truncate(start);
            // A byte in place of a line keeps its place, unless rows are that short.
            let body = characters.iter().map(|(_, bytes)| *bytes as usize).sum::<usize>();
            self.text.resize(start + if body == 1 { 2 } else { 1 }, b'#');
        }
    }

    /// Number of bytes of the text for this many padded bytes.
    fn used(&self, padded: usize) -> usize {
        let lines = self.lines.partition_point(|(_, end)| *end <= padded);
        lines.checked_sub(1).and_then(|last| self.lines.get(last)).map_or(0, |(line, _)| line.end)
    }
}

/// A line's bytes before its line end, and the line end; `None` if that differs from `end`.
fn parts<'a>(line: &'a [u8], end: &[u8], cut: bool) -> (&'a [u8], Option<&'a [u8]>) {
    if let Some(inner) = line.strip_suffix(end) {
        return (inner, Some(line.get(inner.len()..).unwrap_or_default()));
    }
    if !cut {
        return (line, None);
    }
    let begun = (1..end.len()).rev().find(|n| line.ends_with(end.get(..*n).unwrap_or_default())).unwrap_or(0);
    let (inner, tail) = line.split_at(line.len() - begun);
    (inner, Some(tail))
}

/// Pads the lines of `text` with spaces to `template`'s length; `characters`: as those of the layout.
#[must_use]
pub fn pad_rows(template: &[u8], characters: &[(u32, u32)], text: &[u8]) -> Vec<u8> {
    Padded::of(template, characters, text, true).text
}

/// Parses rows that may lack trailing spaces. `format`: that of the padded rows.
pub(crate) fn parse(
    format: &Format,
    text: &[u8],
    last: bool,
    checked: bool,
    parse_full: Parse,
) -> Result<(Parsed, Vec<Vec<Values>>)> {
    let Layout::Fixed { template, cells, characters, .. } = &format.layout else {
        return parse_full(format, text, last, checked);
    };
    let padded = Padded::of(template, characters, text, last);
    let (mut parsed, behind) = parse_full(format, &padded.text, last, checked)?;
    parsed.used = padded.used(parsed.used);
    let body = width(template);
    let mut strays = parsed.escapes.lines.iter_mut().peekable();
    let (mut known, mut ends, mut row, mut seen) = (HashMap::new(), Vec::new(), 0u32, 0);
    for (line, _) in &padded.lines {
        let original = text.get(line.clone()).unwrap_or_default();
        if let Some((_, stray)) = strays.next_if(|(before, _)| *before == row) {
            *stray = original.to_vec();
            seen = line.end;
            continue;
        }
        if row == parsed.escapes.rows {
            break;
        }
        let (inner, _) = parts(original, template.get(body..).unwrap_or_default(), last && line.end == text.len());
        let spaces = inner.len() - without_spaces(inner).len();
        if spaces > 0 {
            let id = *known.entry(spaces).or_insert_with(|| {
                parsed.escapes.texts.push(vec![b' '; spaces]);
                parsed.escapes.texts.len() as u32 - 1
            });
            ends.push((row, cells.len() as u16, id));
        }
        row += 1;
        seen = line.end;
    }
    if checked && (strays.next().is_some() || row != parsed.escapes.rows || seen != parsed.used) {
        let message = format!("{seen} of {} bytes are in rows and lines", parsed.used);
        let hint = "please report it; --no-restore packs its values alone";
        return Err(Error::new(ErrorKind::Internal, message).hint(hint));
    }
    parsed.escapes.cells.extend(ends);
    parsed.escapes.cells.sort_unstable();
    Ok((parsed, behind))
}

/// Prints rows without trailing spaces. `format`: that of the padded rows.
pub(crate) fn print(
    format: &Format,
    columns: &[View<'_>],
    escapes: &Escapes,
    print_full: Print,
) -> Result<Vec<Vec<u8>>> {
    let Layout::Fixed { template, cells, characters, .. } = &format.layout else {
        return print_full(format, columns, escapes);
    };
    let (ends, inner): (Vec<_>, Vec<_>) = escapes.cells.iter().partition(|cell| usize::from(cell.1) == cells.len());
    let full = Escapes { cells: inner, lines: Vec::new(), ..escapes.clone() };
    let parts = print_full(format, columns, &full)?;
    let (body, mut row) = (width(template), 0u32);
    let (mut ends, mut lines) = (ends.iter().peekable(), escapes.lines.iter().peekable());
    let (mut printed, mut narrowed) = (Vec::with_capacity(parts.len() + 1), Vec::new());
    for part in parts {
        let mut out = Vec::with_capacity(part.len());
        for full in part.chunks(template.len()) {
            while let Some((_, line)) = lines.next_if(|(before, _)| *before <= row) {
                out.extend_from_slice(line);
            }
            let (inner, tail) = full.split_at_checked(body).ok_or_else(cut_short)?;
            if characters.is_empty() {
                out.extend_from_slice(without_spaces(inner));
            } else {
                narrowed.clear();
                if !narrow(characters, inner, &mut narrowed) {
                    return Err(too_wide(row));
                }
                out.extend_from_slice(without_spaces(&narrowed));
            }
            if let Some((_, _, text)) = ends.next_if(|(at, _, _)| *at == row) {
                out.extend_from_slice(escapes.texts.get(*text as usize).ok_or_else(cut_short)?);
            }
            out.extend_from_slice(tail);
            row += 1;
        }
        printed.push(out);
    }
    printed.push(lines.flat_map(|(_, line)| line.iter().copied()).collect());
    Ok(printed)
}

fn too_wide(row: u32) -> Error {
    let message = format!("row {row} holds a text with more characters than its print format has room for");
    let hint = "the column was written over since the table was packed: restore an earlier version";
    Error::new(ErrorKind::Mismatch, message).hint(hint)
}

fn cut_short() -> Error {
    Error::new(ErrorKind::Corrupt, "a row is shorter than its print format".to_owned())
        .hint("icecore verify --deep names the damaged objects")
}
