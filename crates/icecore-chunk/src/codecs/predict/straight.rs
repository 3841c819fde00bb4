//! Differences alone, straight from the elements to folded residuals: what is written while data come in.
//!
//! Everything happens while a row is in the first cache, in memory that is used again. The residuals are those of `Source`.

use std::collections::VecDeque;

use icecore_grid::Result;

use super::differences::{Kind, extent};
use super::frame::{self, Predictor};
use super::list::{Form, List};
use super::mask::Mask;
use super::mode::{Mode, Plan, Recipe};
use super::search::with_mask;
use super::values::{Space, Values};
use crate::buffer::Buffer;
use crate::codecs::word::{Word, with_words};
use crate::scratch::Scratch;

/// Elements that go through all steps together: they stay in the first cache.
const BAND: usize = 2048;
/// Steps beside those within a plane: each doubles the planes that are added up.
const MOST: usize = 4;

/// Which of several recipes is the shortest shows on one residual of so many, in so many pieces spread over the chunk …
const SHARE: usize = 8;
const PIECES: usize = 4;
/// … where that makes so many bytes. Shorter chunks are encoded with each.
const LEAST: usize = 8 << 10;

/// Replaces `out` by the chunk as the shortest of `modes` makes it; false where they ask for more than differences, a value
/// is kept apart, or there are several lists.
pub(super) fn encode<W: Word>(
    raw: &[u8],
    shape: &[u64],
    float: bool,
    (modes, mask): (&[Mode], bool),
    lists: &[List],
    (out, scratch): (&mut Vec<u8>, &mut Scratch),
) -> Result<bool> {
    // SAFETY: every bit pattern is a word.
    let (head, words, tail) = unsafe { raw.align_to::<W>() };
    let [list] = lists else { return Ok(false) };
    if !head.is_empty() || !tail.is_empty() || !list.folds(Form::Signed) {
        return Ok(false);
    }
    if mask && Mask::find(words).is_some() {
        return Ok(false);
    }
    let recipe = |mode: &Mode| with_mask::<W>(None, mode.recipe(shape, true)).pop();
    let straight = |mode: &Mode| recipe(mode).and_then(|recipe| Straight::new::<W>(recipe, shape, float));
    let Some(found) = modes.iter().map(straight).collect::<Option<Vec<_>>>() else { return Ok(false) };
    let (mut folded, mut packed) = (scratch.take(), scratch.spare());
    let done = shortest(words, &found, list, (&mut folded, &mut packed), (out, scratch));
    scratch.give(folded);
    scratch.keep(packed);
    done.map(|()| true)
}

/// Encodes with all of `found`, or with the one that a part of the residuals asks for.
fn shortest<W: Word>(
    words: &[W],
    found: &[Straight],
    list: &List,
    (folded, packed): (&mut Buffer, &mut Vec<u8>),
    (out, scratch): (&mut Vec<u8>, &mut Scratch),
) -> Result<()> {
    let (len, chain) = (size_of_val(words), list.chain(Form::Signed));
    let mut only = None;
    if found.len() > 1 && len / SHARE >= LEAST {
        let mut least = usize::MAX;
        for (nth, straight) in found.iter().enumerate() {
            let bytes = folded.sized(len)?;
            with_words(bytes, |residuals: &mut [W]| straight.folded(words, residuals));
            pieces(bytes, out);
            chain.encode_into(out, &[(out.len() / size_of::<W>()) as u64], packed, scratch)?;
            if packed.len() < least {
                (least, only) = (packed.len(), Some(nth));
            }
        }
    }
    out.clear();
    for (nth, straight) in found.iter().enumerate().filter(|(nth, _)| only.is_none_or(|only| only == *nth)) {
        let bytes = folded.sized(len)?;
        if only.is_none_or(|_| nth + 1 < found.len()) {
            with_words(bytes, |residuals: &mut [W]| straight.folded(words, residuals));
        } // else they are still there from the trial
        chain.encode_into(bytes, &[words.len() as u64], packed, scratch)?;
        if out.is_empty() || straight.header.len() + packed.len() < out.len() {
            out.clear();
            out.extend_from_slice(&straight.header);
            out.extend_from_slice(packed);
        }
    }
    Ok(())
}

/// Pieces from all over the residuals, one after the other.
fn pieces(residuals: &[u8], out: &mut Vec<u8>) {
    let stride = residuals.len() / PIECES / 8 * 8;
    out.clear();
    (0..PIECES).for_each(|nth| out.extend_from_slice(&residuals[nth * stride..][..stride / SHARE / 8 * 8]));
}

/// A recipe of differences: steps from the innermost axis outwards, each with the elements of a run through its axis and
/// the elements between partners.
struct Straight {
    row: Extent,
    /// Rows that lie one after the other, with a step from one to another; all of them where there is none.
    plane: Extent,
    others: Vec<Extent>,
    sortable: bool,
    /// The chunk's first bytes.
    header: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Extent {
    block: usize,
    apart: usize,
}

impl Straight {
    /// `None` where the recipe asks for more than differences.
    fn new<W: Word>(recipe: Recipe, shape: &[u64], float: bool) -> Option<Straight> {
        let Plan::Steps(Kind::Difference, mut steps) = recipe.plan else { return None };
        if recipe.mask || recipe.space != Space::Bits {
            return None;
        }
        let values = if float { Values::<W>::Sortable } else { Values::Raw };
        let mut header = vec![0]; // the first list
        header.extend(frame::header(&Predictor::Steps(Kind::Difference, steps.clone()), None, &values, None).ok()?);
        steps.sort_by_key(|step| std::cmp::Reverse(step.axis));
        let distinct = steps.windows(2).all(|pair| pair[0].axis != pair[1].axis);
        // A step that is as long as its axis changes nothing.
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
        fits.then_some(Straight { row, plane, others, sortable: float, header })
    }

