//! Chunks of our own codecs, stored by earlier versions: they must stay readable for ever.
//!
//! To add a codec, add its cases to `cases()` and run `cargo test -p icecore-chunk --test golden_own -- --ignored`,
//! which writes the missing files and never changes an existing one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{folder, golden_own, sample};
use icecore_chunk::{ArrayMeta, Chain, DType, Scratch};
use serde_json::{Value, json};

const SHAPE: [u64; 2] = [20, 31];

/// The data of a case: by formula, with every kind of non-normal number for floats. Cases named `_few` have few
/// different values, those named `_gaps` one value in the last columns, those named `_finite` normal numbers only.
fn data(name: &str, dtype: &DType) -> Vec<u8> {
    let (count, size) = ((SHAPE[0] * SHAPE[1]) as usize, dtype.size());
    let mut raw = sample(dtype, count);
    if name.ends_with("_few") {
        raw = raw[..50 * size].repeat(13)[..count * size].to_vec();
    }
    if name.ends_with("_gaps") {
        let gap = raw[..size].to_vec();
        let places = raw.chunks_mut(size).enumerate().filter(|(at, _)| at % 31 > 20);
        places.for_each(|(_, slot)| slot.copy_from_slice(&gap));
    }
    let odd: &[u64] = match dtype {
        _ if name.ends_with("_finite") => &[],
        DType::Float16 => &[0x8000, 1, 0x7c00, 0xfc00, 0x7e00, 0x7c01],
        DType::Float32 => &[0x8000_0000, 1, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001],
        DType::Float64 => &[1 << 63, 1, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 0x7ff0 << 48 | 1],
        _ => &[],
    };
    for (slot, bits) in raw.chunks_mut(dtype.size()).step_by(7).zip(odd) {
        slot.copy_from_slice(&bits.to_ne_bytes()[..dtype.size()]); // the files were written on a little-endian machine
    }
    raw
}

fn byteplanes(widths: &[usize], fill: &str) -> Value {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let shuffle = |width| json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": width}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    let planes = widths.iter().map(|w| json!({"bytes": w, "codecs": [little, shuffle(w), zstd]}));
    let planes: Vec<Value> = planes.collect();
    json!([{"name": "icecore.byteplanes", "configuration": {"planes": planes, "fill": fill}}])
}

/// The residuals of one mode through pco, which receives them signed, or through zstd, which receives them folded.
fn predict(mode: Value, pco: bool) -> Value {
    let zstd = json!([
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 3, "checksum": false}}
    ]);
    let list = if pco { json!([{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]) } else { zstd };
    json!([{"name": "icecore.predict", "configuration": {"modes": [mode], "codecs": [list]}}])
}

fn decimal() -> Value {
    let escapes = ["0x8000000000000000", "0x0000000000000001", "Infinity", "-Infinity", "NaN", "0x7ff0000000000001"];
    json!([
        {"name": "icecore.decimal", "configuration": {"scale": 3, "dtype": "int32", "escapes": escapes}},
        {"name": "bytes", "configuration": {"endian": "little"}}
    ])
}

fn fpc(axis: i64) -> Value {
    json!([{"name": "icecore.fpc", "configuration": {"axis": axis}}])
}

fn pages(page: u64) -> Value {
    json!([{"name": "icecore.pages", "configuration": {"page": page}}])
}

/// Of each chunk the first list would do; the third is the shortest for this one.
fn choice() -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    let crc = json!({"name": "crc32c"});
    let lists = json!([[bytes, crc], [bytes, zstd, crc], [predict(json!("lorenzo"), true)[0], crc]]);
    json!([{"name": "icecore.choice", "configuration": {"choices": lists}}])
}

