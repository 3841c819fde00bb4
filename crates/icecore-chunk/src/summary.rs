//! What a run of values looks like from afar: extremes, mean, root mean square, count, and the intervals that cover it.

use crate::number::Number;

/// Intervals kept of a zone: enough for an orbit's longitudes, which jump twice a turn.
pub const INTERVALS: usize = 4;

/// A summary of some values. Without a finite value `min`, `max`, `mean` and `rms` mean nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<T> {
    /// Finite values that are not null.
    pub count: u32,
    pub min: T,
    pub max: T,
    pub mean: f64,
    pub rms: f64,
    /// Closed, disjoint, ascending; they cover every value that is not null, infinities too. The last one is repeated
    /// where fewer are needed; see `covers`.
    pub intervals: [(T, T); INTERVALS],
    /// Whether there is any value that is not null, so that the intervals mean something.
    pub covers: bool,
}

/// Summarises elements; NaN and `nulls` are left out.
pub fn summarise<T: Number>(bytes: &[u8], nulls: &[T]) -> Summary<T> {
    let nothing = T::from_int(0);
    let wanted = |v: &T| !v.is_nan() && !nulls.contains(v);
    let (mut low, mut high, mut finite_low, mut finite_high): (Option<T>, Option<T>, Option<T>, Option<T>) =
        Default::default();
    let (mut count, mut sum, mut squares) = (0u32, 0.0, 0.0);
    for v in T::values(bytes).filter(wanted) {
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
        (Some(low), Some(high)) => (true, intervals(T::values(bytes).filter(wanted), low, high)),
        _ => (false, [(nothing, nothing); INTERVALS]),
    };
    let n = f64::from(count.max(1));
    let (min, max) = (finite_low.unwrap_or(nothing), finite_high.unwrap_or(nothing));
    Summary { count, min, max, mean: sum / n, rms: (squares / n).sqrt(), intervals, covers }
}

/// Buckets that values are sorted into: gaps narrower than this part of the whole range are not looked for.
const BUCKETS: usize = 256;

/// Cuts [low, high] at its widest gaps. One pass: each bucket keeps its own extremes.
fn intervals<T: Number>(values: impl Iterator<Item = T>, low: T, high: T) -> [(T, T); INTERVALS] {
    let (from, width) = (low.float(), high.float() - low.float());
    if !(width.is_finite() && width > 0.0) {
        return [(low, high); INTERVALS];
    }
    let scale = (BUCKETS - 1) as f64 / width;
    let mut buckets: [Option<(T, T)>; BUCKETS] = [None; BUCKETS];
    for v in values {
        let number = ((v.float() - from) * scale) as usize; // saturates; never falls when v rises
        if let Some(bucket) = buckets.get_mut(number.min(BUCKETS - 1)) {
            *bucket = Some(match *bucket {
                None => (v, v),
                Some((a, b)) => (if v < a { v } else { a }, if v > b { v } else { b }),
            });
        }
    }
    let used: Vec<(T, T)> = buckets.into_iter().flatten().collect();
    let mut gaps: Vec<(f64, usize)> =
        used.windows(2).enumerate().map(|(i, pair)| (pair[1].0.float() - pair[0].1.float(), i)).collect();
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0));
    gaps.truncate(INTERVALS - 1);
    let mut cuts: Vec<usize> = gaps.into_iter().filter(|(gap, _)| *gap > 0.0).map(|(_, i)| i).collect();
    cuts.sort_unstable();
    let (mut found, mut start) = (Vec::with_capacity(INTERVALS), low);
    for cut in cuts {
        if let (Some(before), Some(after)) = (used.get(cut), used.get(cut + 1)) {
            found.push((start, before.1));
            start = after.0;
        }
    }
    found.push((start, high));
    std::array::from_fn(|i| found.get(i).or(found.last()).copied().unwrap_or((low, high)))
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
