//! Which chunks of an array stand for all of it.

/// Fewer than this are not enough to see whether chunks disagree.
const FEWEST: u64 = 8;
/// Every hundredth chunk.
const SHARE: u64 = 100;
/// Fixed, so that the same array gives the same answer.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Chunk numbers of an array of `chunks` chunks of `chunk_bytes` each, in the order in which they are to be measured:
/// the first, the last, then others from all over the array.
///
/// At least 8 chunks or one in a hundred, whichever is more; all of them where they fit into `whole` bytes; never more
/// than fit into `most` bytes (but always two).
pub fn sample(chunks: u64, chunk_bytes: u64, whole: u64, most: u64) -> Vec<u64> {
    let fit = |bytes: u64| bytes / chunk_bytes.max(1);
    let wanted = FEWEST.max(chunks.div_ceil(SHARE)).max(fit(whole)).min(fit(most).max(2)).min(chunks);
    let mut state = SEED;
    // One from each of `wanted` equal stretches: random, but spread.
    let mut picked: Vec<u64> = (0..wanted)
        .map(|i| {
            let edge = |i: u64| (u128::from(i) * u128::from(chunks) / u128::from(wanted)) as u64;
            let (low, high) = (edge(i), edge(i + 1));
            match i {
                0 => low,
                i if i + 1 == wanted => high - 1,
                _ => low + next(&mut state) % (high - low),
            }
        })
        .collect();
    if picked.len() > 2 {
        let last = picked.len() - 1;
        picked.swap(1, last);
        shuffle(&mut picked[2..], &mut state);
    }
    picked
}

fn shuffle(items: &mut [u64], state: &mut u64) {
    for end in (1..items.len()).rev() {
        items.swap(end, (next(state) % (end as u64 + 1)) as usize);
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_last_and_spread() {
        let picked = sample(10_000, 1 << 20, 0, 1 << 30);
        assert_eq!(picked.len(), 100);
        assert_eq!((picked[0], picked[1]), (0, 9_999));
        let mut sorted = picked.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 100);
        assert!(sorted.iter().enumerate().all(|(i, c)| c / 100 == i as u64));
        assert_eq!(picked, sample(10_000, 1 << 20, 0, 1 << 30), "the same every time");
    }

    #[test]
    fn small_arrays_wholly_large_ones_within_limits() {
        let mut all = sample(50, 1000, 1 << 20, 1 << 24);
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
        assert_eq!(sample(100, 1 << 20, 0, 1 << 30).len(), 8);
        assert_eq!(sample(100_000, 1 << 20, 0, 16 << 20).len(), 16);
        assert_eq!(sample(1000, 1 << 30, 0, 1 << 20), [0, 999]);
        assert_eq!(sample(1, 1 << 30, 0, 1), [0]);
        assert_eq!(sample(0, 0, 0, 0), [0u64; 0]);
    }
}
