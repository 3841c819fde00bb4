//! Printer of columns to rows of equal length.

use std::ops::Range;

use crate::escapes::Escapes;
use crate::grid::{Grid, STRIP, Slot};
use crate::style::digits::{Digits, Printed};
use crate::style::number::{from_double, from_doubles};
use crate::values::View;

/// Prints strips of a table one after another.
pub(crate) struct Printer<'a> {
    grid: &'a Grid<'a>,
    columns: &'a [View<'a>],
    escapes: &'a Escapes,
    /// A row with the cells that are equal in the whole strip.
    line: Vec<u8>,
    /// For each column, a bit for each row whose value does not fit its style.
    unfit: Vec<u64>,
    scratch: Vec<u8>,
}

impl<'a> Printer<'a> {
    pub fn new(grid: &'a Grid<'a>, columns: &'a [View<'a>], escapes: &'a Escapes) -> Self {
        let unfit = vec![0; columns.len()];
        Printer { grid, columns, escapes, line: grid.line.clone(), unfit, scratch: Vec::new() }
    }

    /// Appends at most [`STRIP`] rows with the escapes `special`; false (and nothing is appended) if one of them has
    /// another length, or has a value that can't be printed.
    pub fn strip(&mut self, rows: Range<usize>, special: &[(u32, u16, u32)], out: &mut Vec<u8>) -> bool {
        debug_assert!(rows.len() <= STRIP);
        let start = out.len();
        let mut varying = Vec::with_capacity(self.columns.len());
        for i in 0..self.columns.len() {
            if self.columns[i].constant(rows.clone()) {
                self.column(i, rows.start..rows.start + 1, None);
                // All rows are equal, so print the first one only.
                self.unfit[i] = if self.unfit[i] != 0 { !0 >> (64 - rows.len()) } else { 0 };
            } else {
                varying.push(i);
            }
        }
        for _ in rows.clone() {
            out.extend_from_slice(&self.line);
        }
        for i in varying {
            self.column(i, rows.clone(), Some(&mut out[start..]));
        }
        let done = self.special(rows.start, special, &mut out[start..]) && self.unfit.iter().all(|rows| *rows == 0);
        if !done {
            out.truncate(start);
        }
        done
    }

    /// Writes the escapes to their positions.
    fn special(&mut self, first: usize, special: &[(u32, u16, u32)], out: &mut [u8]) -> bool {
        for (row, column, text) in special {
            let (row, column) = (*row as usize - first, *column as usize);
            let (Some(slot), Some(text)) = (self.grid.slots.get(column), self.escapes.texts.get(*text as usize)) else {
                return false;
            };
            if text.len() != slot.end - slot.start {
                return false;
            }
            let start = row * self.line.len();
            out[start + slot.start..start + slot.end].copy_from_slice(text);
            self.unfit[column] &= !(1 << row);
        }
        true
    }

    /// Prints some rows of a column into `text`, or the first one into the line.
    fn column(&mut self, i: usize, rows: Range<usize>, text: Option<&mut [u8]>) {
        let slot = &self.grid.slots[i];
        let length = self.line.len();
        let text = text.unwrap_or(&mut self.line);
        self.unfit[i] = match (&slot.digits, self.columns[i]) {
            (Some(digits), View::Int(v)) => numbers(slot, digits, &v[rows], text, length),
            (Some(digits), View::Real(v)) => {
                let (values, mut wholes) = (&v[rows], [0; STRIP]);
                let unfit = wholes_of(values, slot.column.scale, &mut wholes);
                unfit | numbers(slot, digits, &wholes[..values.len()], text, length)
            }
            (_, values) => others(slot, self.grid.separator, values, rows, text, length, &mut self.scratch),
        };
    }
}

/// The printed integers of doubles; a bit for each double that has none.
fn wholes_of(values: &[f64], scale: u8, wholes: &mut [i64]) -> u64 {
    if from_doubles(values, scale, wholes) {
        return 0;
    }
    let mut unfit = 0;
    for (row, (value, whole)) in values.iter().zip(wholes).enumerate() {
        match from_double(*value, scale) {
            Some(k) => *whole = k,
            None => unfit |= 1 << row,
        }
    }
    unfit
}

/// Writes each number into its row; a bit for each that does not fit. A number equal to the previous one is not printed
/// again.
#[inline]
fn numbers(slot: &Slot<'_>, digits: &Digits, values: &[i64], text: &mut [u8], length: usize) -> u64 {
    let (start, end) = slot.body();
    let mut before: Option<(i64, Printed)> = None;
    let mut unfit = 0;
    for (row, (value, line)) in values.iter().zip(text.chunks_exact_mut(length)).enumerate() {
        let known = before.filter(|(then, _)| then == value).map(|(_, printed)| printed);
        match known.or_else(|| digits.print(*value)) {
            Some(printed) => {
                printed.put(&mut line[start..end]);
                before = Some((*value, printed));
            }
            None => unfit |= 1 << row,
        }
    }
    unfit
}

/// All other kinds, with the column's generic printer.
fn others(
    slot: &Slot<'_>,
    separator: u8,
    values: View<'_>,
    rows: Range<usize>,
    text: &mut [u8],
    length: usize,
    cell: &mut Vec<u8>,
) -> u64 {
    let mut unfit = 0;
    let mut fits = false;
    let first = rows.start;
    for (row, line) in rows.zip(text.chunks_exact_mut(length)) {
        if row == first || !values.same(row) {
            cell.clear();
            fits = slot.column.print(values, row, separator, cell) && cell.len() == slot.end - slot.start;
        }
        if fits {
            line[slot.start..slot.end].copy_from_slice(cell);
        } else {
            unfit |= 1 << (row - first);
        }
    }
    unfit
}
