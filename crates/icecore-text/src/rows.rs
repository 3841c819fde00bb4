//! Division of text into rows, lines and cells.

use crate::cells::ends;
use crate::fixed_width::Fixed;
use crate::format::{Format, Layout};

/// Maximum length of a quoted row: if it is exceeded, the quotes are ordinary characters.
const MAX_QUOTED: usize = 1 << 20;

/// As a separator: the first blank of a run; the others belong to the cell after it. Blanks at the ends of a row belong
/// to its first and last cell.
const BLANK: u8 = b' ';

/// Kind of the next stretch of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A row that ends at this offset; its cells are in the list. `missing`: missing bytes of its line end. `same`:
    /// number of leading cells equal to those of the previous row; `clear`: whether all its quotes are closed.
    Row { end: usize, missing: u8, same: usize, clear: bool },
    /// A line that is not a row.
    Line { end: usize },
    /// No complete row or line is left.
    Rest,
}

fn line_end(text: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?.iter().position(|b| *b == b'\n').map(|n| from + n + 1)
}

/// The next stretch of `text` from `at`; the cells of a row are written to `cells` as (start, end). `last`: this is the
/// end of the text. `before`: the start of a row without open quotes whose cells are still in `cells`. `fixed`: that of
/// the layout.
pub(crate) fn next(
    format: &Format,
    fixed: Option<&Fixed>,
    text: &[u8],
    at: usize,
    last: bool,
    before: Option<usize>,
    cells: &mut Vec<(usize, usize)>,
) -> Piece {
    match &format.layout {
        Layout::Fixed { template, cells: fields, .. } => {
            let fits = |row: &[u8]| fixed.is_some_and(|fixed| fixed.fits(template, row));
            of_one_length(template, fields, fits, text, at, last, cells)
        }
        Layout::Delimited { separator, quotes, multiline } => {
            let mut scan = Scan::new(text, *separator as u8, *quotes, *multiline);
            let same = before.map_or(0, |start| scan.repeat(start, at, cells));
            cells.truncate(same);
            scan.row(format.columns.len(), at, last, same, cells)
        }
    }
}

fn of_one_length(
    template: &[u8],
    fields: &[(u32, u32)],
    fits: impl Fn(&[u8]) -> bool,
    text: &[u8],
    at: usize,
    last: bool,
    cells: &mut Vec<(usize, usize)>,
) -> Piece {
    let rest = text.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return Piece::Rest;
    }
    if rest.len() < template.len() && !last && !rest.contains(&b'\n') {
        return Piece::Rest;
    }
    let eol = template.iter().rev().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    let missing = template.len().saturating_sub(rest.len());
    let row = rest.get(..template.len()).or_else(|| (last && missing <= eol).then_some(rest));
    if let Some(row) = row.filter(|row| fits(row)) {
        cells.clear();
        cells.extend(fields.iter().map(|cell| ends(*cell)).map(|(start, end)| (at + start, at + end)));
        return Piece::Row { end: at + row.len(), missing: missing as u8, same: 0, clear: true };
    }
    if eol == 0 {
        return Piece::Line { end: text.len().min(at + template.len()) };
    }
    stray(text, at, last)
}

/// A line that is not a row; at the end of the text it may lack its line feed.
fn stray(text: &[u8], at: usize, last: bool) -> Piece {
    match line_end(text, at) {
        Some(end) => Piece::Line { end },
        None if last || text.len() - at > MAX_QUOTED => Piece::Line { end: text.len() },
        None => Piece::Rest,
    }
}

