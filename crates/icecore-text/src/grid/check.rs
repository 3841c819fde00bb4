//! Check that columns print the original text of rows of equal length, as far as the parser has not checked it.

use std::ops::Range;

use crate::grid::parse::Changes;
use crate::grid::{Grid, Slot};
use crate::values::{Values, View};

impl Grid<'_> {
    /// Whether `rows` of the columns are printed as in `block`, whose `changes` are known (possibly for more rows).
    /// Numbers that are processed as words were printed and compared when they were parsed. `cell` is a scratch buffer.
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
                // If neither cells nor values change, one row is enough.
                let alone = changes.none(slot.start, slot.end) && values.constant(rows.clone());
                let rows = if alone { rows.start..rows.start + 1 } else { rows.clone() };
                printed(slot, self.separator, values, rows, lines(), cell)
            })
    }
}

/// Whether the column's generic printer gives its cells of `lines`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Layout};
    use crate::infer::{Hint, infer_style};
    use crate::parse::parse;

    #[test]
    fn other_words_and_literals_are_told_apart() {
        let row = |i: usize| format!("\"{:<4}\",{:>6}\n", ["ab", "c"][i / 9 % 2], i);
        let text = format!("# as long as 17 bytes\n{}", (0..40).map(row).collect::<String>()).into_bytes();
        let (head, length) = (22, 14);
        let column = |cells: &[&[u8]], hint| infer_style("n", cells, hint, false, None, b',');
        let columns = vec![column(&[b"\"ab  \"", b"\"c   \""], Hint::Words), column(&[b"     1"], Hint::Number)];
        let layout = Layout::Delimited { separator: ',', quotes: true, multiline: false };
        let format = Format { layout, columns };
        let grid = Grid::of(&format).unwrap();
        let mut parsed = parse(&format, &text, true).unwrap().columns;
        let mut again = parsed.clone();
        again.iter_mut().for_each(|values| values.truncate(0));
        let mut changes = Changes::default();
        assert_eq!(grid.parse(&text, head, &mut again, &mut changes), 40);
        let same =
            |text: &[u8], columns: &[Values]| grid.prints(&text[head..], columns, &(0..40), &changes, &mut Vec::new());
        assert!(same(&text, &parsed));
        for at in [head + 1, head + 6, head + 30 * length + 2, head + length - 1] {
            let mut other = text.clone();
            other[at] ^= 1;
            assert!(!same(&other, &parsed), "{at}");
        }
        let Values::Text { bytes, .. } = &mut parsed[0] else { panic!("words") };
        bytes[0] ^= 1;
        assert!(!same(&text, &parsed));
    }
}
