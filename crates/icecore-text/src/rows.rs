//! Text → rows and lines → cells.

use crate::format::Layout;

/// A row in quotes that goes on longer than this does not: its quotes are taken for text.
const MAX_QUOTED: usize = 1 << 20;

/// One stretch of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A row up to this offset; its cells are in the list. `missing`: bytes of its line end that the text doesn't have.
    Row { end: usize, missing: u8 },
    /// A line that is no row.
    Line { end: usize },
    /// Nothing whole is left.
    Rest,
}

fn line_end(text: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?.iter().position(|b| *b == b'\n').map(|n| from + n + 1)
}

/// The next stretch of `text` from `at`; the cells of a row go to `cells` as (start, end). `last`: nothing follows `text`.
pub(crate) fn next(
    layout: &Layout,
    columns: usize,
    text: &[u8],
    at: usize,
    last: bool,
    cells: &mut Vec<(usize, usize)>,
) -> Piece {
    match layout {
        Layout::Fixed { template, cells: fields } => fixed(template, fields, text, at, last, cells),
        Layout::Delimited { separator, quotes, multiline } => {
            delimited((*separator as u8, *quotes, *multiline), columns, text, at, last, cells)
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
        return Piece::Row { end: at + row.len(), missing: missing as u8 };
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

fn delimited(
    (separator, quotes, multiline): (u8, bool, bool),
    columns: usize,
    text: &[u8],
    at: usize,
    last: bool,
    cells: &mut Vec<(usize, usize)>,
) -> Piece {
    if at >= text.len() {
        return Piece::Rest;
    }
    let found = cells_of(text, at, separator, quotes, multiline, cells);
    let Some(end) = found.or_else(|| last.then_some(text.len())) else {
        return stray(text, at, last);
    };
    if cells.len() == columns {
        return Piece::Row { end, missing: u8::from(found.is_none()) };
    }
    stray(text, at, last)
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
    let mut start = at;
    let mut i = at;
    while let Some(byte) = text.get(i) {
        if *byte == separator {
            cells.push((start, i));
            start = i + 1;
        } else if *byte == b'\n' {
            cells.push((start, i));
            return Some(i + 1);
        } else if *byte == b'"' && quotes && text.get(start..i).is_some_and(|lead| lead.iter().all(|b| *b == b' ')) {
            i = closing(text, i + 1, multiline).unwrap_or(i);
        }
        i += 1;
    }
    cells.push((start, text.len()));
    None
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
