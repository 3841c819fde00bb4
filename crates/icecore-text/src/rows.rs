//! Text → rows and lines → cells.

use crate::format::Layout;

/// A row in quotes that goes on longer than this does not: its quotes are taken for text.
const MAX_QUOTED: usize = 1 << 20;

/// One stretch of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A row up to this offset; its cells are in the list. `missing`: bytes of its line end that the text doesn't have.
    /// `same`: its first cells are those of the row before; `clear`: no quote in it was left open.
    Row { end: usize, missing: u8, same: usize, clear: bool },
    /// A line that is no row.
    Line { end: usize },
    /// Nothing whole is left.
    Rest,
}

fn line_end(text: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?.iter().position(|b| *b == b'\n').map(|n| from + n + 1)
}

/// The next stretch of `text` from `at`; the cells of a row go to `cells` as (start, end). `last`: nothing follows `text`.
/// `before`: where a row without open quotes began whose cells are still in `cells`.
pub(crate) fn next(
    layout: &Layout,
    columns: usize,
    text: &[u8],
    at: usize,
    last: bool,
    before: Option<usize>,
    cells: &mut Vec<(usize, usize)>,
) -> Piece {
    match layout {
        Layout::Fixed { template, cells: fields } => fixed(template, fields, text, at, last, cells),
        Layout::Delimited { separator, quotes, multiline } => {
            let mut scan =
                Scan { text, separator: *separator as u8, quotes: *quotes, multiline: *multiline, open: false };
            let same = before.map_or(0, |start| scan.repeat(start, at, cells));
            cells.truncate(same);
            scan.row(columns, at, last, same, cells)
        }
    }
}

fn fixed(
    template: &[u8],
    fields: &[(u32, u32)],
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
    if let Some(row) = row.filter(|row| gaps_match(template, fields, row)) {
        cells.clear();
        cells.extend(fields.iter().map(|(start, length)| (at + *start as usize, at + (*start + *length) as usize)));
        return Piece::Row { end: at + row.len(), missing: missing as u8, same: 0, clear: true };
    }
    if eol == 0 {
        return Piece::Line { end: text.len().min(at + template.len()) };
    }
    stray(text, at, last)
}

fn gaps_match(template: &[u8], fields: &[(u32, u32)], row: &[u8]) -> bool {
    let mut from = 0;
    for (start, length) in fields {
        let start = *start as usize;
        if row.get(from..start) != template.get(from..start) {
            return false;
        }
        from = start + *length as usize;
    }
    from <= row.len() && row.get(from..) == template.get(from..row.len())
}

/// A line that is no row; at the end of the text it may lack its line feed.
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
    /// Whether a quote was found that nothing closes, so that what follows decides about the cells before it.
    open: bool,
}

impl Scan<'_> {
    /// How many cells of the row that begins at `start` the row at `at` begins with; they are moved there.
    fn repeat(&self, start: usize, at: usize, cells: &mut [(usize, usize)]) -> usize {
        let end = cells.last().map_or(start, |cell| cell.1 + 1);
        let same = common(self.text.get(start..end).unwrap_or_default(), self.text.get(at..).unwrap_or_default());
        let count = cells.partition_point(|cell| cell.1 < start + same);
        for cell in cells.iter_mut().take(count) {
            *cell = (cell.0 + at - start, cell.1 + at - start);
        }
        count
    }

    /// The row at `at`, of which `same` cells are known.
    fn row(&mut self, columns: usize, at: usize, last: bool, same: usize, cells: &mut Vec<(usize, usize)>) -> Piece {
        if at >= self.text.len() {
            return Piece::Rest;
        }
        let behind = cells.last().map(|cell| cell.1 + 1);
        let found = if same == columns { behind } else { self.cells(behind.unwrap_or(at), cells) };
        let Some(end) = found.or_else(|| last.then_some(self.text.len())) else {
            return stray(self.text, at, last);
        };
        if cells.len() == columns {
            return Piece::Row { end, missing: u8::from(found.is_none()), same, clear: !self.open };
        }
        stray(self.text, at, last)
    }

    /// Cuts a row into cells from `at`, where one begins; gives the offset behind its line feed, or `None` where the text
    /// ends before one.
    fn cells(&mut self, at: usize, cells: &mut Vec<(usize, usize)>) -> Option<usize> {
        let text = self.text;
        let mut start = at;
        let mut i = at;
        while let Some(byte) = text.get(i) {
            if *byte == self.separator {
                cells.push((start, i));
                start = i + 1;
            } else if *byte == b'\n' {
                cells.push((start, i));
                return Some(i + 1);
            } else if *byte == b'"'
                && self.quotes
                && text.get(start..i).is_some_and(|lead| lead.iter().all(|b| *b == b' '))
            {
                let close = closing(text, i + 1, self.multiline);
                self.open |= close.is_none();
                i = close.unwrap_or(i);
            }
            i += 1;
        }
        cells.push((start, text.len()));
        None
    }
}

/// Bytes that both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0).take_while(|(a, b)| a == b).count() * 16;
    let rest = a.get(words..).unwrap_or_default().iter().zip(b.get(words..).unwrap_or_default());
    words + rest.take_while(|(a, b)| a == b).count()
}

/// Cuts the row that begins at `at` into cells (start, end); gives the offset behind its line feed, or `None` where the text
/// ends before one (the cells so far are in the list).
pub fn cells_of(
    text: &[u8],
    at: usize,
    separator: u8,
    quotes: bool,
    multiline: bool,
    cells: &mut Vec<(usize, usize)>,
) -> Option<usize> {
    cells.clear();
    Scan { text, separator, quotes, multiline, open: false }.cells(at, cells)
}

/// The quote that closes the one before `from`.
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
