//! `icecore.decimal`: floats through integers and back, or rejected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Noise;
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::{ErrorKind, Result};
use serde_json::{Value, json};

fn decimal(scale: i64, dtype: &str, escapes: Value) -> Value {
    json!({"name": "icecore.decimal", "configuration": {"scale": scale, "dtype": dtype, "escapes": escapes}})
}

fn bytes() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "big"}})
}

fn there_and_back(codecs: &Value, dtype: &DType, raw: &[u8], shape: &[u64]) -> Result<Vec<u8>> {
    let chain = Chain::parse(codecs, dtype, &vec![0; dtype.size()]).unwrap_or_else(|e| panic!("{codecs}: {e:?}"));
    let mut scratch = Scratch::new();
    let stored = chain.encode(raw, shape, &mut scratch)?;
    let mut out = vec![0xaa; raw.len()];
    chain.decode(&stored, shape, (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
    assert!(out == raw, "{codecs} of {shape:?}");
    Ok(stored)
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

#[test]
fn every_size_scale_and_order_of_axes() {
    let mut noise = Noise::new(3);
    for (integers, limit) in
        [("int8", 100), ("int16", 32_000), ("int32", 2_000_000_000), ("int64", 9_000_000_000_000_000i64)]
    {
        for scale in [-3i64, 0, 1, 2, 7, 22] {
            let decimals = |k: i64| format!("{k}e{}", -scale);
            let ks: Vec<i64> = (0..210).map(|_| noise.next() as i64 % (limit + 1)).collect();
            let single = |k: i64| (k % 10_000_000).to_string().parse::<i64>().unwrap();
            let f64s: Vec<u8> = ks.iter().flat_map(|k| decimals(*k).parse::<f64>().unwrap().to_ne_bytes()).collect();
            let f32s: Vec<u8> =
                ks.iter().flat_map(|k| (decimals(single(*k)).parse::<f64>().unwrap() as f32).to_ne_bytes()).collect();
            for (dtype, raw) in [(DType::Float64, f64s), (DType::Float32, f32s)] {
                let codec = decimal(scale, integers, json!([]));
                let move_axes = json!({"name": "transpose", "configuration": {"order": [2, 0, 1]}});
                let delta = json!({"name": "numcodecs.delta"});
                for list in [
                    json!([codec, bytes()]),
                    json!([codec, bytes(), "crc32c"]),
                    json!([move_axes, codec, bytes(), {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]),
                    json!([codec, move_axes, bytes()]),
                    json!([move_axes, codec, delta, move_axes, {"name": "numcodecs.pcodec"}, "crc32c"]),
                ] {
                    let shape = [5u64, 6, 7];
                    let whole = there_and_back(&list, &dtype, &raw, &shape);
                    // 22 decimals of a float32 underflow for small k: two k share a value, or none has it.
                    assert!(whole.is_ok() || dtype == DType::Float32 && scale == 22, "{list}: {whole:?}");
                }
                let list = json!([codec, bytes()]);
                there_and_back(&list, &dtype, &[], &[0, 3]).unwrap();
                there_and_back(&list, &dtype, &raw[..dtype.size()], &[]).unwrap();
            }
        }
    }
}

#[test]
fn integers_are_what_is_stored() {
    let list = json!([decimal(2, "int16", json!(["NaN", -9999.0, -0.0])), bytes()]);
    let raw = doubles(&[1.25, -0.01, 0.0, f64::NAN, -9999.0, -0.0, 327.67]);
    let stored = there_and_back(&list, &DType::Float64, &raw, &[7]).unwrap();
    let found: Vec<i16> = stored.as_chunks::<2>().0.iter().map(|c| i16::from_be_bytes(*c)).collect();
    assert_eq!(found, [125, -1, 0, i16::MIN, i16::MIN + 1, i16::MIN + 2, 32767]);
}

#[test]
fn only_what_is_wanted() {
    let values: Vec<f64> = (0..1000).map(|k| f64::from(k - 300) / 1000.0).collect();
    let raw = doubles(&values);
    let list = json!([decimal(3, "int16", json!(["NaN"])), bytes(), {"name": "blosc"}]);
    let chain = Chain::parse(&list, &DType::Float64, &[0; 8]).unwrap();
    let mut scratch = Scratch::new();
    let stored = chain.encode(&raw, &[1000], &mut scratch).unwrap();
    let mut out = vec![0; raw.len()];
    chain.decode(&stored, &[1000], (801, 2399), &mut out, &mut scratch).unwrap();
    assert_eq!(out[800..2400], raw[800..2400]);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let list = |escapes| json!([decimal(2, "int16", escapes), bytes()]);
    let ok = 1.25;
    for (bad, shown) in [
        (0.125, "0.125"),
        (-0.0, "-0.0"),
        (327.68, "327.68"),
        (-327.68, "-327.68"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (1.2500000000000002, "1.2500000000000002"),
    ] {
        let raw = doubles(&[ok, bad, f64::NAN]);
        let error = there_and_back(&list(json!(["0x7ff8000000000001"])), &DType::Float64, &raw, &[3]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Codec);
        assert!(error.message.contains(&format!("element 1 of the chunk is {shown},")), "{}", error.message);
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn configurations_that_cannot_be() {
    let refused = |list: Value, dtype: DType| Chain::parse(&list, &dtype, &vec![0; dtype.size()]).unwrap_err().kind;
    let good = decimal(2, "int16", json!([]));
    for bad in [
        decimal(23, "int16", json!([])),
        decimal(-23, "int16", json!([])),
        decimal(2, "uint16", json!([])),
        decimal(2, "float32", json!([])),
        decimal(2, "int16", json!(["NaN", "NaN"])),
        decimal(2, "int16", json!([null])),
        decimal(2, "int16", json!(["x"])),
        decimal(2, "int16", json!(7)),
        json!("icecore.decimal"),
        json!({"name": "icecore.decimal", "configuration": {"scale": 1.5, "dtype": "int8"}}),
    ] {
        assert_eq!(refused(json!([bad, bytes()]), DType::Float64), ErrorKind::Format, "{bad}");
    }
    assert_eq!(refused(json!([good]), DType::Float64), ErrorKind::Format, "nothing behind it");
    assert_eq!(refused(json!(["crc32c", good, bytes()]), DType::Float64), ErrorKind::Format, "a checksum before it");
    assert_eq!(refused(json!([good, good, bytes()]), DType::Float64), ErrorKind::Unsupported, "twice");
    assert_eq!(refused(json!([good, bytes()]), DType::Int32), ErrorKind::Unsupported);
    assert_eq!(refused(json!([good, bytes()]), DType::VlenUtf8), ErrorKind::Unsupported);
}

#[test]
fn damaged_integers_are_corrupt() {
    let list = json!([decimal(1, "int32", json!([])), {"name": "numcodecs.pcodec"}, "crc32c"]);
    let chain = Chain::parse(&list, &DType::Float32, &[0; 4]).unwrap();
    let raw: Vec<u8> = (0..500).flat_map(|k| (k as f32 / 10.0).to_ne_bytes()).collect();
    let mut scratch = Scratch::new();
    let mut stored = chain.encode(&raw, &[500], &mut scratch).unwrap();
    let mut out = vec![0; raw.len()];
    for at in 0..stored.len() {
        stored[at] ^= 0x10;
        let error = chain.decode(&stored, &[500], (0, 2000), &mut out, &mut scratch).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "byte {at}");
        stored[at] ^= 0x10;
    }
    for len in 0..stored.len() {
        assert!(chain.decode(&stored[..len], &[500], (0, 2000), &mut out, &mut scratch).is_err());
    }
}
