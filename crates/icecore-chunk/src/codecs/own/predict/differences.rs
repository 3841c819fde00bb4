//! Differences with elements some steps back along axes; Lorenzo's predictor is one step along each axis.

use crate::codecs::word::Word;

/// The partner is `lag` positions back along `axis`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub axis: usize,
    pub lag: u64,
}

/// The subtracted prediction of an element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Difference,
    Xor,
}

/// Maximum number of steps: all subsets of them are enumerated.
pub(super) const MAX_STEPS: usize = 8;

/// The number of elements of one run through an axis with all later axes, and the distance between partners in it.
pub(super) fn extent(shape: &[u64], step: Step) -> (usize, usize) {
    let inner = shape[step.axis + 1..].iter().product::<u64>() as usize;
    let block = shape[step.axis] as usize * inner;
    let apart = usize::try_from(step.lag).unwrap_or(usize::MAX).saturating_mul(inner);
    (block, apart.min(block))
}

/// Elements minus their partners; elements without a partner stay unchanged.
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

/// Sets the elements with `hole` to the value that makes their difference zero, in memory order.
pub(super) fn fill_holes<W: Word>(kind: Kind, words: &mut [W], shape: &[u64], steps: &[Step], hole: &[bool]) {
    let strides: Vec<usize> = (0..shape.len()).map(|a| shape[a + 1..].iter().product::<u64>() as usize).collect();
    // Inclusion–exclusion over all sets of steps.
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
