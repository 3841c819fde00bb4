//! Whether columns are printed as a text has it, in rows of one length: what the parser doesn't see to itself.

use std::ops::Range;

use crate::column::{Values, View};
use crate::grid::{Grid, Slot};
use crate::grid_parse::Changes;

impl Grid<'_> {
    /// Whether `rows` of the columns are printed as `block` has them, of which `changes` are known (or those of some more rows).
    /// Numbers that are handled as words were printed and compared when they were read. `cell` is room to work in.
    pub fn prints(
        &self,
        block: &[u8],
        columns: &[Values],
        rows: &Range<usize>,
        changes: &Changes,
        cell: &mut Vec<u8>,
    ) -> bool {
        let lines = || block.chunks_exact(self.line.len());
        let others = self.slots.iter().zip(columns).filter(|(slot, _)| slot.digits.is_none());
        self.framed_rows(block, changes) == rows.len()
            && others.into_iter().all(|(slot, values)| {
                let values = values.view();
                // Where neither cells nor values change one row tells of all.
                let alone = changes.none(slot.start, slot.end) && values.constant(rows.clone());
                let rows = if alone { rows.start..rows.start + 1 } else { rows.clone() };
                printed(slot, self.separator, values, rows, lines(), cell)
            })
    }
}

/// Whether a column's own way of printing gives its cells of `lines`.
fn printed<'t>(
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
