//! Candidates on blocks of every kind: which ones suit a type, which reproduce the data, which are dropped.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use icecore_chunk::{
    Block, Candidate, CostClass, DType, Elements, Goal, Measurement, Options, State, candidates, choose, measure,
};
use serde_json::{Value, json};

fn options() -> Options {
    Options {
        threads: 2,
        budget: Duration::from_secs(60),
        goals: vec![Goal::Archive],
        prune_slow_only: false,
        cancel: None,
    }
}

fn keep_all() -> Options {
    Options { goals: vec![Goal::Speed, Goal::Archive], prune_slow_only: true, ..options() }
}

fn dtype(value: Value) -> DType {
    DType::parse(&value).unwrap()
}

fn fixed(bytes: &[u8], shape: &[u64]) -> Block<'static> {
    Block { shape: shape.to_vec(), elements: Elements::Fixed(bytes.to_vec().leak()) }
}

fn run(dtype: &DType, block: &Block<'_>, portable: bool) -> Vec<Measurement> {
    let list = candidates(dtype, &block.shape, portable);
    let measured = measure(&list, std::slice::from_ref(block), dtype, &vec![0; dtype.size()], &keep_all()).unwrap();
    for m in &measured {
        assert!(!matches!(m.state, State::Failed(_)), "{} of {}: {:?}", m.candidate.label, dtype.to_json(), m.state);
    }
    measured
}

/// Bytes without structure.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 7u64;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..len).map(step).collect()
}

/// Complex numbers whose parts vary smoothly along the axis but differ from each other.
#[test]
fn the_parts_of_complex_numbers_are_told_apart() {
    let parts = (0..20_000).map(|i| f64::from(i) * 1e-3);
    let numbers: Vec<u8> = parts
        .flat_map(|x| [(x.sin() + 3.0) as f32, (x * 1.3).cos() as f32 * 1e-6])
        .flat_map(f32::to_ne_bytes)
        .collect();
    let measured = run(&DType::Complex64, &fixed(&numbers, &[20_000]), false);
    let best = choose(&measured, Goal::Archive, false).unwrap();
    assert!(best.label.starts_with("shuffle parts"), "{}", best.label);
}

#[test]
fn a_cancelled_measurement_begins_nothing() {
    let numbers = vec![0; 16_000];
    let cancelled = Options { cancel: Some(std::sync::Arc::new(true.into())), ..options() };
    let list = candidates(&DType::Float32, &[4000], false);
    let result = measure(&list, &[fixed(&numbers, &[4000])], &DType::Float32, &[0; 4], &cancelled);
    assert_eq!(result.unwrap_err().kind, icecore_grid::ErrorKind::Interrupted);
}

#[test]
fn every_type_has_candidates_that_give_back_any_bits() {
    let struct_type = json!({"name": "struct", "configuration": {"fields": [
        {"name": "a", "data_type": "int32"}, {"name": "b", "data_type": "float64"}]}});
    let types = [
        json!("int8"),
        json!("uint8"),
        json!("int16"),
        json!("uint16"),
        json!("int32"),
        json!("uint32"),
        json!("int64"),
        json!("uint64"),
        json!("float16"),
        json!("float32"),
        json!("float64"),
        json!("complex64"),
        json!("complex128"),
        json!({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}),
        json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 5}}),
        json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}),
        json!({"name": "raw_bytes", "configuration": {"length_bytes": 3}}),
        struct_type,
    ];
    for value in types {
        let dtype = dtype(value);
        let bytes = noise(60 * dtype.size());
        for (bytes, shape) in [(bytes.as_slice(), vec![3, 4, 5]), (&bytes[..dtype.size()], vec![1]), (&[], vec![0, 4])]
        {
            let measured = run(&dtype, &fixed(bytes, &shape), false);
            assert!(measured.len() > 20, "{}", dtype.to_json());
            assert!(choose(&measured, Goal::Archive, true).is_some());
        }
    }
}

