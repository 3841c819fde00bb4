//! The planned chunk beside the best of all chunks, by PStore's Eq. 1 and 5 computed here a second time.

// Clippy exempts test functions, not their helpers.
#![allow(clippy::unwrap_used)]

use icecore_grid::{LayoutGoal, Pattern, plan_layout};

const SHAPE: [u64; 3] = [60, 48, 40];
const ITEMSIZE: u64 = 4;

/// Expected bytes of a query, each chunk that it touches counted with a fixed cost in bytes beside its own.
fn cost(patterns: &[Pattern], shape: &[u64], itemsize: u64, chunk: &[u64], overhead: f64) -> f64 {
    let size = (chunk.iter().product::<u64>() * itemsize) as f64;
    let touched = |pattern: &Pattern| -> f64 {
        let along = |axis: usize| {
            let extent = pattern.extent[axis].min(shape[axis]);
            ((extent - 1) as f64 / chunk[axis] as f64 + 1.0).min(shape[axis].div_ceil(chunk[axis]) as f64)
        };
        pattern.probability * (0..shape.len()).map(along).product::<f64>()
    };
    patterns.iter().map(touched).sum::<f64>() * (size + overhead)
}

/// The least cost of any chunk within the bounds.
fn best(patterns: &[Pattern], (min, max): (u64, u64), overhead: f64) -> f64 {
    let mut least = f64::INFINITY;
    for a in 1..=SHAPE[0] {
        for b in 1..=SHAPE[1] {
            for c in 1..=SHAPE[2] {
                if (min..=max).contains(&(a * b * c * ITEMSIZE)) {
                    least = least.min(cost(patterns, &SHAPE, ITEMSIZE, &[a, b, c], overhead));
                }
            }
        }
    }
    least
}

#[test]
fn a_plan_costs_at_most_a_tenth_more_than_the_best_layout() {
    let all = u64::MAX;
    let workloads: [&[([u64; 3], f64)]; 6] = [
        &[([1, all, all], 0.7), ([all, 1, 1], 0.3)],
        &[([1, all, all], 0.1), ([all, 1, 1], 0.9)],
        &[([1, all, all], 1.0)],
        &[([all, 1, 1], 0.5), ([1, all, 1], 0.25), ([1, 1, all], 0.25)],
        &[([6, 12, 10], 0.6), ([all, 4, 4], 0.4)],
        &[([1, 1, 1], 0.5), ([30, 24, 20], 0.5)],
    ];
    for workload in workloads {
        for bounds in [(2048, 16384), (1024, 65536), (4096, 8192)] {
            let pattern = |(extent, probability): &([u64; 3], f64)| Pattern {
                extent: extent.to_vec(),
                probability: *probability,
            };
            let patterns: Vec<Pattern> = workload.iter().map(pattern).collect();
            let goal = LayoutGoal {
                inner_bytes: bounds,
                patterns: patterns.clone(),
                ..LayoutGoal::new(SHAPE.to_vec(), ITEMSIZE)
            };
            let chunk = plan_layout(&goal).unwrap().chunk;
            let overhead = bounds.0 as f64;
            let ours = cost(&patterns, &SHAPE, ITEMSIZE, &chunk, overhead);
            let least = best(&patterns, bounds, overhead);
            assert!(ours <= 1.1 * least, "{workload:?} within {bounds:?}: {chunk:?} costs {ours}, the best {least}");
        }
    }
}

/// Each with a chunk within the bounds that costs little: one that the planner has come upon only by leaving them on the way.
#[test]
fn bounds_that_no_fraction_of_an_axis_meets_cost_little() {
    type Case<'a> = (&'a [u64], u64, &'a [(&'a [u64], f64)], &'a [u64]);
    let cases: [Case<'_>; 6] = [
        (&[43738, 2, 227], 4, &[(&[43738, 2, 149], 0.8), (&[39980, 2, 200], 0.2)], &[43738, 2, 2]),
        (&[789_864], 4, &[(&[789_864], 1.0)], &[197_466]),
        (&[1, 5, 4, 530_104], 2, &[(&[1, 2, 1, 462_995], 0.04), (&[1, 3, 3, 530_104], 0.47)], &[1, 1, 1, 265_052]),
        (&[5697, 61, 1, 9], 8, &[(&[4, 2, 1, 1], 1.0)], &[136, 61, 1, 1]),
        (&[909, 158, 18], 8, &[(&[9, 1, 2], 1.0)], &[228, 2, 18]),
        (&[39, 109, 15, 17], 2, &[(&[6, 1, 5, 1], 0.72), (&[1, 1, 10, 1], 0.28)], &[39, 19, 15, 3]),
    ];
    for (shape, itemsize, reads, good) in cases {
        let pattern =
            |(extent, probability): &(&[u64], f64)| Pattern { extent: extent.to_vec(), probability: *probability };
        let patterns: Vec<Pattern> = reads.iter().map(pattern).collect();
        let goal = LayoutGoal { patterns: patterns.clone(), ..LayoutGoal::new(shape.to_vec(), itemsize) };
        let (min, max) = goal.inner_bytes;
        let chunk = plan_layout(&goal).unwrap().chunk;
        let bytes = chunk.iter().product::<u64>() * itemsize;
        assert!((min..=max).contains(&bytes), "{shape:?}: {chunk:?}");
        let [ours, least] = [&chunk[..], good].map(|chunk| cost(&patterns, shape, itemsize, chunk, min as f64));
        assert!(ours <= 1.1 * least, "{shape:?}: {chunk:?} costs {ours}, {good:?} {least}");
    }
}

#[test]
fn what_compresses_well_gets_larger_shards() {
    let goal = LayoutGoal::new(vec![1000, 1000, 1000], 4);
    let raw = |goal: &LayoutGoal| plan_layout(goal).unwrap().shard.iter().product::<u64>() * 4;
    let larger = raw(&LayoutGoal { ratio: 4.0, ..goal.clone() });
    assert!(larger > 2 * raw(&goal) && larger <= 4 * goal.shard_bytes);
}
