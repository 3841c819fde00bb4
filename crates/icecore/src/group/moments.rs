//! Mean and squared deviations per key.

use super::sharded_accumulators::Place;

/// Values enter as deviations from the current mean (at first, from the first value). Blocks of them are combined with
/// the earlier ones as in T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances" (1979): precision is kept even if values vary little around a large mean.
#[derive(Clone, Copy, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Rounding error of the mean, without which deviations from it would be inaccurate.
    rest: f64,
    m2: f64,
    new: u64,
    sum: f64,
    squares: f64,
}

/// Values per block: few enough for plain sums.
const NEW: u64 = 256;

impl Moments {
    #[inline(always)]
    pub fn add(&mut self, value: f64) {
        if self.count + self.new == 0 && value.is_finite() {
            self.mean = value;
        }
        let gap = value - self.mean;
        if !gap.is_finite() {
            return self.add_infinite(value, gap);
        }
        self.new += 1;
        self.sum += gap;
        self.squares += gap * gap;
        if self.new == NEW {
            *self = self.settled();
        }
    }

    /// The result, including the current block.
    pub fn settled(mut self) -> Self {
        if self.new > 0 {
            let new = self.new as f64;
            let m2 = self.squares - self.sum * (self.sum / new);
            let m2 = if m2.is_nan() { f64::INFINITY } else { m2.max(0.0) }; // squares overflow
            self.take_in(self.new, self.sum / new - self.rest, m2);
            (self.new, self.sum, self.squares) = (0, 0.0, 0.0);
        }
        self
    }

    /// Combines with another part: `gap` is the difference of the means.
    fn take_in(&mut self, count: u64, gap: f64, m2: f64) {
        let (before, new) = (self.count as f64, count as f64);
        let share = new / (before + new);
        let step = self.rest + gap * share;
        let mean = self.mean + step;
        let stepped = mean - self.mean;
        self.rest = (self.mean - (mean - stepped)) + (step - stepped);
        self.mean = mean;
        self.m2 += m2 + gap * gap * before * share;
        self.count += count;
    }

    /// Infinities have no deviation; values too far from the mean are treated as infinite.
    #[cold]
    fn add_infinite(&mut self, value: f64, gap: f64) {
        *self = self.settled();
        self.rest = 0.0;
        self.mean = if self.mean.is_finite() { gap } else { self.mean + value };
        self.m2 = f64::NAN;
        self.count += 1;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The sum of squared deviations.
    pub fn m2(&self) -> f64 {
        self.m2
    }
}

impl Place for Moments {
    fn join(&mut self, other: &Self) {
        let (one, other) = (self.settled(), other.settled());
        let gap = (other.mean - one.mean) + (other.rest - one.rest);
        *self = if one.count == 0 {
            other
        } else if other.count == 0 {
            one
        } else if gap.is_finite() {
            let mut both = one;
            both.take_in(other.count, gap, other.m2);
            both
        } else {
            let is_far = one.mean.is_finite() && other.mean.is_finite();
            let mean = if is_far { gap } else { one.mean + other.mean };
            Self { count: one.count + other.count, mean, m2: f64::NAN, ..Self::default() }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> (f64, f64) {
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.add(*value));
        let settled = moments.settled();
        assert_eq!(settled.count(), values.len() as u64);
        (settled.mean(), settled.m2())
    }

    #[test]
    fn what_varies_little_far_from_zero() {
        let values: Vec<f64> = (0..100_000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let (mean, m2) = of(&values);
        assert!((mean - (1e9 + 0.5)).abs() < 1e-6 && (m2 / 25_000.0 - 1.0).abs() < 1e-9, "{mean} {m2}");
        let values: Vec<f64> = (0..100_000).map(|i| 1e9 + f64::from(i * 7919 % 1000) * 2.0f64.powi(-20)).collect();
        let wanted = 999_999.0 / 12.0 * 2.0f64.powi(-40);
        assert!((of(&values).1 / 100_000.0 / wanted - 1.0).abs() < 1e-11, "{} {wanted}", of(&values).1);
        assert_eq!(of(&[0.1; 1000]), (0.1, 0.0));
    }

    #[test]
    fn a_first_value_far_from_the_others() {
        let values: Vec<f64> = std::iter::once(-1e7).chain((0..100_000).map(|i| f64::from(i % 2))).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let wanted: f64 = values.iter().rev().map(|v| (v - mean) * (v - mean)).sum();
        assert!((of(&values).1 / wanted - 1.0).abs() < 1e-12);
    }

    #[test]
    fn joined_parts_are_the_whole() {
        let values: Vec<f64> = (0..10_000).map(|i| 1e9 + f64::from(i * 7919 % 1000) * 2.0f64.powi(-20)).collect();
        let (mean, m2) = of(&values);
        for cut in [0, 1, 255, 256, 5000, 9999, 10_000] {
            let mut parts = [Moments::default(), Moments::default()];
            values.iter().enumerate().for_each(|(i, value)| parts[usize::from(i >= cut)].add(*value));
            let [mut one, other] = parts;
            one.join(&other);
            assert_eq!((one.settled().count(), one.settled().mean()), (10_000, mean));
            assert!((one.settled().m2() / m2 - 1.0).abs() < 1e-11);
        }
        for values in [[1.0, f64::INFINITY], [f64::INFINITY, 1.0], [-1.7e308, 1.7e308]] {
            let [mut one, mut other] = [Moments::default(); 2];
            one.add(values[0]);
            other.add(values[1]);
            one.join(&other);
            assert!(one.mean == f64::INFINITY && one.m2.is_nan() && one.count == 2);
        }
    }

    #[test]
    fn infinities() {
        for values in [&[1.0, f64::INFINITY, 2.0][..], &[f64::INFINITY, 1.0], &[1.0, 2.0, f64::INFINITY]] {
            let (mean, m2) = of(values);
            assert!(mean == f64::INFINITY && m2.is_nan());
        }
        assert!(of(&[f64::INFINITY, 3.0, f64::NEG_INFINITY]).0.is_nan());
    }
}
