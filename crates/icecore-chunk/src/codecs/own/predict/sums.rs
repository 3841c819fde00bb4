//! Differences back to elements: sums along axes, done while a row, then a plane, is in a cache.

use super::differences::{Kind, Step, extent};
use crate::codecs::prefix_sum;
use crate::codecs::word::Word;

/// Words that are unfolded, summed and finished together: they stay in the first-level cache.
const PIECE: usize = 1024;
/// Minimum length of a row for row-wise processing; shorter steps are separate passes over all words.
const NEAR: usize = 16;

/// Conversions of each word before and after the sums.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The words are folded.
    pub folded: bool,
    /// The sums are sortable bits and are converted to the float's bits.
    pub sortable: bool,
}

/// The inverse of `forward`, in place.
pub(super) fn inverse<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], ends: Ends) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has the instructions.
        return unsafe { inverse_avx2(kind, words, shape, steps, ends) };
    }
    inverse_plain(kind, words, shape, steps, ends);
}

/// The same loops, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn inverse_avx2<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], ends: Ends) {
    inverse_plain(kind, words, shape, steps, ends);
}

#[inline(always)]
fn inverse_plain<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], ends: Ends) {
    match kind {
        Kind::Difference => sums::<W, false>(words, shape, steps, ends),
        Kind::Xor => sums::<W, true>(words, shape, steps, ends),
    }
}

/// State of a step between rows: the position of the current row in the run through the step's axis.
struct Level {
    block: usize,
    apart: usize,
    within: usize,
    /// Words of the current slab that are summed along the inner axes: slabs are `apart` words, the last may be
    /// shorter.
    slab: usize,
}

#[inline(always)]
fn sums<W: Word, const XOR: bool>(words: &mut [W], shape: &[u64], steps: &[Step], mut ends: Ends) {
    // The steps commute: those that row-wise processing does not support come first.
    let (mut levels, mut scan, mut others, mut row) = (Vec::new(), false, Vec::new(), words.len());
    let mut sorted: Vec<Step> = steps.to_vec();
    sorted.sort_by_key(|step| std::cmp::Reverse(step.axis));
    for (index, step) in sorted.iter().enumerate() {
        let (block, apart) = extent(shape, *step);
        let inner = block / shape[step.axis].max(1) as usize;
        let again = index > 0 && sorted[index - 1].axis == step.axis;
        match apart {
            0 => {}
            apart if apart >= block => {}
            1 if block >= NEAR && !again => (scan, row) = (true, block),
            apart if inner < NEAR || again => others.push((block, apart)),
            apart => {
                // Without a step within rows, the row length follows the innermost step.
                row = row.min(inner);
                levels.push(Level { block, apart, within: 0, slab: 0 });
            }
        }
    }
    if !others.is_empty() && ends.folded {
        words.iter_mut().for_each(|w| *w = w.unfold());
        ends.folded = false;
    }
    others.into_iter().for_each(|(block, apart)| alone::<W, XOR>(words, block, apart));
    let late = Ends { sortable: false, ..ends };
    for start in (0..words.len()).step_by(row.max(1)) {
        let end = start + row;
        each_row::<W, XOR>(&mut words[start..end], scan, if levels.is_empty() { ends } else { late });
        climb::<W, XOR>(&mut words[..end], row, &mut levels, ends.sortable);
    }
}

/// After a row: adds the previous slab to each slab that the row completes.
#[inline(always)]
fn climb<W: Word, const XOR: bool>(words: &mut [W], row: usize, levels: &mut [Level], sortable: bool) {
    let top = levels.len();
    for level in levels.iter_mut() {
        level.within += row;
        level.slab += row;
    }
    for (nth, level) in levels.iter_mut().enumerate() {
        let last = level.within == level.block;
        if level.slab != level.apart && !last {
            return;
        }
        let finish = sortable && nth + 1 == top;
        let (before, slab) = words.split_at_mut(words.len() - level.slab);
        if level.within > level.slab {
            let from = before.len() - level.apart;
            join::<W, XOR>(&mut before[from..], slab, finish);
        }
        if last && finish {
            slab.iter_mut().for_each(|w| *w = w.bits());
        }
        level.slab = 0;
        level.within = if last { 0 } else { level.within };
    }
}

/// Processes one row: unfolds it, sums it if a step has distance 1, and finishes it if no further step follows.
#[inline(always)]
fn each_row<W: Word, const XOR: bool>(row: &mut [W], scan: bool, ends: Ends) {
    let mut sum = W::default();
    for piece in row.chunks_mut(PIECE) {
        if ends.folded {
            piece.iter_mut().for_each(|w| *w = w.unfold());
        }
        if scan {
            sum = add_up::<W, XOR>(piece, sum);
        }
        if ends.sortable {
            piece.iter_mut().for_each(|w| *w = w.bits());
        }
    }
}