#[test]
fn booleans_and_strings() {
    let bits: Vec<u8> = noise(1000).iter().map(|b| b & 1).collect();
    let measured = run(&DType::Bool, &fixed(&bits, &[1000]), false);
    let least = choose(&measured, Goal::Archive, false).unwrap();
    assert!(least.stored < 200, "{least:?}: a bit each");
    let blob = "ab€".repeat(500).into_bytes();
    let ends: Vec<usize> = (1..=500).map(|i| i * 5).collect();
    let elements = Elements::Variable { blob: blob.leak(), ends: ends.leak() };
    for dtype in [DType::VlenUtf8, DType::VlenBytes] {
        let measured = run(&dtype, &Block { shape: vec![20, 25], elements }, false);
        assert!(choose(&measured, Goal::Archive, true).unwrap().stored < 100);
    }
}

#[test]
fn long_text_is_not_split_into_planes() {
    let kind = dtype(json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 100_000}}));
    let labels: Vec<String> = candidates(&kind, &[9], false).into_iter().map(|c| c.label).collect();
    assert!(labels.iter().any(|label| label == "zstd-3"), "{labels:?}");
    assert!(!labels.iter().any(|label| label.starts_with("bwc")), "{labels:?}");
}

#[test]
fn neighbours_foretell_what_has_neighbours() {
    let labels = |kind: Value, rank: usize| -> Vec<String> {
        candidates(&dtype(kind), &vec![9; rank], false).into_iter().map(|c| c.label).collect()
    };
    let has = |labels: &[String], start: &str| labels.iter().any(|label| label.starts_with(start));
    for rank in [0, 1, 2, 4] {
        let all = labels(json!("float32"), rank);
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len(), "a label is a name");
        assert!(has(&all, "predict lorenzo") && has(&all, "predict lattice"));
        assert_eq!(has(&all, "bwcXOR spatial+zlib-6"), rank > 1);
        assert_eq!(has(&all, "tFPC"), rank > 0);
    }
    let integers = labels(json!("int16"), 3);
    assert!(has(&integers, "predict lorenzo last 2") && !has(&integers, "predict lattice"));
    assert!(!has(&labels(json!("complex64"), 3), "predict"));
    assert!(!has(&labels(json!("string"), 3), "predict"));
}

