//! Differences with what lies some steps back along axes (Lorenzo's predictor is one such step along each axis), and
//! their inverse: prefix sums.

use super::word::Word;

/// Look `lag` positions back along `axis`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub axis: usize,
    pub lag: u64,
}

/// What is taken away from an element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Difference,
    Xor,
}

/// More than any use; subsets of them are enumerated.
pub(super) const MAX_STEPS: usize = 8;

/// The elements of one run through an axis, with all axes behind it, and how far apart the partners lie in it.
fn extent(shape: &[u64], step: Step) -> (usize, usize) {
    let inner = shape[step.axis + 1..].iter().product::<u64>() as usize;
    let block = shape[step.axis] as usize * inner;
    let apart = usize::try_from(step.lag).unwrap_or(usize::MAX).saturating_mul(inner);
    (block, apart.min(block))
}

/// Elements minus their partners; those without a partner stay.
pub(super) fn forward<W: Word>(kind: Kind, words: &[W], shape: &[u64], steps: &[Step]) -> Vec<W> {
    let mut words = words.to_vec();
    for step in steps {
        let (block, apart) = extent(shape, *step);
        if apart == 0 || apart >= block {
            continue;
        }
        let mut next = Vec::with_capacity(words.len());
        for run in words.chunks(block) {
            next.extend_from_slice(&run[..apart]);
            let pairs = run[apart..].iter().zip(run);
            match kind {
                Kind::Difference => next.extend(pairs.map(|(a, b)| a.sub(*b))),
                Kind::Xor => next.extend(pairs.map(|(a, b)| a.xor(*b))),
            }
        }
        words = next;
    }
    words
}

/// The inverse of `forward`, in place. With `folded`, the words are unfolded on the way.
pub(super) fn inverse<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], folded: bool) {
    // The steps commute. Neighbours in memory come first, together with the unfolding, while a row is in the cache.
    let next_to = |step: &&Step| extent(shape, **step).1 == 1;
    let rows = steps.iter().find(next_to);
    match (rows, kind) {
        (Some(step), _) => {
            for run in words.chunks_mut(extent(shape, *step).0) {
                match (kind, folded) {
                    (Kind::Difference, true) => scan(run, |sum, w: W| sum.add(w.unfold())),
                    (Kind::Difference, false) => scan(run, W::add),
                    (Kind::Xor, true) => scan(run, |sum, w: W| sum.xor(w.unfold())),
                    (Kind::Xor, false) => scan(run, W::xor),
                }
            }
        }
        (None, _) if folded => words.iter_mut().for_each(|w| *w = w.unfold()),
        (None, _) => {}
    }
    let mut first = true;
    for step in steps {
        if next_to(&step) && std::mem::take(&mut first) {
            continue;
        }
        let (block, apart) = extent(shape, *step);
        if apart == 0 || apart >= block {
            continue;
        }
        for run in words.chunks_mut(block) {
            match kind {
                Kind::Difference => add_partners(run, apart, W::add),
                Kind::Xor => add_partners(run, apart, W::xor),
            }
        }
    }
}

#[inline(always)]
fn scan<W: Word>(run: &mut [W], add: impl Fn(W, W) -> W) {
    let mut sum = W::default();
    for word in run {
        sum = add(sum, *word);
        *word = sum;
    }
}

#[inline(always)]
fn add_partners<W: Word>(run: &mut [W], apart: usize, add: impl Fn(W, W) -> W) {
    // Short strides one by one: slices cost more than they bring.
    if apart < 8 {
        for at in apart..run.len() {
            run[at] = add(run[at], run[at - apart]);
        }
        return;
    }
    let mut rest = run;
    while rest.len() > apart {
        let (done, next) = rest.split_at_mut(apart);
        next.iter_mut().zip(done.iter()).for_each(|(a, b)| *a = add(*a, *b));
        rest = next;
    }
}

/// Gives the elements where `hole` is set the value that makes their difference zero, in memory order.
pub(super) fn fill_holes<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], hole: &[bool]) {
    let strides: Vec<usize> = (0..shape.len()).map(|a| shape[a + 1..].iter().product::<u64>() as usize).collect();
    // Inclusion and exclusion over all sets of steps.
    let sets: Vec<(Vec<u64>, usize, bool)> = (1u32..1 << steps.len().min(MAX_STEPS))
        .map(|set| {
            let mut back = vec![0u64; shape.len()];
            for (_, step) in steps.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
                back[step.axis] = back[step.axis].saturating_add(step.lag);
            }
            let flat =
                back.iter().zip(&strides).fold(0usize, |n, (b, s)| n.saturating_add((*b as usize).saturating_mul(*s)));
            (back, flat, set.count_ones() % 2 == 1)
        })
        .collect();
    for at in (0..words.len()).filter(|at| hole[*at]) {
        let mut value = W::default();
        for (back, flat, plus) in &sets {
            let inside = back.iter().zip(shape).zip(&strides).all(|((b, n), s)| (at / s) as u64 % n >= *b);
            if inside {
                let partner = words[at - flat];
                value = match (kind, plus) {
                    (Kind::Xor, _) => value.xor(partner),
                    (Kind::Difference, true) => value.add(partner),
                    (Kind::Difference, false) => value.sub(partner),
                };
            }
        }
        words[at] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<W: Word + std::fmt::Debug>(shape: &[u64], steps: &[Step]) {
        let count = shape.iter().product::<u64>();
        let words: Vec<W> = (0..count).map(|i| W::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3)).collect();
        for kind in [Kind::Difference, Kind::Xor] {
            let residual = forward(kind, &words, shape, steps);
            let mut plain = residual.clone();
            inverse(kind, &mut plain, shape, steps, false);
            assert_eq!(plain, words, "{shape:?} {steps:?}");
            let mut folded: Vec<W> = residual.iter().map(|w| w.fold()).collect();
            inverse(kind, &mut folded, shape, steps, true);
            assert_eq!(folded, words, "{shape:?} {steps:?} folded");
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
        for shape in [[4, 5, 6], [1, 1, 30], [3, 1, 1], [2, 19, 3], [7, 2, 11]] {
            for set in 0..8u32 {
                let steps: Vec<Step> = (0..3).filter(|i| set >> i & 1 == 1).map(|i| all[i]).collect();
                check::<u32>(&shape, &steps);
                check::<u8>(&shape, &steps);
            }
            check::<u64>(&shape, &[step(2, 2), step(2, 1), step(0, 1)]);
            check::<u16>(&shape, &[step(2, 1), step(2, 1), step(1, 3)]);
            check::<u16>(&shape, &[step(1, u64::MAX), step(0, 2)]);
        }
        check::<u64>(&[1000], &[step(0, 189)]);
        check::<u64>(&[], &[]);
    }
}