fn cases() -> Vec<(&'static str, DType, Value)> {
    let along = |mode: &str, axis: u64, lag: u64| json!({"mode": mode, "axis": axis, "lag": lag});
    vec![
        ("choice_f4", DType::Float32, choice()),
        ("choice_i8_few", DType::Int64, choice()),
        ("decimal_f8", DType::Float64, decimal()),
        ("fpc_f4", DType::Float32, fpc(-1)),
        ("fpc_f8", DType::Float64, fpc(0)),
        ("fpc_i8", DType::Int64, fpc(1)),
        ("pages_b1", DType::Bool, pages(100)),
        ("pages_f4", DType::Float32, pages(64)),
        ("pages_i2_few", DType::Int16, pages(256)),
        ("pages_i8", DType::Int64, pages(31)),
        ("pages_s8", DType::Bytes(8), pages(16)),
        ("predict_none_f4", DType::Float32, predict(json!("none"), true)),
        ("predict_lorenzo_u1", DType::UInt8, predict(json!("lorenzo"), true)),
        ("predict_lorenzo_f2", DType::Float16, predict(json!("lorenzo"), true)),
        ("predict_lorenzo_f4", DType::Float32, predict(json!("lorenzo"), true)),
        ("predict_lorenzo_f4_gaps", DType::Float32, predict(json!("lorenzo"), true)),
        ("predict_lorenzo_f8_folded", DType::Float64, predict(json!("lorenzo"), false)),
        ("predict_lorenzo_times", DType::DateTime64 { unit: "ns".into(), scale: 1 }, predict(json!("lorenzo"), false)),
        ("predict_xor_f8", DType::Float64, predict(along("xor", 0, 1), false)),
        ("predict_lag_i4", DType::Int32, predict(along("lag", 1, 3), true)),
        ("predict_lattice_f4", DType::Float32, predict(json!("lattice"), false)),
        ("predict_lattice_f8_gaps", DType::Float64, predict(json!("lattice"), true)),
        ("predict_rank_f8_few", DType::Float64, predict(json!("rank"), true)),
        ("predict_rank_i2_few", DType::Int16, predict(json!("rank"), false)),
        ("predict_float_lorenzo_f4", DType::Float32, predict(json!("float_lorenzo"), true)),
        ("predict_least_squares_f8", DType::Float64, predict(json!("least_squares"), false)),
        ("predict_lpc_f8_finite", DType::Float64, predict(json!({"mode": "lpc", "taps": 11}), true)),
        ("byteplanes_f2", DType::Float16, byteplanes(&[1, 1], "midpoint")),
        ("byteplanes_f4", DType::Float32, byteplanes(&[2, 1, 1], "midpoint")),
        ("byteplanes_f4_zero", DType::Float32, byteplanes(&[2, 2], "zero")),
        ("byteplanes_f8", DType::Float64, byteplanes(&[2, 1, 1, 4], "midpoint")),
        ("byteplanes_i8", DType::Int64, byteplanes(&[4, 2, 1, 1], "zero")),
        ("byteplanes_c8", DType::Complex64, byteplanes(&[2, 1, 1], "midpoint")),
    ]
}

#[test]
#[cfg(target_endian = "little")]
fn what_was_written_is_read() {
    let golden = golden_own();
    assert_eq!(golden.len(), cases().len(), "run the ignored test of this file, and commit what it writes");
    for case in golden {
        let meta = ArrayMeta::parse(&case.document()).unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
        let expected = data(&case.name, &meta.dtype);
        let mut out = vec![0xaa; expected.len()];
        let whole = (0, out.len() as u64);
        meta.chain.decode(&case.stored, &case.shape(), whole, &mut out, &mut Scratch::new()).unwrap();
        assert!(out == expected, "{}: other values", case.name);
        assert!(!case.name.starts_with("choice") || case.stored[0] > 0, "{}: the first list was taken", case.name);
        if let Some(mode) = case.name.strip_prefix("predict_") {
            let predictors = [("none", 0), ("xor", 1), ("float", 3), ("least", 3), ("lpc", 4)];
            let predictor = predictors.iter().find(|(start, _)| mode.starts_with(start)).map_or(2, |(_, kind)| *kind);
            assert_eq!(case.stored[2], predictor, "{}: the mode was not taken", case.name);
        }
    }
}

#[test]
#[ignore = "writes golden files"]
fn write() {
    let own = folder().join("own");
    std::fs::create_dir_all(&own).unwrap();
    let mut lines = Vec::new();
    for (name, dtype, codecs) in cases() {
        let file = own.join(format!("{name}.bin"));
        if !file.exists() {
            let chain = Chain::parse(&codecs, &dtype, &vec![0; dtype.size()]).unwrap();
            std::fs::write(file, chain.encode(&data(name, &dtype), &SHAPE, &mut Scratch::new()).unwrap()).unwrap();
        }
        let grid = json!({"name": "regular", "configuration": {"chunk_shape": SHAPE}});
        let fill = match dtype {
            DType::Complex64 | DType::Complex128 => json!([0, 0]),
            DType::Bool => json!(false),
            DType::Bytes(_) => json!(""),
            _ => json!(0),
        };
        let meta = json!({"shape": SHAPE, "data_type": dtype.to_json(), "fill_value": fill, "codecs": codecs, "chunk_grid": grid});
        lines.push(json!({"name": name, "meta": meta}).to_string());
    }
    std::fs::write(own.join("cases.json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
}