#[test]
fn portable_is_core_zarr() {
    for value in [json!("float32"), json!("uint8"), json!("string"), json!("complex128")] {
        for candidate in candidates(&dtype(value), &[9, 9, 4], true) {
            for codec in candidate.codecs.as_array().unwrap() {
                let name = codec["name"].as_str().unwrap();
                assert!(
                    ["bytes", "vlen-utf8", "transpose", "gzip", "zstd", "blosc", "crc32c"].contains(&name),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn what_does_not_come_back_is_excluded() {
    let numbers: Vec<u8> = (0..4000).flat_map(|i| (i as f32).sqrt().to_ne_bytes()).collect();
    let lossy = json!([{"name": "bitround", "configuration": {"keepbits": 3}},
        {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3}}]);
    let unknown = json!([{"name": "bytes"}, {"name": "there-is-none"}]);
    let mut list = candidates(&DType::Float32, &[4000], false);
    for (label, codecs) in [("lossy", lossy), ("unknown", unknown)] {
        list.push(Candidate { label: label.into(), codecs, class: CostClass::Fast, short: true, kin: None });
    }
    let measured = measure(&list, &[fixed(&numbers, &[4000])], &DType::Float32, &[0; 4], &keep_all()).unwrap();
    let state = |label: &str| &measured.iter().find(|m| m.candidate.label == label).unwrap().state;
    assert!(matches!(state("lossy"), State::Failed(why) if why.contains("does not reproduce")));
    assert!(matches!(state("unknown"), State::Failed(_)));
    for goal in [Goal::Archive, Goal::Speed, Goal::Balanced { bandwidth: 1e8 }] {
        assert!(!["lossy", "unknown"].contains(&choose(&measured, goal, true).unwrap().label.as_str()));
    }
}

#[test]
fn the_hopeless_leave_early_and_all_others_see_the_same_blocks() {
    let smooth =
        |phase: f32| -> Vec<u8> { (0..20_000).flat_map(|i| ((i as f32) * 1e-3 + phase).sin().to_ne_bytes()).collect() };
    let blocks: Vec<Block> = (0..5).map(|i| fixed(&smooth(i as f32), &[100, 200])).collect();
    let list = candidates(&DType::Float32, &[9, 9], false);
    let measured = measure(&list, &blocks, &DType::Float32, &[0; 4], &options()).unwrap();
    assert!(measured.iter().any(|m| m.state == State::Pruned && m.figures.len() == 1));
    assert!(measured.iter().filter(|m| m.state == State::Measured).all(|m| m.figures.len() == 5));
    let least = choose(&measured, Goal::Archive, false).unwrap();
    let all = measure(
        &list,
        &blocks,
        &DType::Float32,
        &[0; 4],
        &Options { goals: Vec::new(), prune_slow_only: true, ..options() },
    );
    let best = all.unwrap().iter().filter(|m| m.figures.len() == 5).map(Measurement::stored).min().unwrap();
    assert!(least.stored <= best);
}

/// A candidate with many codec lists is offered again without the unused ones: same size, encoded sooner.
#[test]
fn lists_that_no_block_takes_are_left_out() {
    let days: Vec<u8> = noise(6 * 1024 * 4);
    let blocks: Vec<Block> = (0..3)
        .map(|nth| {
            fixed(&(0..48).flat_map(|i| days[(i + nth) % 6 * 4096..][..4096].to_vec()).collect::<Vec<_>>(), &[48, 1024])
        })
        .collect();
    let measured =
        measure(&candidates(&DType::UInt32, &[9, 9], false), &blocks, &DType::UInt32, &[0; 4], &keep_all()).unwrap();
    let lists = |m: &Measurement| m.candidate.codecs[0]["configuration"]["codecs"].as_array().map_or(0, Vec::len);
    let all = measured.iter().find(|m| m.candidate.label == "predict auto+pco|zstd|lzma").unwrap();
    let lean = measured.last().unwrap();
    assert!(lean.candidate.label.starts_with("predict auto+pco-8|"), "{}", lean.candidate.label);
    assert!((2..lists(all)).contains(&lists(lean)));
    let again = measure(std::slice::from_ref(&lean.candidate), &blocks, &DType::UInt32, &[0; 4], &options()).unwrap();
    let stored = |m: &Measurement| m.figures.iter().map(|f| f.stored).collect::<Vec<_>>();
    assert_eq!((stored(all), stored(&again[0])), (stored(lean), stored(lean)));
}

#[test]
fn a_budget_ends_it_after_three_blocks() {
    let blocks: Vec<Block> = (0..6).map(|_| fixed(&noise(1000), &[1000])).collect();
    let hurried = Options { budget: Duration::ZERO, ..keep_all() };
    let measured = measure(&candidates(&DType::UInt8, &[9], false), &blocks, &DType::UInt8, &[0], &hurried).unwrap();
    assert_eq!(measured.iter().map(|m| m.figures.len()).max(), Some(3));
}

#[test]
fn blocks_that_lie_are_refused() {
    let lying = Block { shape: vec![3], elements: Elements::Fixed(&[0; 8]) };
    assert!(measure(&[], &[lying], &DType::Float32, &[0; 4], &options()).is_err());
    let backwards = Block { shape: vec![2], elements: Elements::Variable { blob: b"abc", ends: &[3, 1] } };
    assert!(measure(&[], &[backwards], &DType::VlenUtf8, &[], &options()).is_err());
}
