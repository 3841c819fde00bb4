//! Speed of our decoders of DEFLATE and zstd: `cargo run --release -p icecore-chunk --example own_decoders`, and the same with
//! `--no-default-features` for those of libdeflate and libzstd. One thread, the fastest of 61 runs over the same chunks.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use icecore_chunk::{Chain, DType, Job, Scratch, decode_pair};
use serde_json::{Value, json};

const ELEMENTS: u64 = 1 << 16;
const RUNS: usize = 61;

/// A smooth field with some noise, as models write it.
fn field() -> Vec<u8> {
    let mut state = 1_u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let value = |i: u64| 280.0 + 15.0 * (i as f32 / 700.0).sin();
    (0..ELEMENTS).flat_map(|i| ((value(i) + noise() * 0.1) * 64.0).round().to_ne_bytes()).collect()
}

/// Counts, most of them small.
fn counts() -> Vec<u8> {
    (0..ELEMENTS as u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 20 & (i & 63)).to_ne_bytes()).collect()
}

fn fastest(mut work: impl FnMut()) -> f64 {
    let one = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(one).fold(f64::INFINITY, f64::min)
}

fn main() {
    let shuffle = json!({"name": "shuffle", "configuration": {"elementsize": 4}});
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let zlib = json!({"name": "zlib", "configuration": {"level": 4}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    let chains: [(&str, Vec<&Value>); 4] = [
        ("zlib", vec![&bytes, &zlib]),
        ("shuffle, zlib", vec![&bytes, &shuffle, &zlib]),
        ("zstd", vec![&bytes, &zstd]),
        ("shuffle, zstd", vec![&bytes, &shuffle, &zstd]),
    ];
    for (what, dtype, raw) in [("field", DType::Float32, field()), ("counts", DType::UInt32, counts())] {
        for (codecs, list) in &chains {
            let chain = Chain::parse(&json!(list), &dtype, &[0; 4]).unwrap();
            let mut scratch = Scratch::new();
            let stored = chain.encode(&raw, &[ELEMENTS], &mut scratch).unwrap();
            let (mut one, mut other) = (vec![0; raw.len()], vec![0; raw.len()]);
            let whole = (0, raw.len() as u64);
            let alone = fastest(|| chain.decode(&stored, &[ELEMENTS], whole, &mut one, &mut scratch).unwrap());
            let rate = |seconds: f64| raw.len() as f64 / seconds / 1e9;
            print!("{what}, {codecs}: {:.2} GB/s", rate(alone));
            if chain.goes_in_pairs() {
                let pair = fastest(|| {
                    let job = |out| Job {
                        chain: &chain,
                        stored: &stored,
                        planes: usize::MAX,
                        shape: &[ELEMENTS],
                        wanted: whole,
                        parts: Vec::new(),
                        out,
                    };
                    let done = decode_pair([job(&mut one), job(&mut other)], &mut scratch);
                    assert!(done.iter().all(Result::is_ok));
                });
                print!(", {:.2} GB/s in pairs", rate(pair / 2.0));
            }
            assert_eq!(one, raw);
            println!();
        }
    }
}
