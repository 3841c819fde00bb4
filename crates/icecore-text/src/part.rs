//! Parser of one stretch of text on one thread.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::escapes::Gather;
use crate::fixed_width::Fixed;
use crate::format::{Format, Layout};
use crate::grid::parse::Changes;
use crate::grid::{Grid, STRIP};
use crate::parse_output::Parsed;
use crate::print::{Stretch, prints};
use crate::rows::{Piece, next};
use crate::style::column::Fit;
use crate::values::{Values, View};

/// Maximum number of rows that are parsed cell by cell before the fast path for rows of equal length is tried again.
const MAX_PAUSE: usize = 256;

/// Parses `text`. `checked`: the printed columns are compared with it.
///
/// # Errors
/// `Internal` if they differ.
pub(crate) fn part(format: &Format, text: &[u8], last: bool, checked: bool) -> Result<Parsed> {
    let mut part = Part {
        format,
        fixed: Fixed::of(format),
        text,
        last,
        parsed: Parsed::new(format, text.len() / guess_row(format).max(1) + 1),
        gather: Gather::default(),
        before: Vec::new(),
        unfit: false,
        cells: Vec::new(),
        known: None,
        apart: Vec::new(),
    };
    let same = part.run(checked);
    let rows = part.rows();
    part.parsed.columns.iter_mut().for_each(|values| values.fill(rows));
    part.parsed.escapes = std::mem::take(&mut part.gather.escapes);
    if checked && !(same && part.prints_apart()) {
        let message = format!("a block of {rows} rows is not printed again as it was");
        return Err(
            Error::new(ErrorKind::Internal, message).hint("please report it; --no-restore packs its values alone")
        );
    }
    Ok(part.parsed)
}

fn guess_row(format: &Format) -> usize {
    match &format.layout {
        Layout::Fixed { template, .. } => template.len(),
        Layout::Delimited { .. } => format.columns.len() * 6,
    }
}

/// A cell of the previous row.
#[derive(Clone, Copy)]
struct Before {
    cell: (usize, usize),
    fit: Fit,
    text: u32,
}

struct Part<'a> {
    format: &'a Format,
    fixed: Option<Fixed>,
    text: &'a [u8],
    last: bool,
    parsed: Parsed,
    gather: Gather,
    before: Vec<Before>,
    /// Whether any cell was an escape.
    unfit: bool,
    /// The cells of the previous row, and its start if it had no open quotes.
    cells: Vec<(usize, usize)>,
    known: Option<usize>,
    /// The part of the text that was parsed cell by cell.
    apart: Vec<Stretch>,
}

