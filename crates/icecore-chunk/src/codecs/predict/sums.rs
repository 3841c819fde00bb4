//! Differences back to elements: sums along axes. Everything is done while a row, then a plane, is still in a cache.

use super::differences::{Kind, Step, extent};
use crate::codecs::scan;
use crate::codecs::word::Word;

/// Words that are unfolded, summed and finished together: they stay in the first cache.
const PIECE: usize = 1024;
/// Rows shorter than this are not worth the way through them: such steps go over everything on their own.
const NEAR: usize = 16;
const EIGHT: usize = 8;

/// What happens to each word, beside the sums.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// Words come folded.
    pub folded: bool,
    /// Sums are sortable bits, and become the bits themselves.
    pub sortable: bool,
}

/// The inverse of `forward`, in place.
pub(super) fn inverse<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], ends: Ends) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { inverse_avx2(kind, words, shape, steps, ends) };
    }
    inverse_plain(kind, words, shape, steps, ends);
}

/// The same loops, for twice as wide registers.
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

/// A step that is taken row after row: where the next row is in the run through its axis.
struct Level<W> {
    block: usize,
    apart: usize,
    within: usize,
    /// The last `apart` sums up to this axis; none for the outermost step, whose partners are finished elements.
    held: Vec<W>,
}

impl<W> Level<W> {
    /// Whether the next row has a partner.
    fn paired(&self) -> bool {
        self.within >= self.apart
    }

    fn pass(&mut self, row: usize) {
        self.within += row;
        if self.within == self.block {
            self.within = 0;
        }
    }
}

#[inline(always)]
fn sums<W: Word, const XOR: bool>(words: &mut [W], shape: &[u64], steps: &[Step], mut ends: Ends) {
    // The steps commute: those that don't fit the way through rows come first.
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
                // Nothing is done within a row then: it is what lies behind the innermost step.
                row = row.min(inner);
                levels.push(Level { block, apart, within: 0, held: Vec::new() });
            }
        }
    }
    if !others.is_empty() && ends.folded {
        words.iter_mut().for_each(|w| *w = w.unfold());
        ends.folded = false;
    }
    others.into_iter().for_each(|(block, apart)| alone::<W, XOR>(words, block, apart));
    let inner = levels.len().saturating_sub(1);
    levels[..inner].iter_mut().for_each(|level| level.held = vec![W::default(); level.apart]);
    let (mut start, mut sum) = (0, W::default());
    while start < words.len() {
        // Whole rows, or a piece of one.
        let rest = row - start % row;
        let len = if row > PIECE { rest.min(PIECE) } else { (PIECE / row * row).min(words.len() - start) };
        let piece = &mut words[start..start + len];
        match (scan, ends.folded) {
            (true, _) if row > PIECE || XOR => {
                if ends.folded {
                    piece.iter_mut().for_each(|w| *w = w.unfold());
                }
                for run in piece.chunks_mut(row) {
                    sum = add_up::<W, XOR>(run, if rest == row { W::default() } else { sum });
                }
            }
            (true, true) => scan::add_up_rows::<W, true>(piece, row),
            (true, false) => scan::add_up_rows::<W, false>(piece, row),
            (false, true) => piece.iter_mut().for_each(|w| *w = w.unfold()),
            (false, false) => {}
        }
        for at in (start..start + len).step_by(row.min(len)) {
            climb::<W, XOR>(&mut words[..at + row.min(len)], at, &mut levels, ends.sortable);
        }
        start += len;
    }
}

