//! The step at which a column repeats itself.

/// Smoothness in bits: what the differences to the element `lag` before would cost.
fn cost(values: &[i64], lag: usize) -> u64 {
    let pairs = values.iter().skip(lag).zip(values);
    pairs.map(|(now, then)| u64::from(64 - now.wrapping_sub(*then).unsigned_abs().leading_zeros())).sum()
}

/// The lag from 1 to `max` whose differences are the smallest; a longer one than 1 must be a tenth better.
pub fn best_lag(values: &[i64], max: usize) -> usize {
    let usable = max.min(values.len() / 4);
    if usable < 2 {
        return 1;
    }
    // All lags are judged by the same elements.
    let of = |lag: usize| cost(values.get(usable - lag..).unwrap_or_default(), lag);
    let single = of(1);
    let best = (2..=usable).map(|lag| (of(lag), lag)).min();
    match best {
        Some((bits, lag)) if bits * 10 < single * 9 => lag,
        _ => 1,
    }
}