/// Running sums from `sum` on; returns the last one.
#[inline(always)]
fn add_up<W: Word, const XOR: bool>(words: &mut [W], mut sum: W) -> W {
    if !XOR {
        return prefix_sum::add_up(words, sum);
    }
    for word in words {
        sum = plus::<W, XOR>(sum, *word);
        *word = sum;
    }
    sum
}

#[inline(always)]
fn plus<W: Word, const XOR: bool>(a: W, b: W) -> W {
    if XOR { a.xor(b) } else { a.add(b) }
}

/// Adds `done` to `next`; with `finish`, `done` is complete and is converted.
#[inline(always)]
fn join<W: Word, const XOR: bool>(done: &mut [W], next: &mut [W], finish: bool) {
    if !finish {
        return next.iter_mut().zip(done).for_each(|(n, d)| *n = plus::<W, XOR>(*n, *d));
    }
    let (done, rest) = done.split_at_mut(next.len());
    for (n, d) in next.iter_mut().zip(done) {
        *n = plus::<W, XOR>(*n, *d);
        *d = d.bits();
    }
    rest.iter_mut().for_each(|w| *w = w.bits());
}

/// One step as a separate pass over all words.
#[inline(always)]
fn alone<W: Word, const XOR: bool>(words: &mut [W], block: usize, apart: usize) {
    for run in words.chunks_mut(block) {
        if apart == 1 {
            add_up::<W, XOR>(run, W::default());
            continue;
        }
        if apart < NEAR {
            // Short strides element by element: slices would cost more than they save.
            for at in apart..run.len() {
                run[at] = plus::<W, XOR>(run[at], run[at - apart]);
            }
            continue;
        }
        let mut rest = run;
        while rest.len() > apart {
            let (done, next) = rest.split_at_mut(apart);
            let len = next.len().min(apart);
            join::<W, XOR>(done, &mut next[..len], false);
            rest = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::differences::{fill_holes, forward};
    use super::*;

    fn check<W: Word + std::fmt::Debug>(shape: &[u64], steps: &[Step]) {
        let count = shape.iter().product::<u64>();
        let words: Vec<W> = (0..count).map(|i| W::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3)).collect();
        for kind in [Kind::Difference, Kind::Xor] {
            let residual = forward(kind, &words, shape, steps);
            let mut plain = residual.clone();
            inverse(kind, &mut plain, shape, steps, Ends { folded: false, sortable: false });
            assert_eq!(plain, words, "{shape:?} {steps:?}");
            let mut folded: Vec<W> = residual.iter().map(|w| w.fold()).collect();
            inverse_plain(kind, &mut folded, shape, steps, Ends { folded: true, sortable: true });
            let bits: Vec<W> = words.iter().map(|w| w.bits()).collect();
            assert_eq!(folded, bits, "{shape:?} {steps:?} folded");
            let hole: Vec<bool> = (0..words.len()).map(|i| i % 5 == 1 || i % 11 > 7).collect();
            let mut filled = words.clone();
            fill_holes(kind, &mut filled, shape, steps, &hole);
            let residual = forward(kind, &filled, shape, steps);
            assert!((0..words.len()).all(|i| !hole[i] || residual[i] == W::default()), "{shape:?} {steps:?}");
        }
    }

    #[test]
    fn sums_undo_differences() {
        let step = |axis, lag| Step { axis, lag };
        let all = [step(0, 1), step(1, 1), step(2, 1)];
        for shape in [[4, 5, 6], [1, 1, 30], [3, 1, 1], [2, 19, 3], [7, 2, 11], [5, 4, 33], [3, 40, 1], [2, 3, 2500]] {
            for set in 0..8u32 {
                let steps: Vec<Step> = (0..3).filter(|i| set >> i & 1 == 1).map(|i| all[i]).collect();
                check::<u32>(&shape, &steps);
                check::<u8>(&shape, &steps);
            }
            check::<u64>(&shape, &[step(2, 2), step(2, 1), step(0, 1)]);
            check::<u16>(&shape, &[step(2, 1), step(2, 1), step(1, 3)]);
            check::<u16>(&shape, &[step(1, u64::MAX), step(0, 2)]);
            let [a, b, c] = shape;
            check::<u32>(&[2, a, b, c], &[step(0, 1), step(1, 1), step(2, 1), step(3, 1)]);
            check::<u32>(&[3, a, b, c], &[step(0, 1), step(1, 2), step(2, 1)]);
            check::<u32>(&shape, &[step(0, 2), step(1, 3), step(2, 1)]);
            check::<u32>(&shape, &[step(0, 1), step(0, 1), step(1, 1), step(1, 2)]);
        }
        check::<u64>(&[1000], &[step(0, 189)]);
        check::<u64>(&[], &[]);
    }
}
