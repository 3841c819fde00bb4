//! Mean and squared deviations of the rows of a key.

/// Values are taken as deviations from the mean so far (from the first value to begin with), and some of them at a time
/// joined with those before, as in T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances" (1979): nothing is lost where values vary little around one that is far from zero.
#[derive(Clone, Copy, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// What rounding took from the mean: deviations from it would else have an error of their own.
    rest: f64,
    m2: f64,
    new: u64,
    sum: f64,
    squares: f64,
}

/// Values that are joined with those before at a time: few enough for plain sums, which lose one bit in so many.
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

    /// With all values joined.
    pub fn settled(self) -> Self {
        if self.new == 0 {
            return self;
        }
        let (before, new) = (self.count as f64, self.new as f64);
        let from_mean = self.sum / new;
        let m2 = self.squares - self.sum * from_mean;
        let m2 = if m2.is_nan() { f64::INFINITY } else { m2.max(0.0) }; // too large to be squared
        let share = new / (before + new);
        let gap = from_mean - self.rest;
        let step = self.rest + gap * share;
        let mean = self.mean + step;
        let stepped = mean - self.mean;
        Self {
            count: self.count + self.new,
            mean,
            rest: (self.mean - (mean - stepped)) + (step - stepped),
            m2: self.m2 + m2 + gap * gap * before * share,
            ..Self::default()
        }
    }

    /// Infinities have no deviations; what is too far from the mean is taken for one.
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
    fn infinities() {
        for values in [&[1.0, f64::INFINITY, 2.0][..], &[f64::INFINITY, 1.0], &[1.0, 2.0, f64::INFINITY]] {
            let (mean, m2) = of(values);
            assert!(mean == f64::INFINITY && m2.is_nan());
        }
        assert!(of(&[f64::INFINITY, 3.0, f64::NEG_INFINITY]).0.is_nan());
    }
}
