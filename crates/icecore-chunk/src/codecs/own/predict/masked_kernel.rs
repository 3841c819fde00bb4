//! Differences around a mask: as in `difference_kernel`, with the predicted value at masked positions.

use super::difference_kernel::{DifferenceKernel, Extent, add_up, finish};
use super::mask::Mask;
use crate::codecs::word::Word;

/// Writes the folded residuals of the unmasked elements and returns their number. `filled`, as long as `words`,
/// receives the integers that predictions are made from.
pub(super) fn folded<W: Word>(
    plan: &DifferenceKernel,
    words: &[W],
    mask: &Mask<W>,
    filled: &mut [W],
    out: &mut [W],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has the instructions.
        return unsafe { folded_avx2(plan, words, mask, filled, out) };
    }
    folded_plain(plan, words, mask, filled, out)
}

/// The same loops, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn folded_avx2<W: Word>(
    plan: &DifferenceKernel,
    words: &[W],
    mask: &Mask<W>,
    filled: &mut [W],
    out: &mut [W],
) -> usize {
    folded_plain(plan, words, mask, filled, out)
}

#[inline(always)]
fn folded_plain<W: Word>(
    plan: &DifferenceKernel,
    words: &[W],
    mask: &Mask<W>,
    filled: &mut [W],
    out: &mut [W],
) -> usize {
    let Extent { block, apart } = plan.plane;
    let (mut partners, mut pieces, mut runs, mut done) = (Vec::new(), Vec::new(), mask.runs(), 0);
    let band = plan.band().min(block);
    let (mut rows, mut rest) = (vec![W::default(); band], vec![W::default(); band]);
    // Before a band's sums, the sums of the preceding rows; zeros for rows without a partner.
    let mut sums = vec![W::default(); apart + band];
    for (start, at) in plan.bands(words.len(), 1) {
        plan.partners(start, &mut partners);
        if at.start == 0 {
            sums[..apart].fill(W::default());
        }
        let (first, count) = (start + at.start, at.len());
        filled[first..first + count].iter_mut().zip(&words[first..]).for_each(|(f, w)| {
            *f = if plan.sortable { w.sortable() } else { *w };
        });
        add_up(filled, first, &partners, &mut sums[apart..apart + count], |w| w);
        pieces.clear();
        while let Some((run, hole)) = runs.before(first + count) {
            pieces.push((run.start - first..run.end - first, hole));
        }
        for (run, hole) in &pieces {
            let (from, to) = (run.start, run.end);
            if *hole {
                skip(plan.row, apart, (from, to), &mut sums, &mut rows, &mut filled[first..first + count]);
            } else if apart == 0 {
                rows[from..to].copy_from_slice(&sums[from..to]);
            } else {
                let pairs = sums[apart + from..apart + to].iter().zip(&sums[from..to]);
                rows[from..to].iter_mut().zip(pairs).for_each(|(r, (a, b))| *r = a.sub(*b));
            }
        }
        finish(plan.row, &rows[..count], &mut rest[..count]);
        for (run, _) in pieces.iter().filter(|(_, hole)| !hole) {
            out[done..done + run.len()].copy_from_slice(&rest[run.clone()]);
            done += run.len();
        }
        sums.copy_within(count..count + apart, 0);
    }
    done
}

/// Sets the elements `from..to` of a band to the value that makes their residual zero: each row continues as before.
#[inline(always)]
fn skip<W: Word>(
    row: Extent,
    apart: usize,
    (from, to): (usize, usize),
    sums: &mut [W],
    rows: &mut [W],
    filled: &mut [W],
) {
    let mut at = from;
    while at < to {
        let inside = at % row.block;
        let end = to.min(at - inside + row.block);
        // The first elements of a row have no predecessor.
        let later = end.min(at.max(at - inside + row.apart));
        rows[at..later].fill(W::default());
        if row.apart == 1 && later < end {
            let last = rows[later - 1];
            rows[later..end].fill(last);
        } else {
            (later..end).for_each(|k| rows[k] = rows[k - row.apart]);
        }
        // A row is at most as long as the distance to its partner.
        let (before, sums) = sums.split_at_mut(apart + at);
        for k in 0..end - at {
            let sum = if apart == 0 { rows[at + k] } else { rows[at + k].add(before[at + k]) };
            filled[at + k] = filled[at + k].add(sum.sub(sums[k]));
            sums[k] = sum;
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::super::mode::{Mode, Recipe};
    use super::super::source::Source;
    use super::super::values::Space;
    use super::*;
    use crate::codecs::word::as_bytes;

    /// Numbers with masked elements: single ones, and runs across the ends of rows.
    fn made<W: Word>(count: u64, seed: u64) -> Vec<W> {
        let number = |i: u64| i.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        let hole = |i: u64| number(i / 37).is_multiple_of(3) || number(i).is_multiple_of(11);
        (0..count).map(|i| W::from_u64(if hole(i) { 0x0123_4567_89ab_cdef } else { number(i) })).collect()
    }

    fn check<W: Word + std::fmt::Debug>(shape: &[u64], axes: &[usize], lag: Option<u64>, float: bool) -> bool {
        let words = made::<W>(shape.iter().product(), axes.len() as u64);
        let mode = match lag {
            Some(lag) => {
                let step = super::super::differences::Step { axis: axes[0], lag };
                Mode::Along { kind: super::super::differences::Kind::Difference, step, space: Space::Bits }
            }
            None => Mode::Lorenzo { axes: Some(axes.to_vec()), space: Space::Bits },
        };
        let recipe: Recipe = mode.recipe(shape, true).unwrap();
        let Some(mask) = Mask::find(&words) else { return false };
        let coded = Source::<W>::new(as_bytes(&words), shape, float, true).coded(&recipe).unwrap().pop().unwrap();
        let Some(plan) = DifferenceKernel::new(recipe, shape, float) else { return false };
        let wanted: Vec<W> = coded.residual.iter().map(|w| w.fold()).collect();
        assert_eq!(plan.header(Some(&mask.written().unwrap())).unwrap()[1..], coded.header);
        for run in [folded::<W>, folded_plain] {
            let (mut filled, mut found) = (vec![W::default(); words.len()], vec![W::default(); words.len()]);
            let count = run(&plan, &words, &mask, &mut filled, &mut found);
            assert_eq!(found[..count], wanted, "{shape:?} {axes:?} {lag:?}");
        }
        true
    }

    #[test]
    fn residuals_are_those_of_the_long_way() {
        let mut taken = 0;
        for shape in [[3, 4, 5, 17], [1, 2, 30, 40], [2, 2, 90, 61], [2, 5, 160, 2], [5, 2, 7, 3], [2, 1, 2, 5000]] {
            for set in 1..16usize {
                let axes: Vec<usize> = (0..4).filter(|axis| set >> axis & 1 == 1).collect();
                let lag = [None, Some(2), Some(5)][set % 3].filter(|_| axes.len() == 1);
                for lag in [None, lag] {
                    taken += usize::from(check::<u32>(&shape, &axes, lag, true));
                    taken += usize::from(check::<u64>(&shape, &axes, lag, false));
                    taken += usize::from(check::<u16>(&shape, &axes, lag, true));
                }
            }
        }
        assert!(taken > 200, "{taken}");
    }
}
