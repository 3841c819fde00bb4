//! rounds: on remote stores the number of concurrent requests is the number of connections. Short requests come last.
//! If the last round does not use all connections, its requests are divided so that no connection is idle. Pure.

use icecore_grid::{Merge, Request, Span};

use super::parts::parts;

/// Minimum transfer time of a part, as a multiple of the time to its first byte (`store/cost.rs`).
const GAPS: u64 = 8;

/// Reorders `requests` if they need more than one round: those much shorter than the median come last, and the very
/// last are divided. `is_far` tells, by object, which requests go over a connection. No part but the last of a request
/// takes less time than its first byte, because it would cost more than it saves.
pub(crate) fn even(
    mut requests: Vec<Request>,
    spans: &[Span],
    merges: &[Merge],
    connections: usize,
    is_far: impl Fn(u32) -> bool,
) -> Vec<Request> {
    let mut lengths: Vec<u64> = requests.iter().filter(|r| is_far(r.object)).map(|r| r.length).collect();
    let left = lengths.len() % connections.max(1);
    if lengths.len() <= connections {
        return requests;
    }
    let middle = lengths.len() / 2;
    let short = *lengths.select_nth_unstable(middle).1 / 5 * 3;
    // The others keep their order: neighbours in a file are neighbours in the result.
    requests.sort_by_key(|request| is_far(request.object) && request.length < short);
    if left == 0 || connections / left < 2 {
        return requests;
    }
    let share = (connections / left) as u64;
    let mut divided = Vec::new();
    let mut found = 0;
    while found < left
        && let Some(request) = requests.pop()
    {
        if !is_far(request.object) {
            divided.push(request);
            continue;
        }
        let worth = merges.get(request.object as usize).map_or(u64::MAX, |merge| merge.gap.saturating_mul(GAPS));
        // Chunks differ in length: a part may be a quarter shorter than its share.
        let least = (request.length / share / 4 * 3).max(worth);
        divided.extend(parts(&request, spans, least).into_iter().rev());
        found += 1;
    }
    requests.extend(divided.into_iter().rev());
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    const MERGE: Merge = Merge { gap: 1000, max_request: 8 << 20, split: 2 << 20 };

    /// Requests of four chunks of 10,000 bytes each.
    fn made(count: u64) -> (Vec<Request>, Vec<Span>) {
        let span = |i: u64| Span { object: 0, offset: i * 10_000, length: 10_000, tag: i as u32 };
        let request = |i: u64| {
            let spans = (4 * i as u32..4 * i as u32 + 4).collect();
            Request { object: 0, offset: 40_000 * i, length: 40_000, spans }
        };
        ((0..count).map(request).collect(), (0..4 * count).map(span).collect())
    }

    #[test]
    fn the_last_round_is_divided() {
        let lengths = |count, connections| -> Vec<u64> {
            let (requests, spans) = made(count);
            let all = even(requests.clone(), &spans, &[MERGE], connections, |_| true);
            assert!(
                all.windows(2).all(|pair| pair[0].offset + pair[0].length == pair[1].offset),
                "in order, all of it"
            );
            assert_eq!(
                all.iter().flat_map(|r| r.spans.clone()).collect::<Vec<_>>(),
                (0..4 * count as u32).collect::<Vec<_>>()
            );
            all.iter().map(|request| request.length / 10_000).collect()
        };
        assert_eq!(lengths(5, 4), [4, 4, 4, 4, 1, 1, 1, 1]);
        assert_eq!(lengths(6, 4), [4, 4, 4, 4, 2, 2, 2, 2]);
        assert_eq!(lengths(7, 4), [4; 7], "one each is as even as it gets");
        assert_eq!(lengths(8, 4), [4; 8]);
        assert_eq!(lengths(2, 4), [4; 2], "one round: what is wanted first is latency");
        assert_eq!(lengths(5, 0), [4; 5]);
    }

    #[test]
    fn short_ones_come_last() {
        let (mut requests, spans) = made(4);
        let half = Request { length: 20_000, spans: vec![0, 1], ..requests[0].clone() };
        requests.insert(0, Request { offset: 20_000, spans: vec![2, 3], ..half.clone() });
        requests[1] = half;
        let offsets = |requests: &[Request]| requests.iter().map(|request| request.offset).collect::<Vec<_>>();
        let all = even(requests.clone(), &spans, &[MERGE], 3, |_| true);
        assert_eq!(
            offsets(&all),
            [40_000, 80_000, 120_000, 20_000, 0],
            "the last two fill no round, and are one share each"
        );
        assert_eq!(offsets(&even(requests.clone(), &spans, &[MERGE], 3, |_| false)), offsets(&requests));
    }

    #[test]
    fn short_and_near_ones_stay() {
        let (requests, spans) = made(5);
        let dear = Merge { gap: 30_000, ..MERGE };
        assert_eq!(
            even(requests.clone(), &spans, &[dear], 4, |_| true).len(),
            5,
            "one waits as long as for 240,000 bytes"
        );
        assert_eq!(even(requests.clone(), &spans, &[MERGE], 4, |_| false), requests);
    }
}
