//! Choose sample chunks that represent an array.

use std::collections::HashSet;

/// Minimum number of chunks to see whether chunks differ.
const FEWEST: u64 = 8;
/// Every hundredth chunk.
const SHARE: u64 = 100;
/// Positions of the sequence that are tried for each chunk: in small grids several positions fall into the same chunk.
const PATIENCE: u64 = 8;

/// Chunk numbers of an array with `counts` chunks along its axes, of `chunk_bytes` each, in the order of measurement:
/// the first, the last, then others from all over the array. Chunks differ along an axis (land and sea, day and night),
/// so every prefix of the list is spread evenly along every axis.
///
/// At least 8 chunks or one in a hundred, whichever is more; all of them if they fit into `whole` bytes; never more
/// than fit into `most` bytes (but at least two).
pub fn sample(counts: &[u64], chunk_bytes: u64, whole: u64, most: u64) -> Vec<u64> {
    let chunks = counts.iter().fold(1u64, |product, count| product.saturating_mul(*count));
    let fit = |bytes: u64| bytes / chunk_bytes.max(1);
    let wanted = FEWEST.max(chunks.div_ceil(SHARE)).max(fit(whole)).min(fit(most).max(2)).min(chunks);
    let mut picked = Vec::new();
    let mut seen = HashSet::new();
    let ends = [0, chunks.saturating_sub(1)].into_iter();
    let spread = Spread::new(counts).take(wanted.saturating_mul(PATIENCE) as usize);
    for chunk in ends.chain(spread).chain(0..chunks) {
        if picked.len() as u64 >= wanted {
            break;
        }
        if seen.insert(chunk) {
            picked.push(chunk);
        }
    }
    picked
}

/// Roberts' quasirandom sequence R_d (2018) on the grid: along each axis the multiples of an irrational number, modulo
/// one.
struct Spread<'a> {
    counts: &'a [u64],
    steps: Vec<f64>,
    at: Vec<f64>,
}

impl Spread<'_> {
    fn new(counts: &[u64]) -> Spread<'_> {
        let long = counts.iter().filter(|count| **count > 1).count();
        // The generalised golden ratio: x^(d + 1) = x + 1.
        let root = (0..64).fold(2f64, |x, _| (1.0 + x).powf(1.0 / (long as f64 + 1.0)));
        let mut step = 1.0;
        let steps = counts.iter().map(|count| {
            if *count < 2 {
                return 0.0;
            }
            step /= root;
            step
        });
        Spread { counts, steps: steps.collect(), at: vec![0.5; counts.len()] }
    }
}

impl Iterator for Spread<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut flat = 0u64;
        for ((count, step), at) in self.counts.iter().zip(&self.steps).zip(&mut self.at) {
            *at = (*at + step).fract();
            flat =
                flat.saturating_mul(*count).saturating_add(((*at * *count as f64) as u64).min(count.saturating_sub(1)));
        }
        Some(flat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_last_and_spread() {
        let picked = sample(&[10_000], 1 << 20, 0, 1 << 30);
        assert_eq!(picked.len(), 100);
        assert_eq!((picked[0], picked[1]), (0, 9_999));
        let mut sorted = picked.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] < 200), "{sorted:?}");
        assert_eq!(picked, sample(&[10_000], 1 << 20, 0, 1 << 30), "the same every time");
    }

    #[test]
    fn every_axis_is_met_evenly_from_the_beginning_on() {
        let counts = [68, 5, 6, 1];
        for few in [16, 30, 90] {
            let mut met = [0; 6];
            sample(&counts, 1 << 20, few << 20, few << 20).iter().for_each(|flat| met[(flat % 6) as usize] += 1);
            assert!(met.iter().all(|n| (few as i32 / 6 - 2..=few as i32 / 6 + 3).contains(n)), "{few}: {met:?}");
        }
        let (few, more) = (sample(&counts, 1 << 20, 0, 8 << 20), sample(&counts, 1 << 20, 0, 90 << 20));
        assert_eq!(few, more[..8], "fewer are the beginning of more");
    }

    #[test]
    fn small_arrays_wholly_large_ones_within_limits() {
        for counts in [[50, 1], [5, 10]] {
            let mut all = sample(&counts, 1000, 1 << 20, 1 << 24);
            all.sort_unstable();
            assert_eq!(all, (0..50).collect::<Vec<_>>());
        }
        assert_eq!(sample(&[100], 1 << 20, 0, 1 << 30).len(), 8);
        assert_eq!(sample(&[100_000], 1 << 20, 0, 16 << 20).len(), 16);
        assert_eq!(sample(&[1000], 1 << 30, 0, 1 << 20), [0, 999]);
        assert_eq!(sample(&[], 1 << 30, 0, 1), [0]);
        assert_eq!(sample(&[7, 0], 8, 0, 0), [0u64; 0]);
    }
}
