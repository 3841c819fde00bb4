//! Valid chunks of every codec, mutated at random: the right data or an error, for any wanted range; never a panic.
//!
//! `ICECORE_MUTATIONS=300 ICECORE_SEED=7 cargo test -p icecore-chunk --test mutated` runs for 300 seconds with another
//! seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use common::{Noise, golden, golden_own, sample};
use icecore_chunk::{ArrayMeta, Chain, DType, Scratch, candidates};
use serde_json::{Value, json};

/// A valid chunk.
struct Seed {
    name: String,
    chain: Chain,
    shape: Vec<u64>,
    size: usize,
    stored: Vec<u8>,
}

/// Boundary values of lengths, offsets and counts.
const EDGES: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Elements with a pattern, all equal, random, or of few values.
fn data(dtype: &DType, count: usize, kind: usize) -> Vec<u8> {
    let raw = sample(dtype, count);
    let size = dtype.size();
    let mut noise = Noise::new(kind as u64 + 3);
    match kind {
        0 => raw,
        1 => raw[..size].repeat(count),
        2 if *dtype != DType::Bool => (0..raw.len()).map(|_| noise.next() as u8).collect(),
        _ => (0..count).flat_map(|_| raw[size * noise.below(count.min(4))..][..size].to_vec()).collect(),
    }
}

/// The chain without its final checksum, which would detect every mutation.
fn bare(codecs: &Value) -> Value {
    let list = codecs.as_array().unwrap().iter().filter(|codec| codec["name"] != "crc32c");
    Value::Array(list.cloned().collect())
}

fn encoded(dtype: &DType, noise: &mut Noise) -> Vec<Seed> {
    let fill = vec![0; dtype.size()];
    let shapes: [&[u64]; 4] = [&[7, 9, 11], &[40, 60], &[2500], &[1]];
    let mut seeds = Vec::new();
    for shape in shapes {
        let count = shape.iter().product::<u64>() as usize;
        for candidate in candidates(dtype, shape, false) {
            let chain = Chain::parse(&bare(&candidate.codecs), dtype, &fill).unwrap();
            let raw = data(dtype, count, noise.below(4));
            let stored = chain.encode(&raw, shape, &mut Scratch::new()).unwrap();
            let name = format!("{} of {} {shape:?}", candidate.label, dtype.to_json());
            seeds.push(Seed { name, chain, shape: shape.to_vec(), size: dtype.size(), stored });
        }
    }
    seeds
}

fn kept() -> Vec<Seed> {
    let sole = |case: &common::Golden| {
        !case.dtype().is_vlen() && !case.name.starts_with("shard_s") && !case.name.starts_with("shard_e")
    };
    let cases = golden().into_iter().chain(golden_own()).filter(sole);
    let parsed = cases.map(|case| {
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        Seed {
            name: case.name.clone(),
            chain: meta.chain,
            shape: case.shape(),
            size: meta.dtype.size(),
            stored: case.stored,
        }
    });
    parsed.collect()
}

/// Changes some bytes: single bits, whole bytes, lengths, truncation, duplicated and moved parts, parts of another
/// chunk.
fn mutate(stored: &mut Vec<u8>, other: &[u8], noise: &mut Noise) {
    for _ in 0..=noise.below(3) {
        // Headers and tables are at the beginning.
        let len = if noise.below(2) == 0 { stored.len().min(64) } else { stored.len() };
        let at = noise.below(len);
        match noise.below(9) {
            0 | 1 if !stored.is_empty() => stored[at] ^= 1 << noise.below(8),
            2 if !stored.is_empty() => stored[at] = noise.next() as u8,
            3 | 4 => {
                let edge = EDGES[noise.below(EDGES.len())].wrapping_add(noise.below(3) as u64).wrapping_sub(1);
                let bytes = if noise.below(2) == 0 { edge.to_le_bytes() } else { edge.to_be_bytes() };
                let width = [1, 2, 4, 8][noise.below(4)].min(stored.len() - at.min(stored.len()));
                stored[at..at + width].copy_from_slice(&bytes[..width]);
            }
            5 => stored.truncate(at),
            6 => {
                let part: Vec<u8> = stored[at..].iter().take(noise.below(40)).copied().collect();
                let to = noise.below(stored.len() + 1);
                stored.splice(to..to, part);
            }
            7 => drop(stored.drain(at..(at + noise.below(9)).min(stored.len()))),
            _ => {
                let from = noise.below(other.len());
                let part = &other[from..(from + noise.below(64)).min(other.len())];
                let end = (at + part.len()).min(stored.len());
                stored[at..end].copy_from_slice(&part[..end - at]);
            }
        }
    }
}

/// Decodes the whole and a part; both must agree if the whole is valid.
fn decode(seed: &Seed, stored: &[u8], noise: &mut Noise, scratch: &mut Scratch) {
    let len = seed.shape.iter().product::<u64>() as usize * seed.size;
    let (lo, hi) = (noise.below(len + 1), noise.below(len + 1));
    let (lo, hi) = (lo.min(hi), lo.max(hi));
    let (mut whole, mut part) = (vec![0; len], vec![1; len]);
    let all = seed.chain.decode(stored, &seed.shape, (0, len as u64), &mut whole, scratch);
    let some = seed.chain.decode(stored, &seed.shape, (lo as u64, hi as u64), &mut part, scratch);
    // For LZ4 a distance of zero, which no encoder writes, means "leave the output unchanged"; it cannot detect damage
    // anyway.
    if all.is_ok() && !seed.name.contains("lz4") {
        assert!(some.is_ok(), "all of it decodes, {lo}..{hi} does not: {some:?}");
        assert!(whole[lo..hi] == part[lo..hi], "{lo}..{hi} is not what all of it says");
        // Decoded twice: earlier contents of the memory must not show through.
        let mut again = vec![0xa5; len];
        seed.chain.decode(stored, &seed.shape, (0, len as u64), &mut again, scratch).unwrap();
        assert!(whole == again, "not the same when decoded again");
    }
}

#[test]
fn any_change_is_an_error_or_data() {
    let seconds = number("ICECORE_MUTATIONS", 0);
    let mut noise = Noise::new(number("ICECORE_SEED", 20_261));
    let mut seeds = kept();
    for name in ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "bool"] {
        seeds.extend(encoded(&DType::parse(&json!(name)).unwrap(), &mut noise));
    }
    if let Ok(wanted) = std::env::var("ICECORE_MUTATE") {
        seeds.retain(|seed| seed.name.contains(&wanted));
    }
    let (begin, mut scratch, mut failures) = (Instant::now(), Scratch::new(), Vec::new());
    let mut rounds = 0u64;
    while rounds < 2 || begin.elapsed() < Duration::from_secs(seconds) {
        for at in 0..seeds.len() {
            let (seed, other) = (&seeds[at], &seeds[noise.below(seeds.len())].stored);
            let mut stored = seed.stored.clone();
            if rounds > 0 {
                mutate(&mut stored, other, &mut noise);
            }
            let done = catch_unwind(AssertUnwindSafe(|| decode(seed, &stored, &mut noise, &mut scratch)));
            if done.is_err() {
                scratch = Scratch::new();
                let hex: String = stored.iter().take(4000).map(|byte| format!("{byte:02x}")).collect();
                failures.push(format!("{} ({} bytes): {hex}", seed.name, stored.len()));
                assert!(failures.len() < 20, "{failures:#?}");
            }
        }
        rounds += 1;
    }
    println!("{} chunks, {rounds} rounds", seeds.len());
    assert!(failures.is_empty(), "{failures:#?}");
}
