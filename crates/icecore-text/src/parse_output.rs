//! What text becomes: columns, escapes, and what the columns don't take.

use crate::escapes::Escapes;
use crate::format::Format;
use crate::infer::valueless;
use crate::values::Values;

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
}

impl Parsed {
    /// Nothing yet, with room for so many rows.
    pub(crate) fn new(format: &Format, rows: usize) -> Self {
        let none = vec![Misfits::default(); format.columns.len()];
        let columns = format.columns.iter().map(|c| c.values(rows)).collect();
        Parsed { columns, escapes: Escapes::default(), used: 0, lost: none.clone(), junk: none }
    }
}

/// Cells that a column doesn't take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfits {
    pub count: u64,
    /// How many of them don't say that they have no value (NA, NaN, null).
    pub words: u64,
    /// The row of the first.
    pub row: u32,
    /// The longest.
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
