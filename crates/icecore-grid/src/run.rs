//! Loops of a copy. Offsets count elements: of the C-order chunk, and of the output.

use std::sync::Arc;

/// Irregular positions: entry p is at `index[p·k …]` (within the chunk, one per axis of `axes`, k of them) and goes to
/// `dst[p]`. One table serves all chunks of a selection; a run is a window of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scatter {
    pub axes: Vec<usize>,
    pub index: Vec<u64>,
    pub dst: Vec<u64>,
}

impl Scatter {
    /// Source offset of an entry in a chunk with these strides.
    pub fn source(&self, entry: usize, strides: &[u64]) -> u64 {
        let k = self.axes.len();
        let index = &self.index[entry * k..(entry + 1) * k];
        self.axes.iter().zip(index).map(|(&axis, &at)| at * strides[axis]).sum()
    }
}

/// One loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Run {
    /// `n` ≥ 2 elements at equal distances. The source always ascends.
    Step { n: u64, src: u64, dst: i64 },
    /// Entries `lo … lo + n` of a table, `n` ≥ 2.
    Scatter { table: Arc<Scatter>, lo: usize, n: usize },
}
