//! Fast encoder for differences without copies, for data that is written as it arrives.

use icecore_grid::Result;

use super::codec_list::{Form, List};
use super::difference_kernel::DifferenceKernel;
use super::mask::Mask;
use super::masked_kernel;
use super::mode::Mode;
use crate::buffer::Buffer;
use crate::chain::Chain;
use crate::codecs::word::{Word, with_words};
use crate::scratch::Scratch;

/// The shortest of several recipes is chosen from a sample of the bands: 16 of them, or one in 17 if there are many …
const FEWEST: usize = 16;
const SPARSEST: usize = 17;
/// … and from about this many bytes of their residuals, in this many pieces. A chunk shorter than twice that is encoded
/// with every recipe.
const TRIAL: usize = 64 << 10;
const PIECES: usize = 4;
/// Compression below this ratio: a sample is then unreliable, and encoding with every recipe is fast.
const HARDLY: f64 = 1.0 / 32.0;

/// Appends the shortest encoding of a chunk over `modes` to `out`, with or without a mask for a frequent value (`mask`).
/// Returns false if the modes need more than differences or there are several lists.
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
    let plan = |mode: &Mode| DifferenceKernel::new(mode.recipe(shape, true)?, shape, float);
    let Some(plans) = modes.iter().map(plan).collect::<Option<Vec<_>>>() else { return Ok(false) };
    let mask = if mask { Mask::find(words) } else { None };
    let mask = mask.map(|mask| mask.written().map(|written| (mask, written))).transpose()?;
    let with_and_without = |plan| [mask.as_ref().map(|mask| (plan, Some(mask))), Some((plan, None))];
    let recipes: Vec<Recipe<'_, W>> = plans.iter().flat_map(with_and_without).flatten().collect();
    let (chain, folded, filled) = (list.chain(Form::Signed), scratch.take(), scratch.take());
    let mut quick = Quick { words, chain, folded, filled };
    let done = match recipes.as_slice() {
        [only] => quick.write(*only, out, scratch),
        several if raw.len() < 2 * TRIAL => quick.shortest(several, out, scratch),
        several => match quick.judge(several, scratch) {
            Ok((_, bytes)) if bytes < raw.len() as f64 * HARDLY => quick.shortest(several, out, scratch),
            Ok((best, _)) => quick.write(best, out, scratch),
            Err(error) => Err(error),
        },
    };
    scratch.give(quick.folded);
    scratch.give(quick.filled);
    done.map(|()| true)
}

/// The steps of the prediction; the mask of the elements that they skip, with the bytes stored for it.
type Recipe<'a, W> = (&'a DifferenceKernel, Option<&'a (Mask<W>, Vec<u8>)>);

struct Quick<'a, W> {
    words: &'a [W],
    chain: &'a Chain,
    /// Working memory: residuals, and integers that predictions come from.
    folded: Buffer,
    filled: Buffer,
}

impl<W: Word> Quick<'_, W> {
    /// Appends the chunk to `out`.
    fn write(&mut self, (plan, mask): Recipe<'_, W>, out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let (words, len) = (self.words, size_of_val(self.words));
        let folded = self.folded.sized(len)?;
        let count = match mask {
            None => with_words(folded, |folded| plan.folded(words, 1, folded)),
            Some((mask, _)) => {
                let filled = self.filled.sized(len)?;
                with_words(filled, |filled| {
                    with_words(folded, |folded| masked_kernel::folded(plan, words, mask, filled, folded))
                })
            }
        };
        out.extend(header((plan, mask))?);
        self.chain.append(&folded[..count * size_of::<W>()], &[count as u64], out, scratch)
    }

    /// Encodes with each of `recipes` and appends the shortest result.
    fn shortest(&mut self, recipes: &[Recipe<'_, W>], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let (mut packed, mut best) = (scratch.spare(), scratch.spare());
        for (nth, recipe) in recipes.iter().enumerate() {
            packed.clear();
            self.write(*recipe, &mut packed, scratch)?;
            if nth == 0 || packed.len() < best.len() {
                std::mem::swap(&mut best, &mut packed);
            }
        }
        out.extend_from_slice(&best);
        scratch.keep(best);
        scratch.keep(packed);
        Ok(())
    }

    /// Chooses one of `recipes` from a sample of the residuals; also returns the estimated number of bytes.
    fn judge<'r>(&mut self, recipes: &[Recipe<'r, W>], scratch: &mut Scratch) -> Result<(Recipe<'r, W>, f64)> {
        let mut packed = scratch.spare();
        // The codecs' fixed overhead must not be scaled up with the sample.
        let fixed = self.chain.encode_into(&[], &[0], &mut packed, scratch).map_or(0, |()| packed.len());
        let (mut best, mut least, mut bridged) = (recipes[0], f64::INFINITY, false);
        for &(plan, mask) in recipes {
            if let (Some((mask, _)), false) = (mask, bridged) {
                let filled = self.filled.sized(size_of_val(self.words))?;
                with_words(filled, |filled| mask.bridge(self.words, filled));
                bridged = true;
            }
            let (count, stands_for) = self.sample((plan, mask))?;
            let folded = &self.folded.bytes()[..count * size_of::<W>()];
            self.chain.encode_into(folded, &[count as u64], &mut packed, scratch)?;
            let rest = packed.len().saturating_sub(fixed) as f64;
            let bytes = header((plan, mask))?.len() as f64 + rest * stands_for;
            if bytes < least {
                (best, least) = ((plan, mask), bytes);
            }
        }
        scratch.keep(packed);
        Ok((best, least))
    }

    /// Approximate residuals of samples from the whole chunk, at the beginning of `folded`. Returns their number, and
    /// the number of residuals that each sample represents.
    fn sample(&mut self, (plan, mask): Recipe<'_, W>) -> Result<(usize, f64)> {
        let len = size_of_val(self.words);
        let every = (plan.bands(self.words.len(), 1).count() / FEWEST).clamp(1, SPARSEST) | 1;
        let (folded, filled) = (self.folded.sized(len)?, self.filled.sized(len)?);
        Ok(with_words(folded, |folded| {
            let count = match mask {
                None => plan.folded(self.words, every, folded),
                Some(_) => with_words(filled, |filled| plan.folded(filled, every, folded)),
            };
            let mut kept = mask.map_or(count, |(mask, _)| others(mask, plan, self.words.len(), every, folded));
            let mut stands_for = self.words.len() as f64 / count.max(1) as f64;
            let share = kept * size_of::<W>() / TRIAL;
            if share > 1 {
                let some = pieces(&mut folded[..kept], share);
                stands_for *= kept as f64 / some as f64;
                kept = some;
            }
            (if kept > 8 { kept / 8 * 8 } else { kept }, stands_for) // bit codecs need a multiple of eight
        }))
    }
}

