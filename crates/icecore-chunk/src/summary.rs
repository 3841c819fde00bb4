//! What a run of values looks like from afar: extremes, mean, root mean square, count, and the intervals that cover it.

use std::cmp::Ordering;

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
    clean(bytes, nulls).unwrap_or_else(|| careful(bytes, nulls))
}

/// Side by side, so that the processor's vector units can be used and sums don't wait for each other.
const LANES: usize = 8;

/// The fast way, for zones in which every value counts; None where some may not.
fn clean<T: Number>(bytes: &[u8], nulls: &[T]) -> Option<Summary<T>> {
    let first = T::values(bytes).next()?;
    if nulls.iter().any(|null| T::values(bytes).any(|v| v == *null)) {
        return None;
    }
    let (mut low, mut high, mut sum, mut squares) = ([first; LANES], [first; LANES], [0.0; LANES], [0.0; LANES]);
    for block in bytes.chunks(T::SIZE * LANES) {
        let lanes = low.iter_mut().zip(&mut high).zip(sum.iter_mut().zip(&mut squares));
        for (v, ((low, high), (sum, squares))) in T::values(block).zip(lanes) {
            let x = v.float();
            *low = if v < *low { v } else { *low };
            *high = if v > *high { v } else { *high };
            *sum += x;
            *squares += x * x;
        }
    }
    let (sum, squares): (f64, f64) = (sum.iter().sum(), squares.iter().sum());
    if !squares.is_finite() {
        return None; // NaN or infinity among the values (or only in their squares: the careful way finds out)
    }
    let low = low.into_iter().fold(first, |a, b| if b < a { b } else { a });
    let high = high.into_iter().fold(first, |a, b| if b > a { b } else { a });
    let (count, intervals) = ((bytes.len() / T::SIZE) as u32, intervals(T::values(bytes), low, high));
    let n = f64::from(count);
    Some(Summary { count, min: low, max: high, mean: sum / n, rms: (squares / n).sqrt(), intervals, covers: true })
}

fn careful<T: Number>(bytes: &[u8], nulls: &[T]) -> Summary<T> {
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
    let mut buckets = [(high, low); BUCKETS]; // the wrong way round while empty
    let mut before = None;
    for v in values {
        if before == Some(v) {
            continue; // what is written once a sample comes often
        }
        before = Some(v);
        let number = ((v.float() - from) * scale) as usize; // saturates; never falls when v rises
        if let Some((least, most)) = buckets.get_mut(number.min(BUCKETS - 1)) {
            *least = if v < *least { v } else { *least };
            *most = if v > *most { v } else { *most };
        }
    }
    let mut widest = [(0.0, low, low); INTERVALS - 1]; // (width, end, start of what follows)
    let mut end = low;
    for (least, most) in buckets.into_iter().filter(|(least, most)| least <= most) {
        let mut gap = (least.float() - end.float(), end, least);
        for kept in &mut widest {
            if gap.0 > kept.0 {
                std::mem::swap(&mut gap, kept);
            }
        }
        end = most;
    }
    cut(widest, low, high)
}

/// [low, high] without the gaps.
fn cut<T: Number>(mut gaps: [(f64, T, T); INTERVALS - 1], low: T, high: T) -> [(T, T); INTERVALS] {
    gaps.sort_by(|a, b| a.2.partial_cmp(&b.2).unwrap_or(Ordering::Equal));
    let (mut found, mut start, mut used) = ([(low, high); INTERVALS], low, 0);
    for (_, end, next) in gaps.into_iter().filter(|(gap, ..)| *gap > 0.0) {
        if let Some(slot) = found.get_mut(used) {
            *slot = (start, end);
        }
        (start, used) = (next, used + 1);
    }
    found.iter_mut().skip(used).for_each(|slot| *slot = (start, high));
    found
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
                let (fast, careful) = (clean::<f64>(&bytes(&values), &[]).unwrap(), careful(&bytes(&values), &[]));
                assert!((fast.mean - careful.mean).abs() <= 1e-9 * (1.0 + careful.mean.abs()));
                assert!((fast.rms - careful.rms).abs() <= 1e-9 * (1.0 + careful.rms));
                assert_eq!(Summary { mean: 0.0, rms: 0.0, ..fast }, Summary { mean: 0.0, rms: 0.0, ..careful });
                assert!(values.iter().all(|v| fast.intervals.iter().any(|(a, b)| a <= v && v <= b)));
                assert!(fast.intervals.windows(2).all(|w| w[0] == w[1] || w[0].1 < w[1].0), "{:?}", fast.intervals);
            }
        }
        assert!(clean::<f64>(&bytes(&[1.0, f64::NAN]), &[]).is_none());
        assert!(clean::<f64>(&bytes(&[1.0, 2.0]), &[2.0]).is_none());
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
