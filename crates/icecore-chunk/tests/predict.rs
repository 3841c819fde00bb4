//! `icecore.predict`: exact round trips for any elements; no panic for any bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Noise;
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::ErrorKind;
use proptest::prelude::*;
use serde_json::{Value, json};

const REALS: [&str; 11] =
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"];

fn dtype(name: &str) -> DType {
    DType::parse(&json!(name)).unwrap()
}

fn lists() -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    json!([[{"name": "numcodecs.pcodec", "configuration": {"level": 4}}], [bytes, {"name": "blosc"}], [bytes, zstd]])
}

fn predict(modes: Value, codecs: Value) -> Value {
    json!([{"name": "icecore.predict", "configuration": {"modes": modes, "codecs": codecs}}])
}

fn chain(codecs: &Value, dtype: &DType) -> Chain {
    Chain::parse(codecs, dtype, &vec![0; dtype.size()]).unwrap_or_else(|e| panic!("{codecs}: {e:?}"))
}

fn there_and_back(chain: &Chain, raw: &[u8], shape: &[u64]) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let stored = chain.encode(raw, shape, &mut scratch).unwrap();
    let mut out = vec![0xaa; raw.len()];
    chain.decode(&stored, shape, (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
    assert!(out == raw, "{:?} of {shape:?}", chain.names());
    stored
}

/// The modes that are valid for this type and chunks of this rank.
fn modes(name: &str, rank: usize) -> Vec<Value> {
    let mut out = vec![json!("none"), json!("lorenzo"), json!("rank"), json!("lattice"), json!("auto"), json!("fast")];
    for axis in 0..rank {
        out.push(json!({"mode": "xor", "axis": axis}));
        out.push(json!({"mode": "lag", "axis": axis, "lag": 3}));
        out.push(json!({"mode": "lag", "axis": axis, "lag": 2, "values": "rank"}));
        out.push(json!({"mode": "lorenzo", "axes": (0..=axis).collect::<Vec<_>>(), "values": "lattice"}));
        out.push(json!({"mode": "lorenzo", "axes": (axis..rank).collect::<Vec<_>>()}));
    }
    if name.starts_with("float") {
        out.extend([json!("float_lorenzo"), json!("least_squares"), json!({"mode": "lpc", "taps": 5}), json!("lpc")]);
    }
    out
}

/// Kinds of content: random bits, few values, decimals, powers of two, smooth, constants with holes, specials.
fn content(kind: usize, name: &str, count: usize, seed: u64) -> Vec<u8> {
    let mut noise = Noise::new(seed);
    let size = dtype(name).size();
    let number = |value: f64| match name {
        "float16" => half::f16::from_f64(value).to_ne_bytes().to_vec(),
        "float32" => (value as f32).to_ne_bytes().to_vec(),
        "float64" => value.to_ne_bytes().to_vec(),
        _ => (value as i64).to_ne_bytes()[if cfg!(target_endian = "big") { 8 - size..8 } else { 0..size }].to_vec(),
    };
    let specials = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1e-42, 1e300, 0.1];
    let mut smooth = 100.0;
    let mut element = |i: usize| match kind {
        0 => noise.next().to_ne_bytes()[..size].to_vec(),
        1 => number([1.5, -2.25, 1e9, 0.1][noise.below(4)]),
        2 => number((noise.below(1000) as f64 - 300.0) / 100.0),
        3 => number((noise.below(100_000) as f64 - 5e4) / 256.0),
        4 => {
            smooth += (noise.below(2001) as f64 - 1000.0) * 1e-3;
            number(smooth + (i as f64 * 0.01).sin())
        }
        5 if i % 40 > 25 => number(-9999.0),
        5 => number(i as f64 * 0.3 + noise.below(3) as f64 * 1e-4),
        6 if noise.below(9) == 0 => number(specials[noise.below(9)]),
        6 => number(noise.below(500) as f64 / 10.0),
        _ => number(7.0),
    };
    (0..count).flat_map(&mut element).collect()
}

