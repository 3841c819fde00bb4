//! Whether columns are printed as a text has it, in rows of one length: each cell is compared without being put anywhere.

use std::ops::Range;

use crate::column::{Values, View};
use crate::digits::Digits;
use crate::grid::{Grid, STRIP, Slot};
use crate::grid_parse::Changes;
use crate::grid_print::wholes_of;

impl Grid<'_> {
    /// Whether `rows` of the columns, [`STRIP`] at most, are printed as `text` has them from `at` on; `changes` are those of
    /// these rows, or of some more. `cell` is room to work in.
    pub fn prints(
        &self,
        text: &[u8],
        at: usize,
        columns: &[Values],
        rows: Range<usize>,
        changes: &Changes,
        cell: &mut Vec<u8>,
    ) -> bool {
        let length = self.line.len();
        let block = &text[at..at + rows.len() * length];
        self.framed_rows(block, changes) == rows.len()
            && self.slots.iter().zip(columns).all(|(slot, values)| {
                let values = values.view();
                // Where neither cells nor values change one row tells of all.
                let alone = changes.none(slot.start, slot.end) && values.constant(rows.clone());
                let rows = if alone { rows.start..rows.start + 1 } else { rows.clone() };
                match (&slot.digits, values) {
                    (Some(digits), View::Int(v)) => numbers(slot, digits, &v[rows], text, (at, length)),
                    (Some(digits), View::Real(v)) => {
                        let (values, mut wholes) = (&v[rows], [0; STRIP]);
                        wholes_of(values, slot.column.scale, &mut wholes) == 0
                            && numbers(slot, digits, &wholes[..values.len()], text, (at, length))
                    }
                    (_, values) => others(slot, self.separator, values, rows, block.chunks_exact(length), cell),
                }
            })
    }
}

/// Whether numbers are printed as the rows from `at` on have them. One that is the same as the one before isn't printed again.
#[inline]
fn numbers(slot: &Slot<'_>, digits: &Digits, values: &[i64], text: &[u8], (at, length): (usize, usize)) -> bool {
    let end = at + slot.body().1;
    let Some((mut before, mut printed)) = values.first().and_then(|first| Some((*first, digits.print(*first)?))) else {
        return values.is_empty();
    };
    values.iter().enumerate().all(|(row, value)| {
        if *value != before {
            let Some(next) = digits.print(*value) else { return false };
            (before, printed) = (*value, next);
        }
        digits.stands(printed, text, end + row * length)
    })
}

/// The same for everything else, by the column's own way of printing.
fn others<'t>(
    slot: &Slot<'_>,
    separator: u8,
    values: View<'_>,
    rows: Range<usize>,
    lines: impl Iterator<Item = &'t [u8]>,
    cell: &mut Vec<u8>,
) -> bool {
    let first = rows.start;
    rows.zip(lines).all(|(row, line)| {
        if row == first || !values.same(row) {
            cell.clear();
            if !slot.column.print(values, row, separator, cell) {
                return false;
            }
        }
        cell.as_slice() == &line[slot.start..slot.end]
    })
}
