//! Spans, layouts and gather orders: what they promise, on random input.

// Clippy exempts test functions, not their helpers.
#![allow(clippy::unwrap_used, clippy::panic)]

use icecore_grid::{LayoutGoal, Merge, Pattern, Region, Request, Span, coalesce, gather_regions, plan_layout};
use proptest::prelude::*;

fn span(object: u32, offset: u64, length: u64) -> Span {
    Span { object, offset, length, tag: 0 }
}

fn merge() -> impl Strategy<Value = Merge> {
    let bytes = || prop_oneof![Just(0_u64), 1_u64..300, Just(u64::MAX)];
    (bytes(), bytes(), bytes()).prop_map(|(gap, max_request, split)| Merge { gap, max_request, split })
}

fn spans() -> impl Strategy<Value = Vec<Span>> {
    let one = (
        0_u32..3,
        prop_oneof![9 => 0_u64..2000, 1 => u64::MAX - 50..=u64::MAX],
        prop_oneof![9 => 0_u64..80, 1 => Just(u64::MAX)],
    );
    prop::collection::vec(one.prop_map(|(object, offset, length)| span(object, offset, length)), 0..60)
}

/// Whether two boxes have an element in common.
fn meet(a: &Region, b: &Region) -> bool {
    let (starts, ends) = (a.start.iter().zip(&b.start), a.end().into_iter().zip(b.end()));
    starts.zip(ends).all(|((a, b), (a_end, b_end))| a.max(b) < &a_end.min(b_end))
}

fn end(offset: u64, length: u64) -> u128 {
    u128::from(offset) + u128::from(length)
}

/// Bytes of a request that no span wants.
fn waste(spans: &[Span], request: &Request) -> u128 {
    let (mut at, mut wasted) = (u128::from(request.offset), 0);
    for &number in &request.spans {
        let span = &spans[number as usize];
        wasted += u128::from(span.offset).saturating_sub(at);
        at = at.max(end(span.offset, span.length));
    }
    wasted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_span_lies_in_exactly_one_request(spans in spans(), merge in merge()) {
        let requests = coalesce(&spans, &merge);
        let mut covered = vec![0; spans.len()];
        for request in &requests {
            let to = end(request.offset, request.length);
            for &number in &request.spans {
                let span = &spans[number as usize];
                covered[number as usize] += 1;
                prop_assert_eq!(span.object, request.object);
                prop_assert!(span.offset >= request.offset && end(span.offset, span.length) <= to);
            }
            let ends = request.spans.iter().map(|&n| end(spans[n as usize].offset, spans[n as usize].length));
            prop_assert_eq!(ends.max(), Some(to), "a request ends with its last span");
        }
        prop_assert!(covered.iter().all(|&times| times == 1));
        prop_assert!(requests.is_sorted_by_key(|request| (request.object, request.offset)));
    }

    #[test]
    fn requests_keep_their_limits(spans in spans(), merge in merge()) {
        for request in coalesce(&spans, &merge) {
            let longest = request.spans.iter().map(|&number| spans[number as usize].length).max().unwrap_or(0);
            prop_assert!(request.length <= merge.max_request.max(longest));
            let between = request.spans.len() as u128 - 1;
            prop_assert!(waste(&spans, &request) <= between * u128::from(merge.gap));
        }
    }

    #[test]
    fn the_order_of_spans_does_not_matter(spans in spans(), merge in merge(), turn in any::<prop::sample::Index>()) {
        let ranges = |spans: &[Span]| -> Vec<_> {
            coalesce(spans, &merge).iter().map(|r| (r.object, r.offset, r.length, r.spans.len())).collect()
        };
        let mut turned = spans.clone();
        if !turned.is_empty() {
            turned.rotate_left(turn.index(spans.len()));
        }
        prop_assert_eq!(ranges(&spans), ranges(&turned));
    }

    #[test]
    fn regions_cover_an_array_once(
        axes in prop::collection::vec((0_u64..14, 1_u64..6, 1_u64..9), 0..4), source in any::<bool>(), budget in 0_u64..800,
    ) {
        let shape: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
        let shard: Vec<u64> = axes.iter().map(|axis| axis.1).collect();
        let chunk: Vec<u64> = axes.iter().map(|axis| axis.2).collect();
        let regions = gather_regions(&shape, &shard, source.then_some(&chunk[..]), 2, budget, None).unwrap();
        let total = regions.iter().map(Region::elements).sum::<u64>();
        prop_assert_eq!(total, Region::whole(&shape).elements());
        for (number, region) in regions.iter().enumerate() {
            let shards = region.start.iter().zip(&shard).all(|(start, shard)| start.is_multiple_of(*shard));
            let whole = region.end().iter().zip(&shard).zip(&shape).all(|((end, shard), len)| end.is_multiple_of(*shard) || end == len);
            prop_assert!(shards && whole && !region.is_empty());
            prop_assert!(regions[..number].iter().all(|other| !meet(other, region)));
            let one = region.shape.iter().zip(&shard).all(|(len, shard)| len <= shard);
            prop_assert!(one || region.elements() * 2 <= budget, "{region:?} exceeds {budget}");
        }
    }
}