#[test]
fn every_mode_type_content_and_rank() {
    for name in REALS {
        for shape in
            [&[][..], &[1], &[700], &[0, 5], &[23, 31], &[1, 9, 1], &[5, 12, 11], &[2, 3, 4, 25], &[2, 3, 2, 3, 7]]
        {
            let count = shape.iter().product::<u64>() as usize;
            for mode in modes(name, shape.len()) {
                let chain = chain(&predict(json!([mode]), lists()), &dtype(name));
                for kind in 0..8 {
                    there_and_back(&chain, &content(kind, name, count, 3 + kind as u64), shape);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_bits_come_back(
        which in 0..REALS.len(),
        shape in prop::collection::vec(1u64..9, 0..5),
        kind in 0usize..8,
        seed in any::<u64>(),
        picks in any::<(usize, usize)>(),
    ) {
        let name = REALS[which];
        let all = modes(name, shape.len());
        let two = json!([all[picks.0 % all.len()], all[picks.1 % all.len()]]);
        let count = shape.iter().product::<u64>() as usize;
        let chain = chain(&predict(two, lists()), &dtype(name));
        there_and_back(&chain, &content(kind, name, count, seed), &shape);
    }
}

#[test]
fn structure_is_found() {
    let ratio = |raw: &[u8], stored: &[u8]| raw.len() as f64 / stored.len() as f64;
    let pco = json!([lists()[0]]);
    let with = |modes: Value| chain(&predict(modes, pco.clone()), &DType::Float64);
    let plain = chain(&pco[0], &DType::Float64);
    // Counts of 1/256, minus a constant that hides them from pco.
    let mut noise = Noise::new(1);
    let field: Vec<f64> = (0..64 * 128).map(|i| ((i % 128) * (i / 128) + noise.below(6)) as f64).collect();
    let bytes = |map: &dyn Fn(f64) -> f64| -> Vec<u8> { field.iter().flat_map(|v| map(*v).to_ne_bytes()).collect() };
    let shape = [64, 128];
    for (mode, raw) in [
        ("lattice", bytes(&|v| v / 4096.0 - 273.150390625)),
        ("lattice", bytes(&|v| v / 1000.0)),
        ("rank", bytes(&|v| v % 300.0 * 0.001_234_567_891 + 271.3)),
    ] {
        let ours = ratio(&raw, &there_and_back(&with(json!([mode])), &raw, &shape));
        let theirs = ratio(&raw, &there_and_back(&plain, &raw, &shape));
        let auto = ratio(&raw, &there_and_back(&with(json!(["auto"])), &raw, &shape));
        assert!(ours > 1.1 * theirs, "{mode}: {ours} against {theirs}");
        assert!(auto >= 0.98 * ours, "{mode}: {ours}, auto {auto}");
    }
    // Rows with a period of 189.
    let rows: Vec<u8> =
        (0..189 * 50).flat_map(|i| ((i % 189 * 7919 % 1000) as f64 + (i / 189) as f64).to_ne_bytes()).collect();
    let lag = there_and_back(&with(json!([{"mode": "lag", "lag": 189, "values": "lattice"}])), &rows, &[189 * 50]);
    assert!(ratio(&rows, &lag) > 60.0, "{}", ratio(&rows, &lag));
}

#[test]
fn modes_that_do_not_suit_the_chunk_do_no_harm() {
    let chain = chain(&predict(json!([{"mode": "xor", "axis": 3}, "lattice"]), lists()), &DType::Float32);
    there_and_back(&chain, &content(0, "float32", 50, 1), &[50]);
}

#[test]
fn outputs_askew() {
    let chain = chain(&predict(json!(["lorenzo"]), lists()), &DType::Float64);
    let raw = content(5, "float64", 300, 1);
    let mut scratch = Scratch::new();
    let stored = chain.encode(&raw, &[300], &mut scratch).unwrap();
    let mut room = vec![0u8; raw.len() + 8];
    for shift in 0..8 {
        let out = &mut room[shift..shift + raw.len()];
        chain.decode(&stored, &[300], (0, 2400), out, &mut scratch).unwrap();
        assert!(out == raw, "{shift}");
    }
}

/// Every byte changed, every length truncated: wrong numbers or `corrupt`, without delay.
#[test]
fn damaged_chunks() {
    let mut noise = Noise::new(7);
    let mut scratch = Scratch::new();
    for (name, kind) in [("float32", 5), ("float64", 6), ("float64", 1), ("float32", 3), ("int16", 5), ("float32", 4)] {
        for mode in modes(name, 2) {
            let chain = chain(&predict(json!([mode]), lists()), &dtype(name));
            let raw = content(kind, name, 15 * 20, 9);
            let stored = chain.encode(&raw, &[15, 20], &mut scratch).unwrap();
            let mut out = vec![0; raw.len()];
            let mut meet = |stored: &[u8]| {
                if let Err(error) = chain.decode(stored, &[15, 20], (0, raw.len() as u64), &mut out, &mut scratch) {
                    assert_eq!(error.kind, ErrorKind::Corrupt, "{mode}: {error:?}");
                }
            };
            let mut damaged = stored.clone();
            let step = (stored.len() / 150).max(1);
            for at in (0..stored.len().min(60)).chain((60..stored.len()).step_by(step)) {
                for change in [1 << noise.below(8), 0xff, (noise.next() as u8).max(1)] {
                    damaged[at] ^= change;
                    meet(&damaged);
                    damaged[at] ^= change;
                }
            }
            for len in (0..stored.len()).step_by((stored.len() / 100).max(1)) {
                meet(&stored[..len]);
            }
        }
    }
}

#[test]
fn chunks_of_another_shape_are_corrupt() {
    let mut scratch = Scratch::new();
    for mode in [json!("lorenzo"), json!("rank"), json!("none")] {
        let chain = chain(&predict(json!([mode]), lists()), &DType::Float32);
        let stored = chain.encode(&content(5, "float32", 200, 1), &[200], &mut scratch).unwrap();
        for count in [0u64, 1, 199, 201, 1000] {
            let mut out = vec![0; count as usize * 4];
            let end = out.len() as u64;
            let error = chain.decode(&stored, &[count], (0, end), &mut out, &mut scratch).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt, "{mode} {count}");
        }
    }
}

#[test]
fn configurations_that_cannot_be() {
    let refused =
        |codecs: &Value, name: &str| Chain::parse(codecs, &dtype(name), &vec![0; dtype(name).size()]).unwrap_err().kind;
    for bad in [
        json!([]),
        json!("auto"),
        json!(["guess"]),
        json!([7]),
        json!([{"mode": "lag", "lag": 0}]),
        json!([{"mode": "lag", "axis": -1}]),
        json!([{"mode": "lag", "values": "x"}]),
        json!([{"mode": "lorenzo", "axes": [1, 0]}]),
        json!([{"mode": "lorenzo", "axes": [0, 1, 2, 3, 4, 5, 6, 7, 8]}]),
        json!([{"mode": "lpc", "taps": 129}]),
    ] {
        assert_eq!(refused(&predict(bad.clone(), lists()), "float32"), ErrorKind::Format, "{bad}");
    }
    for bad in [json!([]), json!([[]]), json!("x"), json!([["crc32c"]])] {
        assert_eq!(refused(&predict(json!(["auto"]), bad.clone()), "float32"), ErrorKind::Format, "{bad}");
    }
    assert_eq!(refused(&predict(json!(["lpc"]), lists()), "int32"), ErrorKind::Unsupported);
    for name in ["bool", "complex64", "r48", "string"] {
        assert_eq!(refused(&predict(json!(["auto"]), lists()), name), ErrorKind::Unsupported, "{name}");
    }
}
