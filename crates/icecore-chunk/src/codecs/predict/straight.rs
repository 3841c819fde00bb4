//! Differences alone, straight from the elements to folded residuals: what is written while data come in.
//!
//! Everything happens while a row is in the first cache, in memory that is used again. The residuals are those of `Source`.

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

/// Rows shorter than this are not worth their way through the loops.
const NEAR: usize = 16;
/// Steps beside the one within a row: each doubles the rows that are added up.
const MOST: usize = 4;

/// Bytes of residuals, in so many pieces spread over the chunk, that show which recipe is the shortest …
const TRIAL: usize = 128 << 10;
const PIECES: usize = 4;
/// … where a chunk has more of them than so many times as much. Shorter chunks are encoded with each.
const LONG: usize = 4;

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
    if found.len() > 1 && len > LONG * TRIAL {
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
    (0..PIECES).for_each(|nth| out.extend_from_slice(&residuals[nth * stride..][..TRIAL / PIECES]));
}

/// A recipe of differences, as rows: what is taken from each, and what lies how far back.
struct Straight {
    /// Elements of a row: one run through the innermost axis that has a step, and how far apart its partners are.
    row: usize,
    apart: usize,
    /// The other steps: elements of a run through the axis, elements between partners.
    others: Vec<(usize, usize)>,
    sortable: bool,
    /// The chunk's first bytes.
    header: Vec<u8>,
}

impl Straight {
    /// `None` where the recipe asks for more than differences, or its rows are short.
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
        let extents = steps.iter().map(|step| extent(shape, *step));
        let mut extents = extents.filter(|(block, apart)| *apart > 0 && apart < block);
        let (row, apart) = extents.next()?;
        let others: Vec<(usize, usize)> = extents.collect();
        let fits = distinct && row >= NEAR && others.len() <= MOST;
        fits.then_some(Straight { row, apart, others, sortable: float, header })
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

    /// What is added to the row that begins at `start`: (elements back, whether it is taken away), for all sets of steps
    /// that have a partner there.
    fn partners(&self, start: usize, found: &mut Vec<(usize, bool)>) {
        found.clear();
        for (block, apart) in &self.others {
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
    let mut sums = vec![W::default(); plan.row];
    let mut partners = Vec::new();
    for (nth, target) in out.chunks_mut(plan.row).enumerate() {
        let start = nth * plan.row;
        plan.partners(start, &mut partners);
        match plan.sortable {
            true => add_rows(words, start, &partners, &mut sums, |w: W| w.sortable()),
            false => add_rows(words, start, &partners, &mut sums, |w: W| w),
        }
        let (first, rest) = target.split_at_mut(plan.apart);
        first.iter_mut().zip(&sums).for_each(|(t, s)| *t = s.fold());
        let pairs = sums[plan.apart..].iter().zip(&sums);
        rest.iter_mut().zip(pairs).for_each(|(t, (a, b))| *t = a.sub(*b).fold());
    }
}

/// A row and its partners in other rows, added up.
#[inline(always)]
fn add_rows<W: Word>(words: &[W], start: usize, partners: &[(usize, bool)], sums: &mut [W], value: impl Fn(W) -> W) {
    sums.iter_mut().zip(&words[start..]).for_each(|(s, w)| *s = value(*w));
    for (back, minus) in partners {
        let pairs = sums.iter_mut().zip(&words[start - back..]);
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
        for shape in [[3, 4, 5, 17], [1, 2, 3, 40], [4, 1, 2, 16], [2, 5, 16, 1], [5, 2, 2, 3]] {
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
        // Rows that go on from one to the next, but have nothing to do with each other: the second mode is the better one.
        let count = (LONG * TRIAL) as u64 / 4 + 64;
        let rows = made::<u32>(count / 64);
        let words: Vec<u32> = (0..count).map(|i| (rows[i as usize / 64] >> 2) + i as u32 % 64 * 3).collect();
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
        assert!(run(&[mode(&[0])]).len() > 2 * one.len());
    }
}
