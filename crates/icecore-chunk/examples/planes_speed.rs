//! Speed of splitting and merging byte planes: `cargo run --release -p icecore-chunk --example planes_speed`. One
//! thread, chunks of 256 KiB that stay in the cache, planes stored raw, so that only the loops are measured.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use icecore_chunk::{Chain, DType, Scratch};
use serde_json::{Value, json};

fn seconds(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..201)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[100]
}

fn main() {
    for (dtype, widths) in [
        (DType::Float32, &[2, 1, 1][..]),
        (DType::Float32, &[2, 2]),
        (DType::Float64, &[2, 1, 1, 4]),
        (DType::Float64, &[2, 2, 4]),
    ] {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let planes: Vec<Value> = widths.iter().map(|w| json!({"bytes": w, "codecs": [bytes]})).collect();
        let list = json!([{"name": "icecore.byteplanes", "configuration": {"planes": planes}}]);
        let chain = Chain::parse(&list, &dtype, &vec![0; dtype.size()]).unwrap();
        let count = (256 << 10) / dtype.size() as u64;
        let number = |n: u64| match dtype {
            DType::Float32 => (n as f32).sqrt().to_ne_bytes().to_vec(),
            _ => (n as f64).sqrt().to_ne_bytes().to_vec(),
        };
        let raw: Vec<u8> = (0..count).flat_map(number).collect();
        let mut scratch = Scratch::new();
        let stored = chain.encode(&raw, &[count], &mut scratch).unwrap();
        let mut out = vec![0; raw.len()];
        let rate = |time: f64| raw.len() as f64 / time / 1e9;
        let encode = rate(seconds(|| drop(black_box(chain.encode(&raw, &[count], &mut scratch).unwrap()))));
        print!("{} {widths:?}: encode {encode:.2} GB/s, decode", dtype.numpy());
        for planes in 1..=widths.len() {
            let whole = (0, raw.len() as u64);
            let time = seconds(|| {
                chain.decode_top(&stored, planes, &[count], whole, black_box(&mut out), &mut scratch).unwrap_or(())
            });
            print!(" {planes}: {:.2}", rate(time));
        }
        println!(" GB/s of numbers, by planes read");
    }
}