    /// The folded residuals of `words`.
    fn folded<W: Word>(&self, words: &[W], out: &mut [W]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { folded_avx2(self, words, out) };
        }
        folded(self, words, out);
    }

    /// What is added to the plane that begins at `start`: (elements back, whether it is taken away), for all sets of steps
    /// that have a partner there.
    fn partners(&self, start: usize, found: &mut Vec<(usize, bool)>) {
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

/// The same loops, for twice as wide registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn folded_avx2<W: Word>(plan: &Straight, words: &[W], out: &mut [W]) {
    folded(plan, words, out);
}

#[inline(always)]
fn folded<W: Word>(plan: &Straight, words: &[W], out: &mut [W]) {
    let Extent { block, apart } = plan.plane;
    let band = (BAND / plan.row.block).max(1) * plan.row.block;
    let (mut sums, mut rows) = (vec![W::default(); (band + apart).min(block)], vec![W::default(); band.min(block)]);
    let mut partners = Vec::new();
    for start in (0..words.len()).step_by(block) {
        plan.partners(start, &mut partners);
        for from in (0..block).step_by(band) {
            // The rows that those of this band are taken from are added up once more.
            let (ahead, to) = (from.min(apart), (from + band).min(block));
            let at = start + from - ahead;
            let sums = &mut sums[..to - from + ahead];
            match plan.sortable {
                true => add_up(words, at, &partners, sums, |w: W| w.sortable()),
                false => add_up(words, at, &partners, sums, |w: W| w),
            }
            let rows = &mut rows[..to - from];
            // Those without a partner stay.
            let alone = if apart == 0 { rows.len() } else { (apart - ahead).min(rows.len()) };
            rows[..alone].copy_from_slice(&sums[ahead..ahead + alone]);
            let pairs = sums[ahead + alone..].iter().zip(&*sums);
            rows[alone..].iter_mut().zip(pairs).for_each(|(r, (a, b))| *r = a.sub(*b));
            finish(plan.row, rows, &mut out[start + from..start + to]);
        }
    }
}

/// Whole rows: differences within them, folded.
#[inline(always)]
fn finish<W: Word>(row: Extent, rows: &[W], out: &mut [W]) {
    let pairs = rows[row.apart..].iter().zip(rows);
    out[row.apart..].iter_mut().zip(pairs).for_each(|(o, (a, b))| *o = a.sub(*b).fold());
    // Where a row begins there is no partner.
    for start in (0..rows.len()).step_by(row.block) {
        let heads = out[start..].iter_mut().zip(&rows[start..]).take(row.apart);
        heads.for_each(|(o, r)| *o = r.fold());
    }
}

/// Elements and their partners in other planes, added up.
#[inline(always)]
fn add_up<W: Word>(words: &[W], at: usize, partners: &[(usize, bool)], sums: &mut [W], value: impl Fn(W) -> W) {
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
        let Some(straight) = Straight::new::<W>(recipe, shape, float) else { return false };
        let mut found = words.clone();
        straight.folded(&words, &mut found);
        let wanted: Vec<W> = coded.residual.iter().map(|w| w.fold()).collect();
        assert_eq!(found, wanted, "{shape:?} {axes:?}");
        assert_eq!(straight.header[1..], coded.header, "{shape:?} {axes:?}");
        folded(&straight, &words, &mut found);
        assert_eq!(found, wanted, "{shape:?} {axes:?} without wide registers");
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

    #[test]
    fn a_part_shows_the_mode() {
        // Each row begins anywhere and has a step of its own: differences within rows repeat, those between rows do not.
        let count = (SHARE * LEAST) as u64 / 4 + 64;
        let rows = made::<u32>(count / 64);
        let element = |i: u64| (rows[i as usize / 64] >> 2).wrapping_add(i as u32 % 64 * (rows[i as usize / 64] >> 16));
        let words: Vec<u32> = (0..count).map(element).collect();
        let codecs = serde_json::json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]);
        let lists = [List::parse(&codecs, &crate::dtype::DType::UInt32).unwrap()];
        let mode = |axes: &[usize]| Mode::Lorenzo { axes: Some(axes.to_vec()), space: Space::Bits };
        let shape = [count / 64, 64];
        let run = |modes: &[Mode]| {
            let (mut out, mut scratch) = (Vec::new(), Scratch::new());
            let done = encode::<u32>(as_bytes(&words), &shape, false, (modes, true), &lists, (&mut out, &mut scratch));
            assert!(done.unwrap());
            out
        };
        let (both, one) = (run(&[mode(&[0]), mode(&[1])]), run(&[mode(&[1])]));
        assert!(both == one);
        assert!(run(&[mode(&[1]), mode(&[0])]) == one);
        assert!(run(&[mode(&[0])]).len() > one.len());
    }
}
