//! Summary of values: extremes, mean, root mean square, count, and covering intervals.

use crate::intervals::{BLOCK, INTERVALS, alike, intervals};
use crate::number::Number;

/// A summary of values. If no value is finite, `min`, `max`, `mean` and `rms` are meaningless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<T> {
    /// Number of finite values that are not null.
    pub count: u32,
    pub min: T,
    pub max: T,
    pub mean: f64,
    pub rms: f64,
    /// Closed, disjoint, ascending; together they contain every value that is not null, including infinities. If fewer
    /// are needed, the last one is repeated; see `covers`.
    pub intervals: [(T, T); INTERVALS],
    /// Whether any value is not null, so that the intervals are valid.
    pub covers: bool,
}

/// Summarises elements; NaN and `nulls` are left out.
pub fn summarise<T: Number>(bytes: &[u8], nulls: &[T]) -> Summary<T> {
    // Aligned and of constant length for the loops below; a zone fits the first-level cache.
    let values: Vec<T> = T::values(bytes).collect();
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has it.
        return unsafe { wide(&values, nulls) };
    }
    of(&values, nulls)
}

/// The same, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide<T: Number>(values: &[T], nulls: &[T]) -> Summary<T> {
    of(values, nulls)
}

#[inline(always)]
fn of<T: Number>(values: &[T], nulls: &[T]) -> Summary<T> {
    clean(values, nulls).unwrap_or_else(|| careful(values, nulls))
}

/// Number of independent sums, so that vector units can be used and sums don't wait for each other.
const LANES: usize = 8;

/// The fast path, for zones in which every value counts; None if some may not.
#[inline(always)]
fn clean<T: Number>(values: &[T], nulls: &[T]) -> Option<Summary<T>> {
    let first = *values.first()?;
    // Without early exit, so that several values are compared at once.
    if nulls.iter().any(|null| values.iter().fold(false, |any, v| any | (v == null))) {
        return None;
    }
    let (mut low, mut high, mut sum, mut squares) = ([first; LANES], [first; LANES], [0.0; LANES], [0.0; LANES]);
    let mut add = |lane: usize, v: T| {
        let x = v.float();
        low[lane] = if v < low[lane] { v } else { low[lane] };
        high[lane] = if v > high[lane] { v } else { high[lane] };
        sum[lane] += x;
        squares[lane] += x * x;
    };
    let mut repeated = (0.0, 0.0);
    for block in values.chunks(BLOCK) {
        let any = block.first().copied().unwrap_or(first);
        if alike(block) {
            let (n, x) = ((block.len() - 1) as f64, any.float());
            repeated = (repeated.0 + n * x, repeated.1 + n * (x * x));
            add(0, any);
            continue;
        }
        let (lines, rest) = block.as_chunks::<LANES>();
        for line in lines {
            for (lane, v) in line.iter().enumerate() {
                add(lane, *v);
            }
        }
        rest.iter().enumerate().for_each(|(lane, v)| add(lane, *v));
    }
    let (sum, squares) = (repeated.0 + sum.iter().sum::<f64>(), repeated.1 + squares.iter().sum::<f64>());
    if !squares.is_finite() {
        return None; // NaN or infinity among the values, or only in their squares: the slow path decides
    }
    let low = low.into_iter().fold(first, |a, b| if b < a { b } else { a });
    let high = high.into_iter().fold(first, |a, b| if b > a { b } else { a });
    let (count, intervals) = (values.len() as u32, intervals(values, low, high));
    let n = f64::from(count);
    Some(Summary { count, min: low, max: high, mean: sum / n, rms: (squares / n).sqrt(), intervals, covers: true })
}

