//! Floats predicted from a few preceding floats, in float64 arithmetic with a fixed order: readers must not reorder the
//! sums or fuse a product with a sum.

use std::ops::Range;

use super::differences::MAX_STEPS;
use crate::codecs::word::Word;

/// One neighbour: its distance back along each axis (negative is ahead, on an earlier row), and its weight.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub back: Vec<i64>,
    pub weight: f64,
}

/// The terms apply where all their neighbours exist; elsewhere Lorenzo's stencil over `axes` applies, without the axes
/// along which there is no predecessor. Without terms Lorenzo's stencil applies everywhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stencil {
    pub axes: Vec<usize>,
    pub terms: Vec<Term>,
}

pub(super) const MAX_TERMS: usize = 32;

/// Distance back in memory in elements, and weight.
type Tap = (usize, f64);

/// The stencil of a part of a row: taps in earlier rows first, then taps in the row itself.
struct Part {
    columns: Range<usize>,
    far: Vec<Tap>,
    near: Vec<Tap>,
}

impl Stencil {
    /// Whether each term refers to an element that precedes in memory.
    pub fn is_causal(&self, shape: &[u64]) -> bool {
        let causal = |t: &Term| t.back.iter().find(|b| **b != 0).is_some_and(|b| *b > 0) && t.back.len() == shape.len();
        self.terms.len() <= MAX_TERMS
            && self.terms.iter().all(|t| causal(t) && t.back.iter().all(|b| b.abs() < 128))
            && self.axes.len() <= MAX_STEPS
            && self.axes.iter().all(|a| *a < shape.len())
            && self.axes.is_sorted_by(|a, b| a < b)
    }

    /// Calls `visit` with each element in memory order, its prediction (in sortable bits) and its index; the result
    /// replaces the element.
    pub fn walk<W: Word>(&self, values: &mut [W], shape: &[u64], mut visit: impl FnMut(W, W, usize) -> W) {
        let columns = shape.last().map_or(1, |n| *n as usize);
        let mut sums = vec![0.0; columns];
        for start in (0..values.len()).step_by(columns.max(1)) {
            for part in self.parts(start, columns, shape) {
                let sums = &mut sums[part.columns.clone()];
                let first = start + part.columns.start;
                sums.fill(0.0);
                for (back, weight) in &part.far {
                    let partners = &values[first - back..][..sums.len()];
                    sums.iter_mut().zip(partners).for_each(|(sum, v)| *sum += weight * v.to_f64());
                }
                along_row(&mut values[..first + sums.len()], first, sums, &part.near, &mut visit);
            }
        }
    }

    /// Divides the row that begins at element `start` into parts.
    fn parts(&self, start: usize, columns: usize, shape: &[u64]) -> Vec<Part> {
        let strides = strides(shape);
        let outer = shape.len().saturating_sub(1);
        let at: Vec<i64> = (0..outer).map(|a| (start / strides[a]) as i64 % shape[a] as i64).collect();
        let exists = |t: &Term| (0..outer).all(|a| (0..shape[a] as i64).contains(&(at[a] - t.back[a])));
        let last = |t: &Term| t.back.last().copied().unwrap_or(0);
        let (mut lo, mut hi) = (columns, columns);
        if !self.terms.is_empty() && self.terms.iter().all(exists) {
            let reach = |by: &dyn Fn(&Term) -> i64| self.terms.iter().map(by).max().unwrap_or(0).max(0) as usize;
            lo = reach(&last).min(columns);
            hi = columns.saturating_sub(reach(&|t| -last(t))).max(lo);
        }
        // Column 0 has nothing after it in the row.
        let mut cuts = [0, 1.min(columns), lo, hi, columns];
        cuts.sort_unstable();
        let ranges = cuts.windows(2).map(|cut| cut[0]..cut[1]).filter(|range| !range.is_empty());
        let part = |range: Range<usize>| match (lo..hi).contains(&range.start) {
            true => self.interior(range, outer, &strides),
            false => self.border(range, &at, &strides),
        };
        ranges.map(part).collect()
    }

    /// All terms.
    fn interior(&self, columns: Range<usize>, outer: usize, strides: &[usize]) -> Part {
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for term in &self.terms {
            let back: i64 = term.back.iter().zip(strides).map(|(b, s)| b * *s as i64).sum();
            let list = if term.back[..outer].iter().all(|b| *b == 0) { &mut near } else { &mut far };
            list.push((back as usize, term.weight));
        }
        Part { columns, far, near }
    }

    /// Lorenzo's stencil for columns of a row at the outer coordinates `at`.
    fn border(&self, columns: Range<usize>, at: &[i64], strides: &[usize]) -> Part {
        let usable = |a: &&usize| at.get(**a).map_or(columns.start > 0, |at| *at > 0);
        let axes: Vec<usize> = self.axes.iter().filter(usable).copied().collect();
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for set in 1u32..1 << axes.len() {
            let chosen: Vec<usize> = (0..axes.len()).filter(|i| set >> i & 1 == 1).map(|i| axes[i]).collect();
            let back = chosen.iter().map(|a| strides[*a]).sum();
            let weight = if chosen.len() % 2 == 1 { 1.0 } else { -1.0 };
            let list = if chosen.iter().all(|a| *a == at.len()) { &mut near } else { &mut far };
            list.push((back, weight));
        }
        Part { columns, far, near }
    }
}

pub(super) fn strides(shape: &[u64]) -> Vec<usize> {
    (0..shape.len()).map(|a| shape[a + 1..].iter().product::<u64>() as usize).collect()
}

/// A prediction as an integer; zero for NaN.
#[inline(always)]
pub(super) fn rounded<W: Word>(prediction: f64) -> W {
    W::from_f64(if prediction.is_finite() { prediction } else { 0.0 }).sortable()
}

/// Elements from `first` to the end, each predicted as `sums` plus the previous element in the row.
#[inline(always)]
fn along_row<W: Word>(
    values: &mut [W],
    first: usize,
    sums: &[f64],
    near: &[Tap],
    visit: &mut impl FnMut(W, W, usize) -> W,
) {
    match near {
        // The usual case: the last value stays in a register.
        [(1, weight)] => {
            let mut last = values[first - 1].to_f64();
            for (at, sum) in (first..).zip(sums) {
                let value = visit(values[at], rounded(sum + weight * last), at);
                values[at] = value;
                last = value.to_f64();
            }
        }
        near => {
            for (at, sum) in (first..).zip(sums) {
                let mut sum = *sum;
                for (back, weight) in near {
                    sum += weight * values[at - back].to_f64();
                }
                values[at] = visit(values[at], rounded(sum), at);
            }
        }
    }
}

/// Converts elements to residuals.
pub(super) fn forward<W: Word>(stencil: &Stencil, raw: &[W], shape: &[u64]) -> Vec<W> {
    let mut residual = vec![W::default(); raw.len()];
    let mut values = raw.to_vec();
    stencil.walk(&mut values, shape, |value, prediction, at| {
        residual[at] = value.sortable().sub(prediction);
        value
    });
    residual
}

/// Converts residuals to elements, in place.
pub(super) fn inverse<W: Word>(stencil: &Stencil, words: &mut [W], shape: &[u64], folded: bool) {
    match folded {
        true => stencil.walk(words, shape, |w, prediction, _| prediction.add(w.unfold()).bits()),
        false => stencil.walk(words, shape, |w, prediction, _| prediction.add(w).bits()),
    }
}
