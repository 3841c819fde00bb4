//! Text → columns and escapes.

use icecore_grid::{Error, ErrorKind, Result};
use rayon::prelude::*;

use crate::column::{Fit, Values, View};
use crate::escapes::{Escapes, Gather};
use crate::format::{Format, Layout};
use crate::grid::{Grid, STRIP};
use crate::grid_parse::Changes;
use crate::print::prints;
use crate::rows::{Piece, next};

/// Text of this size is worth a thread.
const SHARE: usize = 1 << 20;

/// The most rows that are read cell by cell before whole columns of rows of one length are tried again.
const MAX_PAUSE: usize = 256;

/// A block of text as columns.
#[derive(Debug)]
pub struct Parsed {
    pub columns: Vec<Values>,
    pub escapes: Escapes,
    /// Bytes of the block that were taken; the rest begins a row that the block doesn't end.
    pub used: usize,
    /// By column: cells whose value its array can't hold.
    pub lost: Vec<Misfits>,
    /// By column: cells that hold no value of its kind.
    pub junk: Vec<Misfits>,
    /// Whether any cell was an escape.
    unfit: bool,
}

/// Cells that a column doesn't take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfits {
    pub count: u64,
    /// The row of the first.
    pub row: u32,
    /// The longest.
    pub longest: Vec<u8>,
}

impl Misfits {
    fn add(&mut self, row: u32, cell: &[u8]) {
        if self.count == 0 {
            self.row = row;
        }
        self.count += 1;
        if cell.len() > self.longest.len() {
            self.longest = cell.to_vec();
        }
    }

    fn append(&mut self, other: Misfits, rows: u32) {
        if self.count == 0 {
            self.row = other.row + rows;
        }
        self.count += other.count;
        if other.longest.len() > self.longest.len() {
            self.longest = other.longest;
        }
    }
}

/// Reads the rows of `text`, on all threads of the pool that it is called in. `last`: no text follows.
///
/// # Errors
/// `Unsupported` for blocks of 2^32 bytes and more.
pub fn parse(format: &Format, text: &[u8], last: bool) -> Result<Parsed> {
    parse_with(format, text, |part, last, room| Ok(part_of(format, part, last, room)), last)
}

/// The same, and all of it is printed again and compared with the text.
///
/// # Errors
/// Also `Internal` where that is not the same.
pub fn parse_checked(format: &Format, text: &[u8], last: bool) -> Result<Parsed> {
    parse_with(format, text, |part, last, room| checked(format, part, part_of(format, part, last, room)), last)
}

fn checked(format: &Format, text: &[u8], parsed: Parsed) -> Result<Parsed> {
    let views: Vec<View<'_>> = parsed.columns.iter().map(Values::view).collect();
    let text = text.get(..parsed.used).unwrap_or_default();
    if prints(format, &views, &parsed.escapes, text).is_ok_and(|same| same) {
        return Ok(parsed);
    }
    let message = format!("a block of {} rows is not printed again as it was", parsed.escapes.rows);
    Err(Error::new(ErrorKind::Internal, message).hint("please report it; --no-restore packs its values alone"))
}

fn parse_with(
    format: &Format,
    text: &[u8],
    each: impl Fn(&[u8], bool, usize) -> Result<Parsed> + Sync,
    last: bool,
) -> Result<Parsed> {
    if u32::try_from(text.len()).is_err() {
        return Err(Error::new(ErrorKind::Unsupported, "a block of text of 4 GiB or more").hint("smaller blocks"));
    }
    let parts = shares(format, text);
    let count = parts.len();
    let parsed: Vec<Parsed> = parts
        .into_par_iter()
        .enumerate()
        .map(|(i, part)| {
            // The first takes in the others.
            let room = if i == 0 { text.len() } else { part.len() };
            each(part, last && i + 1 == count, room)
        })
        .collect::<Result<_>>()?;
    Ok(join(format, parsed))
}

/// Cuts the text behind line ends, a part for each thread.
fn shares<'a>(format: &Format, text: &'a [u8]) -> Vec<&'a [u8]> {
    let one_piece = match &format.layout {
        Layout::Delimited { multiline, .. } => *multiline,
        Layout::Fixed { template, .. } => template.last() != Some(&b'\n'),
    };
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

fn join(format: &Format, parsed: Vec<Parsed>) -> Parsed {
    let mut parts = parsed.into_iter();
    let mut gather = Gather::default();
    let Some(mut all) = parts.next() else {
        let columns = format.columns.iter().map(|c| c.values(0)).collect();
        return Parsed {
            columns,
            escapes: Escapes::default(),
            used: 0,
            lost: none(format),
            junk: none(format),
            unfit: false,
        };
    };
    gather.append(std::mem::take(&mut all.escapes));
    for part in parts {
        let rows = gather.escapes.rows;
        for (mine, other) in all.columns.iter_mut().zip(part.columns) {
            mine.append(other);
        }
        for (mine, other) in all.lost.iter_mut().zip(part.lost).chain(all.junk.iter_mut().zip(part.junk)) {
            mine.append(other, rows);
        }
        gather.append(part.escapes);
        all.used += part.used;
    }
    Parsed { escapes: gather.escapes, ..all }
}

