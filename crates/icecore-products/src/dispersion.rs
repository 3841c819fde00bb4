//! Robust dispersion estimate of residuals with a known density of background photons (ATBD, section 5.9).

/// Half the distance between the 25th and 75th percentile of a normal distribution is 0.6745 standard deviations.
const SCALE: f64 = 1.3490;

/// The robust dispersion of sorted residuals; None if the percentiles are outside the residuals.
///
/// `low` and `high` are the ends of the window, `density` the background photons per metre of height.
pub fn robust(sorted: &[f64], low: f64, high: f64, density: f64) -> Option<f64> {
    let count = sorted.len() as f64;
    let signal = count - density * (high - low);
    if signal <= 1.0 {
        return Some((high - low) / count);
    }
    // Expected number of photons up to a residual that a part of the signal photons and the background below it give.
    let expected = |part: f64, residual: f64| part * signal + (residual - low) * density;
    let from_below = sorted.iter().zip(1u32..);
    let lower = from_below.take_while(|(r, rank)| f64::from(*rank) + 0.5 < expected(0.25, **r)).count();
    let from_above = sorted.iter().enumerate().rev();
    let above = from_above.take_while(|(i, r)| *i as f64 - 0.5 > expected(0.75, **r)).count();
    if lower + above < sorted.len() {
        return Some((sorted[sorted.len() - 1 - above] - sorted[lower]) / SCALE);
    }
    // The central values.
    let lower = (count / 2.0 - signal / 4.0 + 0.5).floor() as usize;
    let upper = (count / 2.0 + signal / 4.0 + 0.5).floor() as usize;
    let (lower, upper) = (sorted.get(lower.checked_sub(1)?)?, sorted.get(upper)?);
    Some((upper - lower) / SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_background_it_is_the_interquartile_range() {
        let sorted: Vec<f64> = (0..100).map(f64::from).collect();
        let found = robust(&sorted, 0.0, 99.0, 0.0).unwrap();
        assert!((found - 50.0 / SCALE).abs() < 2.0, "{found}");
    }

    #[test]
    fn pure_background_gives_its_spacing() {
        let sorted: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(robust(&sorted, 0.0, 9.0, 2.0), Some(0.9));
    }

    #[test]
    fn background_is_subtracted() {
        // 100 signal photons within ±0.1 m, 200 background photons within ±10 m.
        let mut all: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.002 - 0.1).collect();
        all.extend((0..200).map(|i| f64::from(i) * 0.1 - 10.0));
        all.sort_unstable_by(f64::total_cmp);
        assert!(robust(&all, -10.0, 10.0, 10.0).unwrap() < 0.2);
        assert!(robust(&all, -10.0, 10.0, 0.0).unwrap() > 3.0);
    }

    #[test]
    fn few_photons_are_no_panic() {
        assert_eq!(robust(&[0.5], 0.5, 0.5, 0.0), Some(0.0));
        for n in 1..6 {
            for density in [0.0, 0.1, 0.9] {
                let sorted: Vec<f64> = (0..n).map(f64::from).collect();
                let found = robust(&sorted, 0.0, f64::from(n), density);
                assert!(found.is_none_or(|sigma| sigma >= 0.0));
            }
        }
    }
}
