//! Rows of one length: which bytes belong to which cell.
//!
//! Cells behind those of the columns have no column: their bytes are the template's, or an escape. A cell that begins inside
//! another one is read like any other, but printed with that one.

use crate::cells::{ends, inside};
use crate::format::{Format, Layout};

/// Where rows of one length are the same, and what of them is printed.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// Bytes of the template that all rows have: (start, end), in order.
    pub gaps: Vec<(usize, usize)>,
    /// By cell: whether its bytes are printed with another one.
    pub inside: Vec<bool>,
    /// Where the last cell ends.
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

    /// Whether each byte of a row is that of one column or of none, so that rows can be read and printed by columns.
    pub fn plain(&self, columns: usize) -> bool {
        self.inside.len() == columns && !self.inside.contains(&true)
    }

    /// Whether a row, whose line end may be cut off, has all cells and the template's bytes between them.
    pub fn fits(&self, template: &[u8], row: &[u8]) -> bool {
        self.end <= row.len()
            && self.gaps.iter().all(|(start, end)| {
                let (start, end) = ((*start).min(row.len()), (*end).min(row.len()));
                row.get(start..end) == template.get(start..end)
            })
    }
}
