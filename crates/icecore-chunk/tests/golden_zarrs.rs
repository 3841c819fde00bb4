//! `packbits`, `reshape`, `zarrs.squeeze` and shards inside chunks: chunks that zarrs stored, and cases that their
//! definitions require beyond it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Noise, golden_zarrs, sample};
use icecore_chunk::{ArrayMeta, Chain, DType, Scratch};
use serde_json::{Value, json};

fn parse(codecs: Value, dtype: &DType) -> icecore_grid::Result<Chain> {
    Chain::parse(&codecs, dtype, &vec![0; dtype.size()])
}

fn packbits(configuration: Value) -> Value {
    json!([{"name": "packbits", "configuration": configuration}])
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn shard(chunk: Value, codecs: Value) -> Value {
    json!({"name": "sharding_indexed", "configuration":
        {"chunk_shape": chunk, "codecs": codecs, "index_codecs": [little(), "crc32c"]}})
}

#[test]
fn chunks_of_zarrs_decode_to_their_data() {
    let cases = golden_zarrs();
    assert_eq!(cases.len(), 12);
    let mut scratch = Scratch::new();
    for case in &cases {
        let meta = ArrayMeta::parse(&case.document()).unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
        let expected = sample(&case.dtype(), case.count());
        let (shape, len) = (case.shape(), expected.len());
        let mut noise = Noise::new(len as u64);
        let mut ranges = vec![(0, len), (0, 1), (len - 1, len)];
        ranges.extend((0..40).map(|_| (noise.below(len + 1), noise.below(len + 1))).filter(|(lo, hi)| lo <= hi));
        for (lo, hi) in ranges {
            let mut out = vec![0x55; len];
            let done = meta.chain.decode(&case.stored, &shape, (lo as u64, hi as u64), &mut out, &mut scratch);
            done.unwrap_or_else(|e| panic!("{} {lo}..{hi}: {e:?}", case.name));
            assert!(out[lo..hi] == expected[lo..hi], "{} {lo}..{hi}", case.name);
        }
        let again = meta.chain.encode(&expected, &shape, &mut scratch).unwrap();
        // The order of the chunks in a shard is the writer's choice, and so are the bytes of a compressor.
        if !case.name.contains("shard") && case.name != "packbits_bool_last" {
            assert!(again == case.stored, "{}: other bytes than zarrs writes", case.name);
        }
        let mut out = vec![0; len];
        meta.chain.decode(&again, &shape, (0, len as u64), &mut out, &mut scratch).unwrap();
        assert!(out == expected, "{}", case.name);
    }
}

#[test]
fn damaged_chunks_are_errors_or_decode() {
    let mut scratch = Scratch::new();
    for case in golden_zarrs() {
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        let len = case.count() * meta.dtype.size();
        let (mut out, mut noise) = (vec![0; len], Noise::new(7));
        for _ in 0..500 {
            let mut stored = case.stored.clone();
            let at = noise.below(stored.len());
            stored[at] ^= (noise.next() as u8).max(1);
            let _ = meta.chain.decode(&stored, &case.shape(), (0, len as u64), &mut out, &mut scratch);
            let cut = &case.stored[..at];
            let error = meta.chain.decode(cut, &case.shape(), (0, len as u64), &mut out, &mut scratch).unwrap_err();
            assert_eq!(error.kind.code(), "corrupt", "{} cut to {at}", case.name);
        }
    }
}

/// The definition extends the sign over the whole number; zarrs 0.23 extends it within one byte.
#[test]
fn packed_bits_by_their_definition() {
    let mut scratch = Scratch::new();
    let mut noise = Noise::new(3);
    for dtype in [DType::Int16, DType::Int32, DType::Int64, DType::UInt32, DType::UInt8, DType::Int8] {
        let bits = 8 * dtype.size() as u32;
        let signed = !matches!(dtype, DType::UInt32 | DType::UInt8);
        for _ in 0..200 {
            let first = noise.below(bits as usize) as u32;
            let last = first + noise.below((bits - first) as usize) as u32;
            let chain = parse(packbits(json!({"first_bit": first, "last_bit": last})), &dtype).unwrap();
            let numbers: Vec<u64> = (0..13).map(|_| noise.next()).collect();
            let raw: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()[..dtype.size()].to_vec()).collect();
            let raw = if cfg!(target_endian = "little") { raw } else { return };
            let stored = chain.encode(&raw, &[13], &mut scratch).unwrap();
            assert_eq!(stored.len(), (13 * (last - first + 1)).div_ceil(8) as usize);
            let mut out = vec![0; raw.len()];
            chain.decode(&stored, &[13], (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
            for (number, bytes) in numbers.iter().zip(out.chunks(dtype.size())) {
                let kept = i128::from(number >> first) & ((1i128 << (last - first + 1)) - 1);
                let negative = signed && kept >> (last - first) & 1 == 1;
                let value = (if negative { kept - (1i128 << (last - first + 1)) } else { kept }) << first;
                assert_eq!(bytes, &value.to_le_bytes()[..dtype.size()], "{dtype:?} {first}..={last} {number:#x}");
            }
        }
    }
}

/// A padding byte is optional if all bits of a number are kept: zarrs omits it, the definition requires it.
#[test]
fn padding_of_whole_numbers() {
    let mut scratch = Scratch::new();
    let raw = sample(&DType::UInt16, 9);
    for place in ["first_byte", "last_byte"] {
        let chain = parse(packbits(json!({"padding_encoding": place})), &DType::UInt16).unwrap();
        let stored = chain.encode(&raw, &[9], &mut scratch).unwrap();
        assert_eq!(stored.len(), raw.len() + 1);
        for stored in [&stored, &raw] {
            let mut out = vec![0; raw.len()];
            chain.decode(stored, &[9], (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
            assert_eq!(out, raw);
        }
        let mut wrong = stored.clone();
        wrong[if place == "first_byte" { 0 } else { raw.len() }] = 3;
        let mut out = vec![0; raw.len()];
        assert!(chain.decode(&wrong, &[9], (0, 18), &mut out, &mut scratch).is_err());
    }
}

#[test]
fn missing_inner_chunks_hold_the_fill_value() {
    let mut scratch = Scratch::new();
    let fill = (-7i16).to_ne_bytes();
    let moved =
        json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, shard(json!([3, 2]), json!([little()]))]);
    let nested = json!([shard(json!([4, 6]), json!([shard(json!([2, 3]), json!([little()]))]))]);
    for codecs in [moved, nested] {
        let chain = Chain::parse(&codecs, &DType::Int16, &fill).unwrap();
        let mut raw = fill.repeat(8 * 12);
        raw[..6].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        let stored = chain.encode(&raw, &[8, 12], &mut scratch).unwrap();
        assert!(stored.len() < raw.len() * 2, "missing chunks are not stored");
        let mut out = vec![0; raw.len()];
        chain.decode(&stored, &[8, 12], (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
        assert_eq!(out, raw);
    }
}

#[test]
fn configurations_that_cannot_be() {
    let bad: Vec<(Value, DType, &str)> = vec![
        (packbits(json!({"first_bit": 3, "last_bit": 2})), DType::Int16, "format"),
        (packbits(json!({"last_bit": 16})), DType::Int16, "format"),
        (packbits(json!({"first_bit": -1})), DType::Int16, "format"),
        (packbits(json!({"padding_encoding": "middle"})), DType::Bool, "format"),
        (packbits(json!({"bits": 3})), DType::Bool, "format"),
        (packbits(json!({})), DType::Bytes(4), "unsupported"),
        (packbits(json!({})), DType::VlenUtf8, "unsupported"),
        (json!([{"name": "reshape", "configuration": {"shape": [-1, -1]}}, "bytes"]), DType::Int8, "format"),
        (json!([{"name": "reshape", "configuration": {"shape": [0]}}, "bytes"]), DType::Int8, "format"),
        (json!([{"name": "reshape", "configuration": {"shape": [[1], [0]]}}, "bytes"]), DType::Int8, "format"),
        (json!([{"name": "reshape"}, "bytes"]), DType::Int8, "format"),
        (json!([{"name": "zarrs.squeeze", "configuration": {"axis": 0}}, "bytes"]), DType::Int8, "format"),
        (json!([shard(json!([0]), json!(["bytes"])), "crc32c"]), DType::Int8, "format"),
        (json!([shard(json!([2]), json!(["bytes"])), "crc32c"]), DType::VlenUtf8, "unsupported"),
    ];
    for (codecs, dtype, kind) in bad {
        let error = parse(codecs.clone(), &dtype).unwrap_err();
        assert_eq!(error.kind.code(), kind, "{codecs} of {dtype:?}: {error:?}");
    }
}

#[test]
fn shapes_that_do_not_fit_the_chunk() {
    let mut scratch = Scratch::new();
    let reshape = |shape: Value| json!([{"name": "reshape", "configuration": {"shape": shape}}, "bytes"]);
    let wrong = [
        reshape(json!([7])),
        reshape(json!([5, -1])),
        reshape(json!([[0], [2]])),
        reshape(json!([2, [0]])), // as many elements, but axis 0 of the chunk is not axis 1 of the shape
        json!([shard(json!([4, 4]), json!(["bytes"])), "crc32c"]),
        json!([shard(json!([12]), json!(["bytes"])), "crc32c"]),
    ];
    let raw = [1; 12];
    for codecs in wrong {
        let chain = parse(codecs.clone(), &DType::Int8).unwrap();
        let error = chain.encode(&raw, &[6, 2], &mut scratch).unwrap_err();
        assert_eq!(error.kind.code(), "format", "{codecs}: {error:?}");
        let error = chain.decode(&raw, &[6, 2], (0, 12), &mut [0; 12], &mut scratch).unwrap_err();
        assert!(matches!(error.kind.code(), "format" | "corrupt"), "{codecs}: {error:?}");
    }
    for codecs in
        [reshape(json!([12])), reshape(json!([[0], [1]])), reshape(json!([3, -1])), reshape(json!([[0, 1], 1]))]
    {
        let chain = parse(codecs.clone(), &DType::Int8).unwrap();
        assert_eq!(chain.encode(&raw, &[6, 2], &mut scratch).unwrap(), raw, "{codecs}");
    }
}
