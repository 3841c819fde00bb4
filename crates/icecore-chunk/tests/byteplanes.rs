//! `icecore.byteplanes`: every bit pattern is reproduced, and invalid input is rejected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Noise, fixed_types, sample};
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::ErrorKind;
use proptest::prelude::*;
use serde_json::{Value, json};

fn plane(bytes: usize, codecs: Value) -> Value {
    json!({"bytes": bytes, "codecs": codecs})
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn zstd() -> Value {
    json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}})
}

fn codecs(planes: Vec<Value>, fill: &str) -> Value {
    json!([{"name": "icecore.byteplanes", "configuration": {"planes": planes, "fill": fill}}])
}

/// Planes of these widths; wide ones shuffled, single-byte ones raw or compressed.
fn split(widths: &[usize]) -> Value {
    let list = widths.iter().map(|width| match width {
        1 => plane(1, json!([{"name": "bytes"}, zstd(), "crc32c"])),
        2 => plane(2, json!([{"name": "numcodecs.pcodec"}])),
        n => plane(*n, json!([little(), {"name": "shuffle", "configuration": {"elementsize": n}}, zstd()])),
    });
    codecs(list.collect(), "midpoint")
}

/// Ways to split a number of this size.
fn splits(unit: usize) -> Vec<Vec<usize>> {
    match unit {
        1 => vec![vec![1]],
        2 => vec![vec![1, 1], vec![2]],
        4 => vec![vec![2, 1, 1], vec![2, 2], vec![4]],
        _ => vec![vec![2, 1, 1, 1, 1, 1, 1], vec![2, 2, 4], vec![2, 1, 1, 4], vec![4, 2, 2], vec![8]],
    }
}

fn unit(dtype: &DType) -> usize {
    dtype.swap_units()[0].0
}

fn chain(codecs: &Value, dtype: &DType) -> Chain {
    Chain::parse(codecs, dtype, &vec![0; dtype.size()]).unwrap_or_else(|e| panic!("{codecs}: {e:?}"))
}

fn decode(chain: &Chain, stored: &[u8], shape: &[u64], len: usize) -> Vec<u8> {
    let mut out = vec![0xaa; len];
    chain.decode(stored, shape, (0, len as u64), &mut out, &mut Scratch::new()).unwrap();
    out
}

fn splittable() -> impl Iterator<Item = DType> {
    fixed_types().into_iter().filter(|dtype| !matches!(dtype, DType::Struct(_)))
}

#[test]
fn all_types_and_sizes_come_back() {
    for dtype in splittable() {
        for widths in splits(unit(&dtype)) {
            let chain = chain(&split(&widths), &dtype);
            for shape in [&[][..], &[1], &[0], &[3, 0, 2], &[7], &[2, 3, 5], &[5000]] {
                let raw = sample(&dtype, shape.iter().product::<u64>() as usize);
                let stored = chain.encode(&raw, shape, &mut Scratch::new()).unwrap();
                assert!(decode(&chain, &stored, shape, raw.len()) == raw, "{dtype:?} {widths:?} {shape:?}");
            }
        }
    }
}

#[test]
fn any_wanted_range_is_right() {
    let chain = chain(&split(&[2, 1, 1]), &DType::Float32);
    let raw = sample(&DType::Float32, 3000);
    let stored = chain.encode(&raw, &[3000], &mut Scratch::new()).unwrap();
    let mut noise = Noise::new(7);
    for _ in 0..50 {
        let (a, b) = (noise.below(raw.len() + 1), noise.below(raw.len() + 1));
        let (low, high) = (a.min(b), a.max(b));
        let mut out = vec![0x55; raw.len()];
        chain.decode(&stored, &[3000], (low as u64, high as u64), &mut out, &mut Scratch::new()).unwrap();
        assert!(out[low..high] == raw[low..high], "{low}..{high}");
    }
}