impl Part<'_> {
    fn rows(&self) -> usize {
        self.gather.escapes.rows as usize
    }

    /// Parses everything; with `checked`, false as soon as a strip is not printed the same.
    fn run(&mut self, checked: bool) -> bool {
        let grid = Grid::of(self.format);
        let (mut changes, mut cell) = (Changes::default(), Vec::new());
        // Number of rows until the fast path is tried again; it grows with each failure.
        let (mut plain, mut pause) = (0, 1);
        loop {
            if let Some(grid) = grid.as_ref().filter(|_| plain == 0) {
                let (rows, at) = (self.rows(), self.parsed.used);
                let good = self.strip(grid, &mut changes);
                // While text and values are in a cache.
                let block = &self.text[at..self.parsed.used];
                if checked && !grid.prints(block, &self.parsed.columns, &(rows..rows + good), &changes, &mut cell) {
                    return false;
                }
                pause = if good > 0 { 1 } else { (pause * 2).min(MAX_PAUSE) };
                if good == STRIP {
                    continue;
                }
                plain = pause;
            }
            plain = plain.saturating_sub(1);
            if !self.next() {
                return true;
            }
        }
    }

    /// Parses whole columns of the next rows, as long as their styles print them the same; returns their number.
    fn strip(&mut self, grid: &Grid<'_>, changes: &mut Changes) -> usize {
        let rows = self.rows();
        self.parsed.columns.iter_mut().for_each(|values| values.fill(rows));
        let good = grid.parse(self.text, self.parsed.used, &mut self.parsed.columns, changes);
        if good > 0 {
            self.gather.escapes.rows += good as u32;
            self.gather.escapes.missing = 0;
            self.parsed.used += good * grid.line.len();
            self.before.clear();
            self.known = None;
        }
        good
    }

    /// Parses the next row or line; false at the end.
    fn next(&mut self) -> bool {
        let (rows, at) = (self.rows(), self.parsed.used);
        match next(self.format, self.fixed.as_ref(), self.text, at, self.last, self.known, &mut self.cells) {
            Piece::Row { end, missing, same, clear } => {
                self.row(same);
                self.free(at);
                self.known = clear.then_some(at);
                self.gather.escapes.rows += 1;
                self.gather.escapes.missing = missing;
                self.parsed.used = end;
            }
            Piece::Line { end } => {
                let line = self.text.get(at..end).unwrap_or_default().to_vec();
                self.gather.escapes.lines.push((self.gather.escapes.rows, line));
                self.known = None;
                self.parsed.used = end;
            }
            Piece::Rest => return false,
        }
        let (stop, end) = (self.rows(), self.parsed.used);
        match self.apart.last_mut().filter(|stretch| stretch.text.end == at) {
            Some(stretch) => *stretch = Stretch { rows: stretch.rows.start..stop, text: stretch.text.start..end },
            None => self.apart.push(Stretch { rows: rows..stop, text: at..end }),
        }
        true
    }

    /// Parses the cells of a row; the first `known` equal those of the previous row.
    fn row(&mut self, known: usize) {
        let first = self.before.is_empty();
        // A cell equal to that of the previous row is skipped: its column is filled up when the next different one
        // comes.
        let begin = if self.unfit { 0 } else { known };
        for i in begin..self.cells.len().min(self.format.columns.len()) {
            let (start, end) = self.cells[i];
            let cell = self.text.get(start..end).unwrap_or_default();
            let old = self.before.get(i).copied().filter(|_| !first);
            let same = old.filter(|old| self.text.get(old.cell.0..old.cell.1) == Some(cell));
            if same.is_none_or(|old| old.fit != Fit::Exact) {
                self.cell(i, start..end, same);
            }
        }
    }

    /// Stores the bytes of the next row, which begins at `at`, that belong to no column and differ from the template.
    fn free(&mut self, at: usize) {
        let Layout::Fixed { template, .. } = &self.format.layout else { return };
        let row = self.gather.escapes.rows;
        for (i, (start, end)) in self.cells.iter().enumerate().skip(self.format.columns.len()) {
            let bytes = self.text.get(*start..*end).unwrap_or_default();
            if template.get(start - at..end - at) != Some(bytes) {
                let text = self.gather.text(bytes);
                self.gather.escapes.cells.push((row, i as u16, text));
            }
        }
    }

    /// Parses a cell of the next row; if a cell of the previous row is given, both are equal.
    fn cell(&mut self, i: usize, place: Range<usize>, same: Option<Before>) {
        let rows = self.gather.escapes.rows;
        let cell = self.text.get(place.clone()).unwrap_or_default();
        let (Some(column), Some(values)) = (self.format.columns.get(i), self.parsed.columns.get_mut(i)) else { return };
        let (fit, known) = match same {
            Some(old) => (old.fit, Some(old.text)),
            None => {
                values.fill(rows as usize);
                (column.read(cell, self.format.separator(), values), None)
            }
        };
        let mut text = 0;
        let inside = self.fixed.as_ref().is_some_and(|fixed| fixed.inside[i]);
        if fit != Fit::Exact && !inside {
            self.unfit = true;
            text = known.unwrap_or_else(|| self.gather.text(cell));
            self.gather.escapes.cells.push((rows, i as u16, text));
        }
        match fit {
            Fit::Lost => self.parsed.lost[i].add(rows, cell),
            Fit::Junk => self.parsed.junk[i].add(rows, cell),
            Fit::Exact | Fit::Escape => {}
        }
        let now = Before { cell: (place.start, place.end), fit, text };
        match self.before.get_mut(i) {
            Some(slot) => *slot = now,
            None => self.before.push(now),
        }
    }

    /// Whether the part that was parsed cell by cell is printed the same.
    fn prints_apart(&self) -> bool {
        let views: Vec<View<'_>> = self.parsed.columns.iter().map(Values::view).collect();
        prints(self.format, &views, &self.parsed.escapes, &self.apart, self.text).is_ok_and(|same| same)
    }
}