/// A cell of the row before.
#[derive(Clone, Copy)]
struct Before {
    cell: (usize, usize),
    fit: Fit,
    text: u32,
}

/// Parses one part, with room for the rows of so many bytes.
fn part_of(format: &Format, text: &[u8], last: bool, room: usize) -> Parsed {
    let guess = room / guess_row(format).max(1) + 1;
    let mut parsed = Parsed {
        columns: format.columns.iter().map(|c| c.values(guess)).collect(),
        escapes: Escapes::default(),
        used: 0,
        lost: none(format),
        junk: none(format),
        unfit: false,
    };
    let mut gather = Gather::default();
    let mut before: Vec<Before> = Vec::new();
    let mut cells = Vec::new();
    let mut known = None;
    let (grid, mut changes) = (Grid::of(format), Changes::default());
    // Rows until whole columns are tried again: the more, the more often that was in vain.
    let (mut plain, mut pause) = (0, 1);
    loop {
        if let Some(grid) = grid.as_ref().filter(|_| plain == 0) {
            let rows = gather.escapes.rows as usize;
            parsed.columns.iter_mut().for_each(|values| values.fill(rows));
            let good = grid.parse(text, parsed.used, &mut parsed.columns, &mut changes);
            if good > 0 {
                gather.escapes.rows += good as u32;
                gather.escapes.missing = 0;
                parsed.used += good * grid.line.len();
                before.clear();
                known = None;
            }
            pause = if good > 0 { 1 } else { (pause * 2).min(MAX_PAUSE) };
            if good == STRIP {
                continue;
            }
            plain = pause;
        }
        plain = plain.saturating_sub(1);
        match next(&format.layout, format.columns.len(), text, parsed.used, last, known, &mut cells) {
            Piece::Row { end, missing, same, clear } => {
                row(format, text, &cells, same, &mut before, &mut parsed, &mut gather);
                known = clear.then_some(parsed.used);
                gather.escapes.rows += 1;
                gather.escapes.missing = missing;
                parsed.used = end;
            }
            Piece::Line { end } => {
                let line = text.get(parsed.used..end).unwrap_or_default().to_vec();
                gather.escapes.lines.push((gather.escapes.rows, line));
                known = None;
                parsed.used = end;
            }
            Piece::Rest => break,
        }
    }
    let rows = gather.escapes.rows as usize;
    parsed.columns.iter_mut().for_each(|values| values.fill(rows));
    parsed.escapes = gather.escapes;
    parsed
}

fn none(format: &Format) -> Vec<Misfits> {
    vec![Misfits::default(); format.columns.len()]
}

fn guess_row(format: &Format) -> usize {
    match &format.layout {
        Layout::Fixed { template, .. } => template.len(),
        Layout::Delimited { .. } => format.columns.len() * 6,
    }
}

fn row(
    format: &Format,
    text: &[u8],
    cells: &[(usize, usize)],
    known: usize,
    before: &mut Vec<Before>,
    parsed: &mut Parsed,
    gather: &mut Gather,
) {
    let separator = format.separator();
    let first = before.is_empty();
    // A cell that is that of the row before is left alone: its column is filled up when the next one differs.
    let begin = if parsed.unfit { 0 } else { known };
    let rows = gather.escapes.rows as usize;
    for (i, (column, (start, end))) in format.columns.iter().zip(cells).enumerate().skip(begin) {
        let cell = text.get(*start..*end).unwrap_or_default();
        let Some(values) = parsed.columns.get_mut(i) else { continue };
        let old = before.get(i).copied().filter(|_| !first);
        let same = old.is_some_and(|old| text.get(old.cell.0..old.cell.1) == Some(cell));
        let (fit, known) = match old.filter(|_| same) {
            Some(old) if old.fit == Fit::Exact => continue,
            Some(old) => (old.fit, Some(old.text)),
            None => {
                values.fill(rows);
                (column.read(cell, separator, values), None)
            }
        };
        let mut id = 0;
        if fit != Fit::Exact {
            parsed.unfit = true;
            id = known.unwrap_or_else(|| gather.text(cell));
            gather.escapes.cells.push((gather.escapes.rows, i as u16, id));
        }
        match fit {
            Fit::Lost => parsed.lost[i].add(gather.escapes.rows, cell),
            Fit::Junk => parsed.junk[i].add(gather.escapes.rows, cell),
            Fit::Exact | Fit::Escape => {}
        }
        let now = Before { cell: (*start, *end), fit, text: id };
        match before.get_mut(i) {
            Some(slot) => *slot = now,
            None => before.push(now),
        }
    }
}
