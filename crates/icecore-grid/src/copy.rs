//! The copy of one chunk to the output: loops of source and destination offsets.

use std::ops::Range;
use std::sync::Arc;

use crate::kernel::Job;
use crate::run::{Run, Scatter};

/// A few nested loops, strided or scattered. Source offsets count elements of the C-order chunk (at its full stored
/// shape), destination offsets count elements of the C-order output. All offsets were checked when the copy was
/// planned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copy {
    src: u64,
    dst: u64,
    /// Innermost first. Neighbouring loops that form one loop are merged; loops of one element are folded into the
    /// offsets.
    runs: Vec<Run>,
    /// C-order strides of the chunk.
    strides: Vec<u64>,
    chunk_elements: u64,
}

impl Copy {
    /// Resets it for a chunk of the given rank, keeping the buffers.
    pub(crate) fn reset(&mut self, rank: usize) {
        (self.src, self.dst, self.chunk_elements) = (0, 0, 1);
        self.runs.clear();
        self.strides.clear();
        self.strides.resize(rank, 1);
    }

    /// Sets the stride of the next axis outwards, given its length in the chunk.
    pub(crate) fn next_axis(&mut self, axis: usize, full: u64) {
        self.strides[axis] = self.chunk_elements;
        self.chunk_elements = self.chunk_elements.saturating_mul(full);
    }

    /// Adds a strided loop around the existing ones; source offsets count along an axis of the chunk.
    pub(crate) fn push_step(&mut self, axis: usize, n: u64, (src, src_step): (u64, u64), (dst, dst_step): (u64, i64)) {
        let stride = self.strides[axis];
        self.src += src * stride;
        self.dst += dst;
        if n < 2 {
            return;
        }
        let src_step = src_step * stride;
        if let Some(Run::Step { n: inner, src, dst }) = self.runs.last_mut() {
            let count = *inner as i64;
            if src_step == *src * *inner && dst_step == *dst * count {
                *inner *= n;
                return;
            }
        }
        self.runs.push(Run::Step { n, src: src_step, dst: dst_step });
    }

    /// Adds a scattered loop around the existing ones. The strides of all its axes must be set.
    pub(crate) fn push_scatter(&mut self, table: &Arc<Scatter>, lo: usize, n: usize) {
        if n == 1 {
            self.src += table.source(lo, &self.strides);
            self.dst += table.dst[lo];
        } else {
            self.runs.push(Run::Scatter { table: Arc::clone(table), lo, n });
        }
    }

    /// `Some(destination offset in elements)` where the whole chunk lands contiguously and in order, so that it can be
    /// decoded straight into the output.
    #[must_use]
    pub fn whole(&self) -> Option<u64> {
        let all = match self.runs[..] {
            [] => self.chunk_elements == 1,
            [Run::Step { n, src: 1, dst: 1 }] => n == self.chunk_elements,
            _ => false,
        };
        all.then_some(self.dst)
    }

    /// The range `[lo, hi)` of the chunk's elements that the copy reads. Scattered runs are searched in full.
    #[must_use]
    pub fn source_span(&self) -> (u64, u64) {
        let (mut lo, mut hi) = (self.src, self.src);
        for run in &self.runs {
            match run {
                Run::Step { n, src, .. } => hi += (n - 1) * src,
                Run::Scatter { table, lo: from, n } => {
                    let offsets = (*from..*from + *n).map(|entry| table.source(entry, &self.strides));
                    let (min, max) = offsets.fold((u64::MAX, 0), |(min, max), at| (at.min(min), at.max(max)));
                    lo += min;
                    hi += max;
                }
            }
        }
        (lo, hi + 1)
    }

    /// The ranges of the chunk's elements that are read, in any order; `None` if there are more than `most`.
    #[must_use]
    pub fn source_parts(&self, most: usize) -> Option<Vec<Range<u64>>> {
        let (len, loops) = match self.runs.as_slice() {
            [Run::Step { n, src: 1, .. }, outer @ ..] => (*n, outer),
            all => (1, all),
        };
        let mut starts = vec![self.src];
        for run in loops {
            let count = match run {
                Run::Step { n, .. } => usize::try_from(*n).ok()?,
                Run::Scatter { n, .. } => *n,
            };
            if starts.len().checked_mul(count)? > most {
                return None;
            }
            let offsets: Vec<u64> = match run {
                Run::Step { n, src, .. } => (0..*n).map(|i| i * src).collect(),
                Run::Scatter { table, lo, n } => {
                    (*lo..*lo + *n).map(|entry| table.source(entry, &self.strides)).collect()
                }
            };
            starts = starts.iter().flat_map(|start| offsets.iter().map(move |offset| start + offset)).collect();
        }
        Some(starts.into_iter().map(|start| start..start + len).collect())
    }

    /// Copies the needed elements of a decoded chunk into the output.
    ///
    /// # Safety
    /// `src` must be valid for reads of the chunk (its full shape times `itemsize` bytes; of it only
    /// [`source_span`](Self::source_span) is read), `dst` valid for writes of the whole output (the selection's
    /// `out_len` times `itemsize` bytes), and they must not overlap. Neither needs to be aligned. Cuts of one selection
    /// write disjoint elements, so several threads may place different cuts into one output at once.
    pub unsafe fn place(&self, src: *const u8, dst: *mut u8, itemsize: usize) {
        debug_assert!(self.source_span().1 <= self.chunk_elements, "a copy reads outside its chunk: {self:?}");
        let job = Job { runs: &self.runs, strides: &self.strides, itemsize };
        let (src_bytes, dst_bytes) =
            ((self.src as usize).wrapping_mul(itemsize), (self.dst as usize).wrapping_mul(itemsize));
        // SAFETY: the runs were built from indexes inside the chunk and inside the output, for which the caller vouches.
        unsafe { job.copy(src.wrapping_add(src_bytes), dst.wrapping_add(dst_bytes)) }
    }

    /// Writes one value (`value.len()` is the item size) wherever [`place`](Self::place) would write: for missing chunks.
    ///
    /// # Safety
    /// `dst` as in [`place`](Self::place).
    pub unsafe fn fill(&self, value: &[u8], dst: *mut u8) {
        let job = Job { runs: &self.runs, strides: &self.strides, itemsize: value.len() };
        // SAFETY: as in `place`.
        unsafe { job.fill(value, dst.wrapping_add((self.dst as usize).wrapping_mul(value.len()))) }
    }
}