fn careful<T: Number>(values: &[T], nulls: &[T]) -> Summary<T> {
    let nothing = T::from_int(0);
    let (mut low, mut high, mut finite_low, mut finite_high): (Option<T>, Option<T>, Option<T>, Option<T>) =
        Default::default();
    let (mut count, mut sum, mut squares) = (0u32, 0.0, 0.0);
    let wanted: Vec<T> = values.iter().copied().filter(|v| !v.is_nan() && !nulls.contains(v)).collect();
    for v in wanted.iter().copied() {
        let x = v.float();
        low = Some(low.map_or(v, |l| if v < l { v } else { l }));
        high = Some(high.map_or(v, |h| if v > h { v } else { h }));
        if x.is_finite() {
            finite_low = Some(finite_low.map_or(v, |l| if v < l { v } else { l }));
            finite_high = Some(finite_high.map_or(v, |h| if v > h { v } else { h }));
            count += 1;
            sum += x;
            squares += x * x;
        }
    }
    let (covers, intervals) = match (low, high) {
        (Some(low), Some(high)) => (true, intervals(&wanted, low, high)),
        _ => (false, [(nothing, nothing); INTERVALS]),
    };
    let n = f64::from(count.max(1));
    let (min, max) = (finite_low.unwrap_or(nothing), finite_high.unwrap_or(nothing));
    Summary { count, min, max, mean: sum / n, rms: (squares / n).sqrt(), intervals, covers }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_ne_bytes()).collect()
    }

    #[test]
    fn jumps_become_gaps() {
        let values: Vec<f64> = (0..1000).map(|i| [10.0, 190.0, 12.0, 350.0][i % 4] + i as f64 * 1e-4).collect();
        let s = summarise::<f64>(&bytes(&values), &[]);
        assert_eq!(s.count, 1000);
        for v in &values {
            assert!(s.intervals.iter().any(|(a, b)| a <= v && v <= b), "{v}");
        }
        let length: f64 = s.intervals.iter().map(|(a, b)| b - a).sum();
        assert!(length < 1.0, "{:?}", s.intervals);
        assert_eq!((s.min, s.max), (10.0, 350.0999));
    }

    #[test]
    fn the_fast_way_says_what_the_careful_one_does() {
        let mut seed = 1u64;
        for n in [1usize, 7, 8, 100, 4096] {
            for spread in [0u64, 3, 1000, 1 << 40] {
                let mut values = Vec::with_capacity(n);
                for _ in 0..n {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    values.push(((seed >> 20) % (spread + 1)) as f64 - spread as f64 / 3.0);
                }
                let (fast, careful) = (clean(&values, &[]).unwrap(), careful(&values, &[]));
                assert_eq!(summarise::<f64>(&bytes(&values), &[]), fast);
                assert!((fast.mean - careful.mean).abs() <= 1e-9 * (1.0 + careful.mean.abs()));
                assert!((fast.rms - careful.rms).abs() <= 1e-9 * (1.0 + careful.rms));
                assert_eq!(Summary { mean: 0.0, rms: 0.0, ..fast }, Summary { mean: 0.0, rms: 0.0, ..careful });
                assert!(values.iter().all(|v| fast.intervals.iter().any(|(a, b)| a <= v && v <= b)));
                assert!(fast.intervals.windows(2).all(|w| w[0] == w[1] || w[0].1 < w[1].0), "{:?}", fast.intervals);
            }
        }
        assert!(clean(&[1.0, f64::NAN], &[]).is_none());
        assert!(clean(&[1.0, 2.0], &[2.0]).is_none());
    }

    #[test]
    fn nulls_and_infinities() {
        let s = summarise::<f64>(&bytes(&[f64::NAN, -9999.0, 3.0, f64::INFINITY]), &[-9999.0]);
        assert_eq!((s.count, s.min, s.max, s.mean, s.rms), (1, 3.0, 3.0, 3.0, 3.0));
        assert_eq!((s.intervals[0], s.covers), ((3.0, f64::INFINITY), true));
        assert!(!summarise::<f64>(&bytes(&[f64::NAN]), &[]).covers);
        assert!(!summarise::<f64>(&[], &[]).covers);
        let extremes: Vec<u8> = [i64::MIN, i64::MAX, 0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let s = summarise::<i64>(&extremes, &[]);
        assert_eq!((s.intervals[0].0, s.intervals[3].1), (i64::MIN, i64::MAX));
    }
}