/// Adds to the last words, from `at` on, their partners along each axis, and finishes them.
#[inline(always)]
fn climb<W: Word, const XOR: bool>(words: &mut [W], at: usize, levels: &mut [Level<W>], sortable: bool) {
    let (before, row) = words.split_at_mut(at);
    let Some((outermost, inner)) = levels.split_last_mut() else {
        return if sortable {
            row.iter_mut().for_each(|w| *w = w.bits())
        };
    };
    let partners = outermost.paired().then(|| &before[at - outermost.apart..][..row.len()]);
    outermost.pass(row.len());
    let count = inner.len();
    for (nth, level) in inner.iter_mut().enumerate() {
        let (paired, from) = (level.paired(), level.within % level.apart);
        level.pass(row.len());
        let held = &mut level.held[from..][..row.len()];
        match (paired, partners) {
            (false, _) => held.copy_from_slice(row),
            (true, Some(partners)) if nth + 1 == count => return last::<W, XOR>(row, held, partners, sortable),
            (true, _) => {
                by_eights(held, row, plus::<W, XOR>);
                row.copy_from_slice(held);
            }
        }
    }
    match (partners, sortable) {
        (Some(partners), true) => by_eights(row, partners, |w, p: W| plus::<W, XOR>(w, p.sortable()).bits()),
        (Some(partners), false) => by_eights(row, partners, plus::<W, XOR>),
        (None, true) => row.iter_mut().for_each(|w| *w = w.bits()),
        (None, false) => {}
    }
}

/// The last two steps in one go.
#[inline(always)]
fn last<W: Word, const XOR: bool>(row: &mut [W], held: &mut [W], partners: &[W], sortable: bool) {
    let finish = |w, p: W| if sortable { plus::<W, XOR>(w, p.sortable()).bits() } else { plus::<W, XOR>(w, p) };
    let ((words, rest), (sums, more)) = (row.as_chunks_mut::<EIGHT>(), held.as_chunks_mut::<EIGHT>());
    for ((w, h), p) in words.iter_mut().zip(sums).zip(partners.as_chunks::<EIGHT>().0) {
        let sum: [W; EIGHT] = std::array::from_fn(|i| plus::<W, XOR>(h[i], w[i]));
        *h = sum;
        let partner = *p;
        *w = std::array::from_fn(|i| finish(sum[i], partner[i]));
    }
    by_eights(more, rest, plus::<W, XOR>);
    rest.iter_mut().zip(more).for_each(|(w, h)| *w = *h);
    let from = partners.len() - rest.len();
    by_eights(rest, &partners[from..], finish);
}

/// `words[i] = work(words[i], others[i])`, eight at a time: as they are read first, the compiler need not prove that the two
/// lie apart, and takes registers of eight.
#[inline(always)]
fn by_eights<W: Word>(words: &mut [W], others: &[W], work: impl Fn(W, W) -> W) {
    let ((eights, rest), (partners, more)) = (words.as_chunks_mut::<EIGHT>(), others.as_chunks::<EIGHT>());
    for (w, o) in eights.iter_mut().zip(partners) {
        let (mine, other) = (*w, *o);
        *w = std::array::from_fn(|i| work(mine[i], other[i]));
    }
    rest.iter_mut().zip(more).for_each(|(w, o)| *w = work(*w, *o));
}

/// Running sums from `sum` on; the last of them.
#[inline(always)]
fn add_up<W: Word, const XOR: bool>(words: &mut [W], mut sum: W) -> W {
    if !XOR {
        return scan::add_up(words, sum);
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

/// One step over all words.
#[inline(always)]
fn alone<W: Word, const XOR: bool>(words: &mut [W], block: usize, apart: usize) {
    for run in words.chunks_mut(block) {
        if apart == 1 {
            add_up::<W, XOR>(run, W::default());
            continue;
        }
        if apart < NEAR {
            // Short strides one by one: slices cost more than they bring.
            for at in apart..run.len() {
                run[at] = plus::<W, XOR>(run[at], run[at - apart]);
            }
            continue;
        }
        let mut rest = run;
        while rest.len() > apart {
            let (done, next) = rest.split_at_mut(apart);
            let len = next.len().min(apart);
            by_eights(&mut next[..len], &done[..len], plus::<W, XOR>);
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