struct Scan<'a> {
    text: &'a [u8],
    separator: u8,
    quotes: bool,
    multiline: bool,
    /// Whether a quote is not closed on its line.
    open: bool,
    /// Whether a closing quote is followed by anything but a cell's end.
    odd: bool,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8], separator: u8, quotes: bool, multiline: bool) -> Self {
        Scan { text, separator, quotes, multiline, open: false, odd: false }
    }

    /// Number of leading cells that the rows at `at` and at `start` share; their positions are moved to the former.
    fn repeat(&self, start: usize, at: usize, cells: &mut [(usize, usize)]) -> usize {
        if self.separator == BLANK {
            return 0; // whether a blank separates depends on the next character
        }
        let end = cells.last().map_or(start, |cell| cell.1 + 1);
        let same = common(self.text.get(start..end).unwrap_or_default(), self.text.get(at..).unwrap_or_default());
        let count = cells.partition_point(|cell| cell.1 < start + same);
        for cell in cells.iter_mut().take(count) {
            *cell = (cell.0 + at - start, cell.1 + at - start);
        }
        count
    }

    /// The row at `at`, whose first `same` cells are known.
    fn row(&mut self, columns: usize, at: usize, last: bool, same: usize, cells: &mut Vec<(usize, usize)>) -> Piece {
        if at >= self.text.len() {
            return Piece::Rest;
        }
        let behind = cells.last().map(|cell| cell.1 + 1);
        let found = if same == columns { behind } else { self.cells(behind.unwrap_or(at), false, cells) };
        if self.text.get(at) == Some(&0x1a) && found.unwrap_or(self.text.len()) <= at + 3 && columns == 1 {
            return stray(self.text, at, last); // the end-of-file sign of DOS
        }
        if self.open
            && self.multiline
            && let Some(piece) = self.spanning(columns, at, last, cells)
        {
            return piece;
        }
        let Some(end) = found.or_else(|| last.then_some(self.text.len())) else {
            return stray(self.text, at, last);
        };
        if cells.len() == columns {
            return Piece::Row { end, missing: u8::from(found.is_none()), same, clear: !self.open };
        }
        stray(self.text, at, last)
    }

    /// The row at `at`, with an open quote closed on a later line; `None` if that does not give a row with this number
    /// of cells, so that the quote is an ordinary character.
    fn spanning(&self, columns: usize, at: usize, last: bool, cells: &mut Vec<(usize, usize)>) -> Option<Piece> {
        let mut scan = Scan::new(self.text, self.separator, true, true);
        let mut all = Vec::with_capacity(columns);
        let found = scan.cells(at, true, &mut all);
        if scan.open {
            let goes_on = !last && self.text.len() - at <= MAX_QUOTED;
            return goes_on.then_some(Piece::Rest);
        }
        let end = found.or_else(|| last.then_some(self.text.len()));
        match end {
            None => Some(Piece::Rest),
            Some(end) if all.len() == columns && !scan.odd => {
                *cells = all;
                Some(Piece::Row { end, missing: u8::from(found.is_none()), same: 0, clear: false })
            }
            Some(_) => None,
        }
    }

    /// Divides a row into cells from `at`, the start of a cell; returns the offset after its line feed, or `None` if
    /// the text ends before one. `spanning`: quoted text may continue on other lines.
    fn cells(&mut self, at: usize, spanning: bool, cells: &mut Vec<(usize, usize)>) -> Option<usize> {
        let text = self.text;
        let mut start = at;
        let mut i = at;
        while let Some(byte) = text.get(i) {
            if *byte == BLANK && self.separator == BLANK {
                let next = i + text.get(i..)?.iter().take_while(|b| **b == BLANK).count();
                let padding = i == start || matches!(text.get(next), None | Some(b'\n' | b'\r'));
                if !padding {
                    cells.push((start, i));
                    start = i + 1;
                }
                i = next - 1;
            } else if *byte == self.separator {
                cells.push((start, i));
                start = i + 1;
            } else if *byte == b'\n' {
                cells.push((start, i));
                return Some(i + 1);
            } else if *byte == b'"'
                && self.quotes
                && text.get(start..i).is_some_and(|lead| lead.iter().all(|b| *b == b' '))
            {
                let close = closing(text, i + 1, spanning);
                self.open |= close.is_none();
                i = close.unwrap_or(i);
                let after = text.get(i + 1).copied().unwrap_or(b'\n');
                self.odd |= close.is_some() && after != self.separator && !matches!(after, b'\n' | b'\r' | b' ');
            }
            i += 1;
        }
        cells.push((start, text.len()));
        None
    }
}

/// Length of the common prefix in bytes.
fn common(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0).take_while(|(a, b)| a == b).count() * 16;
    let rest = a.get(words..).unwrap_or_default().iter().zip(b.get(words..).unwrap_or_default());
    words + rest.take_while(|(a, b)| a == b).count()
}

/// Divides the row that begins at `at` into cells (start, end); returns the offset after its line feed, or `None` if
/// the text ends before one (the cells so far are in the list). `columns`: quotes span lines if this number of cells
/// results.
pub fn cells_of(
    text: &[u8],
    at: usize,
    separator: u8,
    columns: Option<usize>,
    cells: &mut Vec<(usize, usize)>,
) -> Option<usize> {
    cells.clear();
    let mut scan = Scan::new(text, separator, true, columns.is_some());
    let end = scan.cells(at, false, cells);
    let spanning = columns.filter(|_| scan.open).and_then(|columns| scan.spanning(columns, at, true, cells));
    match spanning {
        Some(Piece::Row { end, missing, .. }) => (missing == 0).then_some(end),
        _ => end,
    }
}

/// The last quote before `from`.
fn closing(text: &[u8], from: usize, multiline: bool) -> Option<usize> {
    let mut i = from;
    let end = text.len().min(from + MAX_QUOTED);
    while i < end {
        match text.get(i)? {
            b'"' if text.get(i + 1) == Some(&b'"') => i += 1,
            b'"' => return Some(i),
            b'\n' if !multiline => return None,
            _ => {}
        }
        i += 1;
    }
    None
}