/// Noise is stored raw, repetitive data is compressed.
#[test]
fn each_plane_is_raw_or_packed() {
    let mut noise = Noise::new(3);
    let count = 40_000;
    let raw: Vec<u8> = (0..count as u32)
        .flat_map(|n| (0x3f80_0000 | (n / 5000) << 16 | noise.next() as u32 & 0xffff).to_ne_bytes())
        .collect();
    let stored = chain(&split(&[2, 1, 1]), &DType::Float32).encode(&raw, &[count], &mut Scratch::new()).unwrap();
    // Entries of 16 bytes: escapes, then the planes; "raw" is byte 12.
    let flags: Vec<u8> = (0..4).map(|nth| stored[nth * 16 + 12]).collect();
    assert_eq!(flags, [0, 0, 1, 1]);
    let counter: Vec<u8> = (0..count as u32).flat_map(u32::to_ne_bytes).collect();
    let stored = chain(&split(&[2, 1, 1]), &DType::UInt32).encode(&counter, &[count], &mut Scratch::new()).unwrap();
    assert_eq!(stored[3 * 16 + 12], 0, "a counter's low byte has flat frequencies but is not noise");
    assert!(stored.len() < count as usize / 10);
}

#[test]
fn lies_are_corrupt() {
    let dtype = DType::Float32;
    let chain = chain(&codecs(vec![plane(2, json!([little()])), plane(2, json!([little()]))], "zero"), &dtype);
    let raw: Vec<u8> = [1f32, f32::from_bits(1), f32::NAN, -0.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
    let stored = chain.encode(&raw, &[4], &mut Scratch::new()).unwrap();
    let mut scratch = Scratch::new();
    let mut out = [0; 16];
    let mut refused = |stored: &[u8], what: String| {
        let error = chain.decode(stored, &[4], (0, 16), &mut out, &mut scratch).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{what}: {error:?}");
    };
    for len in 0..stored.len() {
        refused(&stored[..len], format!("cut to {len}"));
    }
    for at in 0..stored.len() {
        for bit in 0..8 {
            let mut bad = stored.clone();
            bad[at] ^= 1 << bit;
            refused(&bad, format!("bit {bit} of byte {at}"));
        }
    }
    // A table with a valid checksum and wrong lengths.
    for length in [0u64, 3, 7, 9, 1 << 20, u64::MAX / 2, u64::MAX] {
        for entry in 0..3 {
            let mut bad = stored.clone();
            bad[entry * 16..entry * 16 + 8].copy_from_slice(&length.to_le_bytes());
            let sum = crc32c::crc32c(&bad[..48]);
            bad[48..52].copy_from_slice(&sum.to_le_bytes());
            if bad != stored {
                refused(&bad, format!("entry {entry} of {length} bytes"));
            }
        }
    }
}

#[test]
fn configurations_that_cannot_be() {
    let bytes = json!([little()]);
    let one = |width: usize| plane(width, bytes.clone());
    let bad = [
        (DType::Float32, vec![]),
        (DType::Float32, vec![one(2), one(1)]),
        (DType::Float32, vec![one(2), one(2), one(1)]),
        (DType::Float32, vec![one(1), one(1), one(2)]), // half an exponent
        (DType::Float64, vec![one(1), one(1), one(2), one(4)]),
        (DType::Int64, vec![one(3), one(4), one(1)]),
        (DType::Int8, vec![one(2)]),
        (DType::UInt16, vec![plane(2, split(&[2]))]),
    ];
    for (dtype, planes) in bad {
        let list = codecs(planes, "midpoint");
        let error = Chain::parse(&list, &dtype, &vec![0; dtype.size()]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Format, "{list}: {error:?}");
    }
    let error = Chain::parse(&codecs(vec![one(4)], "half"), &DType::Float32, &[0; 4]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Format);
    let mixed = fixed_types().into_iter().find(|t| matches!(t, DType::Struct(_))).unwrap();
    let error = Chain::parse(&codecs(vec![one(1)], "zero"), &mixed, &vec![0; mixed.size()]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random bits: NaN payloads, subnormals, negative zero.
    #[test]
    fn any_bits_come_back(which in 0usize..3, choice in 0usize..5, words in prop::collection::vec(any::<u64>(), 0..300), mask in any::<u64>()) {
        let dtype = [DType::Float16, DType::Float32, DType::Float64][which].clone();
        let size = dtype.size();
        let raw: Vec<u8> = words.iter().flat_map(|word| (word & mask).to_ne_bytes()[..size].to_vec()).collect();
        let ways = splits(size);
        let chain = chain(&split(&ways[choice % ways.len()]), &dtype);
        let shape = [words.len() as u64];
        let stored = chain.encode(&raw, &shape, &mut Scratch::new()).unwrap();
        prop_assert!(decode(&chain, &stored, &shape, raw.len()) == raw);
    }
}
