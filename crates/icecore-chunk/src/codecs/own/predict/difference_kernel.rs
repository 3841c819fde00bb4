//! Folded differences, computed directly from the elements, with the predictors of `Source`.
//!
//! All steps are done while a band of rows is in the first-level cache, in reused memory.

use std::collections::VecDeque;
use std::ops::Range;

use icecore_grid::Result;

use super::differences::{Kind, extent};
use super::frame::{self, Predictor};
use super::mode::{Plan, Recipe};
use super::values::{Space, Values};
use crate::codecs::word::Word;

/// Elements per band: a band stays in the first-level cache through all steps.
const BAND: usize = 2048;
/// Maximum number of steps between planes: each doubles the number of planes that are added.
const MOST: usize = 4;

/// A recipe of differences: steps from the innermost axis outwards, each with the number of elements of a run through
/// its axis and the distance between partners in elements.
pub(super) struct DifferenceKernel {
    pub row: Extent,
    /// Consecutive rows with a step between rows; all rows if no step separates them.
    pub plane: Extent,
    others: Vec<Extent>,
    pub sortable: bool,
    predictor: Predictor,
}

#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub block: usize,
    pub apart: usize,
}

impl DifferenceKernel {
    /// `None` if the recipe needs more than differences.
    pub fn new(recipe: Recipe, shape: &[u64], float: bool) -> Option<DifferenceKernel> {
        let Plan::Steps(Kind::Difference, mut steps) = recipe.plan else { return None };
        if recipe.space != Space::Bits {
            return None;
        }
        let predictor = Predictor::Steps(Kind::Difference, steps.clone());
        steps.sort_by_key(|step| std::cmp::Reverse(step.axis));
        let distinct = steps.windows(2).all(|pair| pair[0].axis != pair[1].axis);
        // A step as long as its axis has no effect.
        let extents = steps.iter().map(|step| (extent(shape, *step), step.axis));
        let extents = extents.filter(|((block, apart), _)| *apart > 0 && apart < block);
        let mut extents: VecDeque<_> = extents.map(|((block, apart), axis)| (Extent { block, apart }, axis)).collect();
        let (row, _) = extents.pop_front()?;
        let plane = match extents.front() {
            None => Extent { block: shape.iter().product::<u64>() as usize, apart: 0 },
            Some((next, axis)) if next.apart > BAND => Extent { block: next.block / shape[*axis] as usize, apart: 0 },
            Some((next, _)) => *next,
        };
        let others: Vec<Extent> =
            extents.into_iter().map(|(extent, _)| extent).skip(usize::from(plane.apart > 0)).collect();
        let fits = distinct && others.len() <= MOST;
        fits.then_some(DifferenceKernel { row, plane, others, sortable: float, predictor })
    }

    /// The first bytes of a chunk: for the first codec list, with the serialised mask if there is one.
    pub fn header(&self, mask: Option<&[u8]>) -> Result<Vec<u8>> {
        let values = if self.sortable { Values::<u8>::Sortable } else { Values::Raw };
        let mut header = vec![0];
        header.extend(frame::header(&self.predictor, mask, &values, None)?);
        Ok(header)
    }

    /// Elements of a band: whole rows, distributed evenly over the bands of a plane.
    pub fn band(&self) -> usize {
        let rows = (self.plane.block / self.row.block).max(1);
        let bands = rows.div_ceil((BAND / self.row.block).max(1));
        rows.div_ceil(bands) * self.row.block
    }

    /// Every `every`-th band of a chunk of `len` elements: the start of its plane, and its range in the plane.
    pub fn bands(&self, len: usize, every: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let (block, band) = (self.plane.block, self.band());
        let planes = (0..len).step_by(block);
        let all = planes
            .flat_map(move |start| (0..block).step_by(band).map(move |from| (start, from..(from + band).min(block))));
        all.skip(every / 2).step_by(every)
    }

    /// Writes the folded residuals of every `every`-th band, one after another; returns their number.
    pub fn folded<W: Word>(&self, words: &[W], every: usize, out: &mut [W]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if crate::cpu_features::has_avx2() {
            // SAFETY: the processor has the instructions.
            return unsafe { folded_avx2(self, words, every, out) };
        }
        folded(self, words, every, out)
    }

    /// The planes that are added to the plane that begins at `start`: (elements back, whether it is subtracted), for
    /// all sets of steps that have a partner there.
    pub fn partners(&self, start: usize, found: &mut Vec<(usize, bool)>) {
        found.clear();
        for Extent { block, apart } in &self.others {
            if start % block < *apart {
                continue;
            }
            found.push((*apart, true));
            for nth in 0..found.len() - 1 {
                let (back, minus) = found[nth];
                found.push((back + apart, !minus));
            }
        }
    }
}

/// The same loops, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn folded_avx2<W: Word>(plan: &DifferenceKernel, words: &[W], every: usize, out: &mut [W]) -> usize {
    folded(plan, words, every, out)
}