fn goal() -> impl Strategy<Value = LayoutGoal> {
    let len = || prop_oneof![2 => Just(0_u64), 6 => 1_u64..5000, 2 => any::<u64>()];
    let axis = (len(), prop::option::weighted(0.5, 1_u64..600), prop::collection::vec(any::<u64>(), 3));
    let bytes = (prop_oneof![1_u64..40, Just(1 << 40)], 10_u32..20, 1_u32..5, 0_u32..8);
    (prop::collection::vec(axis, 0..7), bytes, 0_usize..4).prop_map(
        |(axes, (itemsize, min, wide, shards), patterns)| {
            let extent = |k: usize| axes.iter().map(|axis| axis.2[k % 3]).collect();
            let max = 1_u64 << (min + wide);
            LayoutGoal {
                shape: axes.iter().map(|axis| axis.0).collect(),
                grows: patterns == 1,
                itemsize,
                inner_bytes: (1 << min, max),
                shard_bytes: max << shards,
                ratio: 1.0,
                patterns: (0..patterns).map(|k| Pattern { extent: extent(k), probability: k as f64 * 0.4 }).collect(),
                source_chunk: axes.iter().map(|axis| axis.1).collect(),
                chunk: None,
            }
        },
    )
}

fn bytes(block: &[u64], itemsize: u64) -> u128 {
    block.iter().fold(u128::from(itemsize), |product, &len| product.saturating_mul(u128::from(len)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn layouts_keep_their_bounds(goal in goal()) {
        let plan = plan_layout(&goal).unwrap();
        let (min, max) = goal.inner_bytes;
        let chunk = bytes(&plan.chunk, goal.itemsize);
        prop_assert!(chunk <= u128::from(max.max(goal.itemsize)), "{plan:?}");
        let whole = goal.shape.iter().zip(&plan.chunk).all(|(len, chunk)| *len > 0 && chunk == len);
        prop_assert!(chunk + u128::from(goal.itemsize) > u128::from(min) || whole, "{plan:?}: {chunk}");
        let shard = bytes(&plan.shard, goal.itemsize);
        prop_assert!(shard <= chunk.max(u128::from(goal.shard_bytes)), "{plan:?}: {shard}");
        for ((chunk, shard), len) in plan.chunk.iter().zip(&plan.shard).zip(&goal.shape) {
            prop_assert!(*chunk >= 1 && shard.is_multiple_of(*chunk));
            prop_assert!(*len == 0 || chunk <= len && shard - chunk < *len);
        }
        let given = LayoutGoal { chunk: Some(plan.chunk.clone()), ..goal };
        prop_assert_eq!(plan_layout(&given).unwrap(), plan, "a chunk that is given has the same shard");
    }
}

#[test]
fn merges_up_to_the_gap_and_splits_evenly() {
    let merge = |gap, max_request, split| Merge { gap, max_request, split };
    let ranges = |spans: &[Span], merge: &Merge| -> Vec<(u64, u64)> {
        coalesce(spans, merge).iter().map(|request| (request.offset, request.length)).collect()
    };
    let near = [span(0, 0, 10), span(0, 15, 10), span(0, 31, 10)];
    assert_eq!(ranges(&near, &merge(5, 1000, 0)), [(0, 25), (31, 10)]);
    assert_eq!(ranges(&near, &merge(6, 1000, 0)), [(0, 41)]);
    assert_eq!(ranges(&near, &merge(6, 30, 0)), [(0, 25), (31, 10)]);
    let twice = [span(0, 5, 10), span(0, 5, 10), span(0, 0, 20)];
    assert_eq!(ranges(&twice, &merge(0, 20, 0)), [(0, 20)]);
    let long: Vec<Span> = (0..10).map(|k| span(0, 10 * k, 10)).collect();
    assert_eq!(ranges(&long, &merge(0, 1000, 60)), [(0, 50), (50, 50)]);
    assert_eq!(ranges(&[span(0, 0, 500), span(0, 500, 1)], &merge(0, 100, 0)), [(0, 500), (500, 1)]);
    let objects: Vec<u32> =
        coalesce(&[span(1, 0, 1), span(0, 0, 1)], &merge(9, 9, 0)).iter().map(|r| r.object).collect();
    assert_eq!(objects, [0, 1]);
}