fn header<W>((plan, mask): Recipe<'_, W>) -> Result<Vec<u8>> {
    plan.header(mask.map(|(_, written)| written.as_slice()))
}

/// Moves the residuals of unmasked elements to the front; returns their number.
fn others<W: Word>(mask: &Mask<W>, plan: &DifferenceKernel, len: usize, every: usize, folded: &mut [W]) -> usize {
    let (mut runs, mut from, mut to) = (mask.runs(), 0, 0);
    for (start, band) in plan.bands(len, every) {
        while runs.before(start + band.start).is_some() {}
        while let Some((run, masked)) = runs.before(start + band.end) {
            if !masked {
                folded.copy_within(from..from + run.len(), to);
                to += run.len();
            }
            from += run.len();
        }
    }
    to
}

/// Moves pieces from all parts of the residuals to the front, one residual of every `share`; returns their number.
fn pieces<W: Word>(folded: &mut [W], share: usize) -> usize {
    let stride = folded.len() / PIECES;
    let piece = stride / share;
    (0..PIECES).for_each(|nth| folded.copy_within(nth * stride..nth * stride + piece, nth * piece));
    PIECES * piece
}

#[cfg(test)]
mod tests {
    use super::super::values::Space;
    use super::*;
    use crate::codecs::word::as_bytes;

    fn made(count: u64) -> Vec<u32> {
        let step =
            |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        std::iter::successors(Some(1u64), step).map(|state| (state >> 32) as u32).take(count as usize).collect()
    }

    fn run(words: &[u32], shape: &[u64], sets: &[&[usize]], mask: bool) -> Vec<u8> {
        let codecs = serde_json::json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]);
        let lists = [List::parse(&codecs, &crate::dtype::DType::UInt32).unwrap()];
        let mode = |axes: &&[usize]| Mode::Lorenzo { axes: Some(axes.to_vec()), space: Space::Bits };
        let modes: Vec<Mode> = sets.iter().map(mode).collect();
        let (mut out, mut scratch) = (Vec::new(), Scratch::new());
        assert!(
            encode::<u32>(as_bytes(words), shape, false, (&modes, mask), &lists, (&mut out, &mut scratch)).unwrap()
        );
        out
    }

    /// Rows with random starts and random steps: differences within rows repeat, differences between rows do not.
    fn rows(count: u64) -> Vec<u32> {
        let rows = made(count / 64);
        (0..count)
            .map(|i| (rows[i as usize / 64] >> 2).wrapping_add(i as u32 % 64 * (rows[i as usize / 64] >> 16)))
            .collect()
    }

    #[test]
    fn a_part_shows_the_mode() {
        for count in [TRIAL as u64 + 64, 1 << 19] {
            let (words, shape) = (rows(count), [count / 64, 64]);
            let (both, one) = (run(&words, &shape, &[&[0], &[1]], true), run(&words, &shape, &[&[1]], true));
            assert!(both == one);
            assert!(run(&words, &shape, &[&[1], &[0]], true) == one);
            assert!(run(&words, &shape, &[&[0]], true).len() > one.len());
        }
    }

    #[test]
    fn a_part_shows_whether_a_mask_pays() {
        for count in [1 << 18, 1 << 14] {
            let (mut words, shape) = (rows(count), [count / 64, 64]);
            assert!(run(&words, &shape, &[&[1]], true) == run(&words, &shape, &[&[1]], false), "no value is frequent");
            let hole = |nth: &usize| nth % 64 < 20 + nth / 64 % 20;
            (0..words.len()).filter(hole).for_each(|nth| words[nth] = 77);
            let (around, plain) = (run(&words, &shape, &[&[1]], true), run(&words, &shape, &[&[1]], false));
            assert!(around.len() < plain.len(), "{} {}", around.len(), plain.len());
            assert_eq!((around[1], plain[1]), (1, 0), "the flag of a mask");
        }
    }
}
