//! Output of the parser: columns, escapes, and counts of cells that the columns could not store.

use crate::escapes::Escapes;
use crate::format::Format;
use crate::infer::valueless;
use crate::values::Values;

/// A block of text as columns.
#[derive(Debug)]
pub struct Parsed {
    pub columns: Vec<Values>,
    pub escapes: Escapes,
    /// Number of bytes parsed; the rest begins a row that the block does not complete.
    pub used: usize,
    /// For each column, the cells whose value does not fit its array.
    pub lost: Vec<Misfits>,
    /// For each column, the cells without a value of its type.
    pub junk: Vec<Misfits>,
}

impl Parsed {
    /// An empty block with capacity for this many rows.
    pub(crate) fn new(format: &Format, rows: usize) -> Self {
        let none = vec![Misfits::default(); format.columns.len()];
        let columns = format.columns.iter().map(|c| c.values(rows)).collect();
        Parsed { columns, escapes: Escapes::default(), used: 0, lost: none.clone(), junk: none }
    }
}

/// Cells that a column could not store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfits {
    pub count: u64,
    /// Number of them that are not a missing-value marker (NA, NaN, null).
    pub words: u64,
    /// Row of the first one.
    pub row: u32,
    /// Length of the longest one.
    pub longest: Vec<u8>,
}

impl Misfits {
    pub(crate) fn add(&mut self, row: u32, cell: &[u8]) {
        if self.count == 0 {
            self.row = row;
        }
        self.count += 1;
        self.words += u64::from(!valueless(cell));
        if cell.len() > self.longest.len() {
            self.longest = cell.to_vec();
        }
    }

    pub(crate) fn append(&mut self, other: Misfits, rows: u32) {
        if self.count == 0 {
            self.row = other.row + rows;
        }
        self.count += other.count;
        self.words += other.words;
        if other.longest.len() > self.longest.len() {
            self.longest = other.longest;
        }
    }
}
