//! Measurements of one candidate.

use crate::analyzer::candidates::Candidate;

/// One candidate on one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    pub raw: u64,
    pub stored: u64,
    /// Seconds of CPU time.
    pub encode: f64,
    pub decode: f64,
    /// Of the stored bytes: the number of the list that encoded them, if a chain begins with a choice.
    pub first: u8,
}

/// Outcome of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Measured on every block of the run.
    Measured,
    /// Dropped, because it was too far behind.
    Pruned,
    /// Rejected a block, or did not reproduce it bit for bit.
    Failed(String),
}

/// A candidate and its figures, in the order of the blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    pub candidate: Candidate,
    pub figures: Vec<Figure>,
    pub state: State,
}

impl Measurement {
    pub fn stored(&self) -> u64 {
        self.figures.iter().map(|f| f.stored).sum()
    }

    pub fn raw(&self) -> u64 {
        self.figures.iter().map(|f| f.raw).sum()
    }

    /// Seconds to encode all blocks in `figures`, extrapolated from the median block: a single disturbed block has no
    /// effect.
    pub fn encode(&self) -> f64 {
        median(self.figures.iter().map(|f| f.encode / f.raw.max(1) as f64)) * self.raw() as f64
    }

    /// The same for decoding.
    pub fn decode(&self) -> f64 {
        median(self.figures.iter().map(|f| f.decode / f.raw.max(1) as f64)) * self.raw() as f64
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
