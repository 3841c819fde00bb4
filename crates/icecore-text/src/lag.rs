//! Period of a column.

/// Cost in bits of the differences to the element `lag` before.
fn cost(values: &[i64], lag: usize) -> u64 {
    let pairs = values.iter().skip(lag).zip(values);
    pairs.map(|(now, then)| u64::from(64 - now.wrapping_sub(*then).unsigned_abs().leading_zeros())).sum()
}

/// Number of elements on which all lags are tried, and number of lags that are kept.
const FEW: usize = 512;
const FINALISTS: usize = 16;

/// The lag from 1 to `max` with the smallest differences; a lag above 1 must be a tenth better than 1.
pub fn best_lag(values: &[i64], max: usize) -> usize {
    let usable = max.min(values.len() / 4);
    if usable < 2 {
        return 1;
    }
    // All lags are compared on the same elements: first on a few, then the best ones on all.
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
