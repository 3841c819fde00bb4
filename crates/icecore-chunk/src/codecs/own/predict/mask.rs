//! Mask: one very frequent value (land, fill, zero), stored as runs and skipped by predictions.

use icecore_grid::Result;

use super::side_data::{NAME, Side, put_list};
use crate::codecs::word::Word;
use crate::errors::corrupt;

/// Positions of the value, as alternating lengths of runs; the first run is of other elements.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mask<W> {
    value: W,
    runs: Vec<u64>,
    /// Elements with another value.
    pub others: usize,
}

/// Number of counters, shared by hashed values: a quick test whether any value is frequent.
const COUNTERS: usize = 4096;
/// Number of elements sampled to find the most frequent value.
const SAMPLE: usize = 2048;
/// A mask pays if at least one element of this many has the value.
const RARE: usize = 32;

/// Whether any value may be frequent enough. Values that share a counter may cause false positives.
fn is_any_frequent<W: Word>(sample: &[W]) -> bool {
    let mut counts = [0u16; COUNTERS];
    let mut most = 0;
    for word in sample {
        let place = word.to_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - COUNTERS.trailing_zeros());
        let count = &mut counts[place as usize];
        *count = count.saturating_add(1);
        most = most.max(*count);
    }
    usize::from(most) * RARE > sample.len()
}

/// Alternating lengths of runs: elements with another value, elements with this value.
fn lengths<W: Word>(words: &[W], value: W) -> Vec<u64> {
    /// Elements that are compared together: most of them continue the current run.
    const TOGETHER: usize = 32;
    let (mut runs, mut kind, mut len) = (Vec::new(), false, 0u64);
    for block in words.chunks(TOGETHER) {
        if block.iter().fold(true, |same, word| same & ((*word == value) == kind)) {
            len += block.len() as u64;
            continue;
        }
        for word in block {
            if (*word == value) != kind {
                runs.push(std::mem::take(&mut len));
                kind = !kind;
            }
            len += 1;
        }
    }
    runs.push(len);
    runs
}

/// Iterates over the runs of a mask.
pub(super) struct Runs<'a> {
    lengths: &'a [u64],
    taken: usize,
    at: usize,
    left: usize,
}

impl Runs<'_> {
    /// The next run, or its part before `end`, and whether its elements have the value.
    pub fn before(&mut self, end: usize) -> Option<(std::ops::Range<usize>, bool)> {
        while self.left == 0 {
            self.left = *self.lengths.get(self.taken)? as usize;
            self.taken += 1;
        }
        let len = self.left.min(end.saturating_sub(self.at));
        let run = self.at..self.at + len;
        self.at += len;
        self.left -= len;
        (len > 0).then_some((run, self.taken.is_multiple_of(2)))
    }
}

impl<W: Word> Mask<W> {
    /// The mask of the most frequent value; `None` if no value is frequent, or all elements are equal.
    pub fn find(words: &[W]) -> Option<Mask<W>> {
        let step = (words.len() / SAMPLE).max(1);
        let mut sample: Vec<W> = words.iter().copied().step_by(step).collect();
        if !is_any_frequent(&sample) {
            return None;
        }
        sample.sort_unstable();
        let longest = sample.chunk_by(|a, b| a == b).max_by_key(|run| run.len())?;
        let value = *longest.first().filter(|_| longest.len() * RARE > sample.len() && longest.len() > 1)?;
        let runs = lengths(words, value);
        let others = runs.iter().step_by(2).sum::<u64>() as usize;
        (others > 0 && others < words.len()).then_some(Mask { value, runs, others })
    }

    /// The serialised mask.
    pub fn written(&self) -> Result<Vec<u8>> {
        let mut out = self.value.to_u64().to_le_bytes()[..size_of::<W>()].to_vec();
        put_list(&mut out, &self.runs)?;
        Ok(out)
    }

    /// Reads the mask of a chunk of `count` elements.
    pub fn read(side: &mut Side, count: usize) -> Result<Mask<W>> {
        let mut bits = [0; 8];
        bits[..size_of::<W>()].copy_from_slice(side.bytes(size_of::<W>())?);
        let runs = side.list(count.saturating_add(1))?;
        let total = runs.iter().try_fold(0u64, |n, run| n.checked_add(*run));
        if total != Some(count as u64) {
            return Err(corrupt(NAME, format!("a mask of {total:?} elements in a chunk of {count}")));
        }
        let others = runs.iter().step_by(2).sum::<u64>() as usize;
        Ok(Mask { value: W::from_u64(u64::from_le_bytes(bits)), runs, others })
    }

    /// An iterator over the runs, in parts of any length.
    pub fn runs(&self) -> Runs<'_> {
        Runs { lengths: &self.runs, taken: 0, at: 0, left: 0 }
    }

    /// Calls `visit` with each run and whether its elements have the value.
    fn each_run(&self, mut visit: impl FnMut(std::ops::Range<usize>, bool)) {
        let mut at = 0;
        for (index, run) in self.runs.iter().enumerate() {
            let end = at + *run as usize;
            visit(at..end, index % 2 == 1);
            at = end;
        }
    }

    /// Sets the flags of the elements with the value.
    pub fn mark(&self, hole: &mut [bool]) {
        self.each_run(|run, masked| hole[run].fill(masked));
    }

    /// `words` with masked elements replaced by the last unmasked element before them.
    pub fn bridge(&self, words: &[W], out: &mut [W]) {
        self.each_run(|run, masked| match masked {
            true => {
                let near = if run.start > 0 { run.start - 1 } else { run.end };
                out[run].fill(words.get(near).copied().unwrap_or_default());
            }
            false => out[run.clone()].copy_from_slice(&words[run]),
        });
    }

    /// The unmasked elements of `words`.
    pub fn compact(&self, words: &[W]) -> Vec<W> {
        let mut out = Vec::with_capacity(self.others);
        self.each_run(|run, masked| {
            if !masked {
                out.extend_from_slice(&words[run]);
            }
        });
        out
    }

    /// Spreads `others` over the unmasked positions of `out`; zeros elsewhere.
    pub fn expand(&self, others: &[W], out: &mut [W]) {
        let mut from = 0;
        self.each_run(|run, masked| {
            if masked {
                return out[run].fill(W::default());
            }
            let len = run.len();
            out[run].copy_from_slice(&others[from..from + len]);
            from += len;
        });
    }

    /// Writes the value to the masked positions.
    pub fn apply(&self, out: &mut [W]) {
        self.fill(out, self.value);
    }

    /// Writes zeros to the masked positions, where predictions have left other values.
    pub fn clear(&self, out: &mut [W]) {
        self.fill(out, W::default());
    }

    fn fill(&self, out: &mut [W], value: W) {
        self.each_run(|run, masked| {
            if masked {
                out[run].fill(value);
            }
        });
    }
}
