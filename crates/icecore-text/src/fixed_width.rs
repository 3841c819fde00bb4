//! Rows of equal length: assignment of bytes to cells.
//!
//! Cells after those of the columns have no column: their bytes are the template's, or an escape. A cell that begins
//! inside another one is parsed like any other, but printed with that one.

use crate::cells::{ends, inside};
use crate::format::{Format, Layout};

/// Ranges of rows of equal length: those that are constant, and those that are printed.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// Template bytes that all rows share: (start, end), in order.
    pub gaps: Vec<(usize, usize)>,
    /// For each cell, whether another cell prints its bytes.
    pub inside: Vec<bool>,
    /// End of the last cell.
    end: usize,
}

impl Fixed {
    /// `None` for rows of other layouts.
    pub fn of(format: &Format) -> Option<Fixed> {
        let Layout::Fixed { template, cells, .. } = &format.layout else { return None };
        let inside = inside(cells);
        let mut printed: Vec<(usize, usize)> =
            cells.iter().zip(&inside).filter(|(_, inside)| !**inside).map(|(cell, _)| ends(*cell)).collect();
        printed.sort_unstable();
        let starts = std::iter::once(0).chain(printed.iter().map(|cell| cell.1));
        let stops = printed.iter().map(|cell| cell.0).chain(std::iter::once(template.len()));
        let gaps = starts.zip(stops).filter(|(start, stop)| start < stop).collect();
        let end = printed.last().map_or(0, |cell| cell.1);
        Some(Fixed { gaps, inside, end })
    }

    /// Whether each byte of a row belongs to at most one column, so that rows can be parsed and printed by columns.
    pub fn plain(&self, columns: usize) -> bool {
        self.inside.len() == columns && !self.inside.contains(&true)
    }

    /// Whether a row, possibly without its line end, has all cells and the template's bytes between them. Several lines
    /// aren't one row, even if they are as long together.
    pub fn fits(&self, template: &[u8], row: &[u8]) -> bool {
        self.end <= row.len()
            && (template.last() != Some(&b'\n') || !row.iter().take(template.len() - 1).any(|b| *b == b'\n'))
            && self.gaps.iter().all(|(start, end)| {
                let (start, end) = ((*start).min(row.len()), (*end).min(row.len()));
                row.get(start..end) == template.get(start..end)
            })
    }
}