#[inline(always)]
fn folded<W: Word>(plan: &DifferenceKernel, words: &[W], every: usize, out: &mut [W]) -> usize {
    let Extent { block, apart } = plan.plane;
    let band = plan.band();
    let (mut sums, mut rows) = (vec![W::default(); (band + apart).min(block)], vec![W::default(); band.min(block)]);
    let (mut partners, mut done) = (Vec::new(), 0);
    for (start, Range { start: from, end: to }) in plan.bands(words.len(), every) {
        plan.partners(start, &mut partners);
        // The sums of the preceding rows, the partners of this band's rows, are computed again.
        let ahead = from.min(apart);
        let at = start + from - ahead;
        let sums = &mut sums[..to - from + ahead];
        match plan.sortable {
            true => add_up(words, at, &partners, sums, |w: W| w.sortable()),
            false => add_up(words, at, &partners, sums, |w: W| w),
        }
        let rows = &mut rows[..to - from];
        // Elements without a partner stay unchanged.
        let alone = if apart == 0 { rows.len() } else { (apart - ahead).min(rows.len()) };
        rows[..alone].copy_from_slice(&sums[ahead..ahead + alone]);
        let pairs = sums[ahead + alone..].iter().zip(&*sums);
        rows[alone..].iter_mut().zip(pairs).for_each(|(r, (a, b))| *r = a.sub(*b));
        finish(plan.row, rows, &mut out[done..done + rows.len()]);
        done += rows.len();
    }
    done
}

/// Folded differences within whole rows.
#[inline(always)]
pub(super) fn finish<W: Word>(row: Extent, rows: &[W], out: &mut [W]) {
    let pairs = rows[row.apart..].iter().zip(rows);
    out[row.apart..].iter_mut().zip(pairs).for_each(|(o, (a, b))| *o = a.sub(*b).fold());
    // The first elements of a row have no partner.
    for start in (0..rows.len()).step_by(row.block) {
        let heads = out[start..].iter_mut().zip(&rows[start..]).take(row.apart);
        heads.for_each(|(o, r)| *o = r.fold());
    }
}

/// Sums of elements and their partners in other planes.
#[inline(always)]
pub(super) fn add_up<W: Word>(
    words: &[W],
    at: usize,
    partners: &[(usize, bool)],
    sums: &mut [W],
    value: impl Fn(W) -> W,
) {
    sums.iter_mut().zip(&words[at..]).for_each(|(s, w)| *s = value(*w));
    for (back, minus) in partners {
        let pairs = sums.iter_mut().zip(&words[at - back..]);
        match minus {
            true => pairs.for_each(|(s, w)| *s = s.sub(value(*w))),
            false => pairs.for_each(|(s, w)| *s = s.add(value(*w))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mode::Mode;
    use super::super::source::Source;
    use super::*;
    use crate::codecs::word::as_bytes;

    fn made<W: Word>(count: u64) -> Vec<W> {
        (0..count).map(|i| W::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))).collect()
    }

    fn check<W: Word + std::fmt::Debug>(shape: &[u64], axes: &[usize], float: bool) -> bool {
        let words = made::<W>(shape.iter().product());
        let mode = Mode::Lorenzo { axes: Some(axes.to_vec()), space: Space::Bits };
        let recipe = Recipe { mask: false, ..mode.recipe(shape, false).unwrap() };
        let coded = Source::<W>::new(as_bytes(&words), shape, float, false).coded(&recipe).unwrap().pop().unwrap();
        let Some(straight) = DifferenceKernel::new(recipe, shape, float) else { return false };
        let mut found = words.clone();
        assert_eq!(straight.folded(&words, 1, &mut found), words.len());
        let wanted: Vec<W> = coded.residual.iter().map(|w| w.fold()).collect();
        assert_eq!(found, wanted, "{shape:?} {axes:?}");
        assert_eq!(straight.header(None).unwrap()[1..], coded.header, "{shape:?} {axes:?}");
        folded(&straight, &words, 1, &mut found);
        assert_eq!(found, wanted, "{shape:?} {axes:?} without wide registers");
        let some = straight.folded(&words, 3, &mut found);
        let bands = straight.bands(words.len(), 3).map(|(start, band)| start + band.start..start + band.end);
        assert_eq!(found[..some], bands.flat_map(|band| wanted[band].to_vec()).collect::<Vec<W>>());
        true
    }

    #[test]
    fn residuals_are_those_of_the_long_way() {
        let mut taken = 0;
        for shape in [[3, 4, 5, 17], [1, 2, 3, 40], [2, 2, 90, 61], [2, 5, 16, 1], [5, 2, 2, 3], [2, 1, 2, 5000]] {
            for set in 0..16usize {
                let axes: Vec<usize> = (0..4).filter(|axis| set >> axis & 1 == 1).collect();
                taken += usize::from(check::<u32>(&shape, &axes, true));
                taken += usize::from(check::<u64>(&shape, &axes, false));
                taken += usize::from(check::<u8>(&shape, &axes, false));
            }
        }
        assert!(taken > 100, "{taken}");
    }
}
