//! The step at which a column repeats itself.

/// Smoothness in bits: what the differences to the element `lag` before would cost.
fn cost(values: &[i64], lag: usize) -> u64 {
    let pairs = values.iter().skip(lag).zip(values);
    pairs.map(|(now, then)| u64::from(64 - now.wrapping_sub(*then).unsigned_abs().leading_zeros())).sum()
}

/// Elements that all lags are tried on, and how many lags are left then.
const FEW: usize = 512;
const FINALISTS: usize = 16;

/// The lag from 1 to `max` whose differences are the smallest; a longer one than 1 must be a tenth better.
pub fn best_lag(values: &[i64], max: usize) -> usize {
    let usable = max.min(values.len() / 4);
    if usable < 2 {
        return 1;
    }
    // All lags are judged by the same elements: first by a few, then the best of them by all.
    let few = values.len().min(usable + FEW);
    let of = |lag: usize, end: usize| cost(values.get(usable - lag..end).unwrap_or_default(), lag);
    let mut lags: Vec<(u64, usize)> = (2..=usable).map(|lag| (of(lag, few), lag)).collect();
    lags.sort_unstable();
    let single = of(1, values.len());
    let best = lags.iter().take(FINALISTS).map(|(_, lag)| (of(*lag, values.len()), *lag)).min();
    match best {
        Some((bits, lag)) if bits * 10 < single * 9 => lag,
        _ => 1,
    }
}
