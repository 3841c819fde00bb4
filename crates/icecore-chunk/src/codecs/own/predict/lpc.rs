//! Linear prediction of time series from up to 128 previous samples along the last axis. The order of summation is
//! fixed: eight lanes that fit vector registers, then the lanes in pairs.

use super::stencil::rounded;
use crate::codecs::word::Word;

const LANES: usize = 8;
pub(super) const MAX_TAPS: usize = 128;

/// Weights, the oldest sample's first, with leading zeros up to a multiple of the lanes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weights(Vec<f64>);

impl Weights {
    /// From weights of the samples 1, 2, … back.
    pub fn new(weights: &[f64]) -> Weights {
        let mut padded = vec![0.0; weights.len().next_multiple_of(LANES) - weights.len()];
        padded.extend(weights.iter().rev());
        Weights(padded)
    }

    /// The weights of the samples 1, 2, … back.
    pub fn list(&self) -> impl ExactSizeIterator<Item = f64> {
        self.0.iter().rev().copied()
    }

    /// The prediction after `past`, which has as many samples as there are weights.
    #[inline(always)]
    fn predict(&self, past: &[f64]) -> f64 {
        let mut sums = [0.0; LANES];
        for (w, p) in self.0.as_chunks::<LANES>().0.iter().zip(past.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                sums[lane] += w[lane] * p[lane];
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    /// Calls `visit` with each element and its prediction (as sortable bits); the result replaces the element. Samples
    /// before the start of a row are zeros.
    fn walk<W: Word>(&self, values: &mut [W], shape: &[u64], mut visit: impl FnMut(W, W, usize) -> W) {
        let columns = shape.last().map_or(1, |n| *n as usize).max(1);
        let taps = self.0.len();
        let mut past = vec![0.0; taps + columns];
        for (row, values) in values.chunks_mut(columns).enumerate() {
            for at in 0..values.len() {
                let prediction = rounded(self.predict(&past[at..at + taps]));
                values[at] = visit(values[at], prediction, row * columns + at);
                past[at + taps] = values[at].to_f64();
            }
        }
    }
}

/// Converts elements to residuals.
pub(super) fn forward<W: Word>(weights: &Weights, raw: &[W], shape: &[u64]) -> Vec<W> {
    let mut residual = vec![W::default(); raw.len()];
    let mut values = raw.to_vec();
    weights.walk(&mut values, shape, |value, prediction, at| {
        residual[at] = value.sortable().sub(prediction);
        value
    });
    residual
}

/// Converts residuals to elements, in place.
pub(super) fn inverse<W: Word>(weights: &Weights, words: &mut [W], shape: &[u64], folded: bool) {
    let unfold = |w: W| if folded { w.unfold() } else { w };
    weights.walk(words, shape, |w, prediction, _| prediction.add(unfold(w)).bits());
}

/// Weights of the samples 1, 2, … back by Burg's method, which minimises the sum of forward and backward prediction
/// errors and is stable for spectra over many decades. `None` if samples are not finite or all zero.
pub(super) fn burg<W: Word>(raw: &[W], taps: usize) -> Option<Vec<f64>> {
    let samples: Vec<f64> = raw.iter().map(|w| w.to_f64()).collect();
    let largest = samples.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    // Also false for NaN.
    if samples.len() <= 2 * taps || !samples.iter().all(|v| v.is_finite()) || largest == 0.0 {
        return None;
    }
    let mut forward: Vec<f64> = samples.iter().map(|v| v / largest).collect();
    let mut backward = forward.clone();
    let mut weights: Vec<f64> = Vec::with_capacity(taps);
    for order in 0..taps {
        let (f, b) = (&forward[order + 1..], &backward[order..samples.len() - 1]);
        let (mut top, mut bottom) = (0.0, 0.0);
        for (f, b) in f.iter().zip(b) {
            top += f * b;
            bottom += f * f + b * b;
        }
        if bottom <= 0.0 || !bottom.is_finite() {
            break;
        }
        let reflection = 2.0 * top / bottom;
        let before = weights.clone();
        (0..order).for_each(|i| weights[i] = before[i] - reflection * before[order - 1 - i]);
        weights.push(reflection);
        for at in (order + 1..samples.len()).rev() {
            let (f, b) = (forward[at], backward[at - 1]);
            forward[at] = f - reflection * b;
            backward[at] = b - reflection * f;
        }
    }
    weights.iter().all(|w| w.is_finite()).then_some(weights).filter(|w| !w.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oscillation_is_predicted() {
        let samples: Vec<u64> = (0..500).map(|i| ((i as f64 * 0.3).sin() * 1e-19).to_bits()).collect();
        let weights = burg(&samples, 2).unwrap();
        assert!((weights[0] - 2.0 * 0.3f64.cos()).abs() < 1e-3 && (weights[1] + 1.0).abs() < 1e-3, "{weights:?}");
        assert_eq!(burg(&[0u64; 100], 4), None);
        assert_eq!(burg(&[f64::NAN.to_bits(); 100], 4), None);
        let weights = Weights::new(&[1.0, 2.0, 3.0]);
        assert_eq!(weights.predict(&[9.0, 9.0, 9.0, 9.0, 9.0, 100.0, 10.0, 1.0]), 321.0);
    }
}
