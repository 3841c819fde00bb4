//! Rows of equal length with cells at fixed positions: columns are printed and parsed one after another.

pub(crate) mod check;
pub(crate) mod parse;
pub(crate) mod print;

use crate::fixed_width::Fixed;
use crate::format::{Format, Layout};
use crate::style::column::{Column, Style};
use crate::style::digits::Digits;

/// Rows per strip: one bit per row in a word, and their text fits the first-level cache.
pub(crate) const STRIP: usize = 64;

/// Position of a column's cells in a row, and their processing.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    pub column: &'a Column,
    pub start: usize,
    pub end: usize,
    pub digits: Option<Digits>,
}

impl Slot<'_> {
    /// The number inside its literals.
    pub fn body(&self) -> (usize, usize) {
        (self.start + self.column.frame.lead.len(), self.end - self.column.frame.tail.len())
    }
}

/// Positions of all cells of a format with such rows.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub slots: Vec<Slot<'a>>,
    /// A row with only its constant bytes; the others are spaces.
    pub line: Vec<u8>,
    /// 0xff for each byte that must equal that of `line`.
    pub mask: Vec<u8>,
    pub separator: u8,
    /// Whether separators and quotes matter.
    pub delimited: bool,
}

impl<'a> Grid<'a> {
    /// `None` if the length of rows depends on their values.
    pub fn of(format: &'a Format) -> Option<Grid<'a>> {
        let separator = format.separator();
        let delimited = matches!(format.layout, Layout::Delimited { .. });
        if Fixed::of(format).is_some_and(|fixed| !fixed.plain(format.columns.len())) {
            return None;
        }
        let (line, places) = match &format.layout {
            Layout::Fixed { template, cells, .. } => {
                let places = cells.iter().map(|(start, length)| (*start as usize, (*start + *length) as usize));
                (template.clone(), places.collect())
            }
            Layout::Delimited { .. } => delimited_line(format).filter(|_| told_apart(format))?,
        };
        let slots = format.columns.iter().zip(places).map(|(column, (start, end))| {
            let framed = column.length().is_some_and(|length| length == end - start);
            Slot { column, start, end, digits: Digits::of(column).filter(|_| framed) }
        });
        let mut grid = Grid { slots: slots.collect(), mask: vec![0xff; line.len()], line, separator, delimited };
        grid.literals();
        (!grid.line.is_empty()).then_some(grid)
    }

    /// Writes the literals of numbers into the line, and removes all other bytes of cells from the mask.
    fn literals(&mut self) {
        for slot in &self.slots {
            self.mask[slot.start..slot.end].fill(0);
            if slot.digits.is_none() {
                continue;
            }
            let (start, end) = slot.body();
            self.line[slot.start..slot.end].fill(b' ');
            self.line[slot.start..start].copy_from_slice(&slot.column.frame.lead);
            self.line[end..slot.end].copy_from_slice(&slot.column.frame.tail);
            self.mask[slot.start..start].fill(0xff);
            self.mask[end..slot.end].fill(0xff);
        }
    }
}

type Places = Vec<(usize, usize)>;

fn delimited_line(format: &Format) -> Option<(Vec<u8>, Places)> {
    let mut line = Vec::new();
    let mut places = Vec::with_capacity(format.columns.len());
    for column in &format.columns {
        let start = line.len();
        line.resize(start + column.length()?, b' ');
        places.push((start, line.len()));
        line.push(format.separator());
    }
    *line.last_mut()? = b'\n';
    Some((line, places))
}

/// Whether cells are unambiguous at any position: separators are not part of numbers or literals, quotes come in pairs.
fn told_apart(format: &Format) -> bool {
    let separator = format.separator();
    let quotes = |literal: &[u8]| literal.iter().filter(|b| **b == b'"').count();
    let sound = |column: &Column| {
        let (lead, tail) = (&column.frame.lead, &column.frame.tail);
        quotes(lead) == quotes(tail)
            && quotes(lead) <= 1
            && lead.iter().chain(tail).all(|b| *b != separator && *b != b'\n')
    };
    !separator.is_ascii_alphanumeric()
        && !matches!(separator, b' ' | b'.' | b'-' | b'+' | b':')
        && format.columns.iter().all(sound)
}

impl Column {
    /// Length of a cell in bytes, if it is constant.
    fn length(&self) -> Option<usize> {
        let body = match (&self.style, self.frame.width as usize) {
            (Style::Time(style), 0) => style.length()?,
            (_, 0) => return None,
            (_, width) => width,
        };
        Some(self.frame.lead.len() + body + self.frame.tail.len())
    }
}
