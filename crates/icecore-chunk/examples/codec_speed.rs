//! Ratio and speed of codec chains on one thread.
//!
//! `cargo run --release -p icecore-chunk --example codec_speed -- FILE DTYPE [CHUNK_ELEMENTS]`: FILE holds raw numbers in
//! native order. Without arguments, a smooth field with noise is made.

use std::time::Instant;

use icecore_chunk::{Chain, DType, Scratch};
use serde_json::{Value, json};

fn field() -> Vec<u8> {
    let mut state = 1u64;
    (0..4_000_000u64)
        .flat_map(|i| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (state >> 40) as f32 / (1 << 24) as f32;
            let x = i as f32;
            (280.0 + 15.0 * (x * 3e-4).sin() + 3.0 * (x * 0.01).cos() + noise * 0.01).to_ne_bytes()
        })
        .collect()
}

fn candidates(size: usize) -> Vec<(String, Value)> {
    let codec = |name: &str, config: Value| json!({"name": name, "configuration": config});
    let shuffle = codec("numcodecs.shuffle", json!({"elementsize": size}));
    let mut out = vec![
        ("raw".to_string(), json!([])),
        ("shuffle".to_string(), json!([shuffle])),
        ("bitshuffle".to_string(), json!([codec("icecore.h5bitshuffle", json!({"itemsize": size}))])),
        ("zlib 4".to_string(), json!([codec("zlib", json!({"level": 4}))])),
        ("shuffle zlib 4".to_string(), json!([shuffle, codec("zlib", json!({"level": 4}))])),
        ("zstd 3".to_string(), json!([codec("zstd", json!({"level": 3}))])),
        ("lz4".to_string(), json!([codec("numcodecs.lz4", json!({}))])),
        ("crc32c".to_string(), json!(["crc32c"])),
        ("fletcher32".to_string(), json!([codec("fletcher32", json!({}))])),
    ];
    for (cname, level) in [("lz4", 5), ("lz4", 9), ("zstd", 1), ("zstd", 3), ("zstd", 5), ("zstd", 7), ("zstd", 9)] {
        for mode in ["shuffle", "bitshuffle"] {
            let config = json!({"cname": cname, "clevel": level, "shuffle": mode, "typesize": size, "blocksize": 0});
            out.push((format!("blosc {cname} {level} {mode}"), json!([codec("blosc", config)])));
        }
    }
    out
}

/// Megabytes a second of the fastest of some rounds.
fn speed(bytes: usize, rounds: usize, mut work: impl FnMut()) -> f64 {
    let best = (0..rounds).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    bytes as f64 / 1e6 / best.fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let data = match args.first() {
        Some(path) => std::fs::read(path)?,
        None => field(),
    };
    let dtype = DType::parse(&json!(args.get(1).map_or("float32", String::as_str)))?;
    let elements: usize = args.get(2).map_or(Ok(65_536), |text| text.parse())?;
    let size = dtype.size();
    let chunks: Vec<&[u8]> = data.chunks_exact(elements * size).take(64).collect();
    let total: usize = chunks.iter().map(|c| c.len()).sum();
    println!(
        "{} chunks of {} bytes\n{:<28} {:>8} {:>12} {:>12}",
        chunks.len(),
        elements * size,
        "",
        "ratio",
        "encode MB/s",
        "decode MB/s"
    );
    let (mut scratch, shape) = (Scratch::new(), [elements as u64]);
    for (name, back) in candidates(size) {
        let mut list = vec![json!({"name": "bytes", "configuration": {"endian": "little"}})];
        list.extend(back.as_array().cloned().unwrap_or_default());
        let chain = Chain::parse(&Value::Array(list), &dtype, &vec![0; size])?;
        let stored = chunks.iter().map(|c| chain.encode(c, &shape, &mut scratch)).collect::<Result<Vec<_>, _>>()?;
        let packed: usize = stored.iter().map(Vec::len).sum();
        let mut out = vec![0; elements * size];
        let whole = (0, out.len() as u64);
        let encode = speed(total, 2, || chunks.iter().for_each(|c| drop(chain.encode(c, &shape, &mut scratch))));
        let decode = speed(total, 7, || {
            stored.iter().for_each(|s| drop(chain.decode(s, &shape, whole, &mut out, &mut scratch)))
        });
        println!("{name:<28} {:>8.3} {encode:>12.0} {decode:>12.0}", total as f64 / packed as f64);
    }
    Ok(())
}
