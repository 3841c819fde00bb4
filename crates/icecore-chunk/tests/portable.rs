//! Codecs that are pure Rust, as they run on processors without special instructions: small round trips that Miri can
//! interpret (`make miri`). Codecs that call a C library are excluded.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::sample;
use icecore_chunk::{Chain, DType, Scratch};
use serde_json::{Value, json};

fn named(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

fn predict(mode: &str) -> Value {
    named("icecore.predict", json!({"modes": [mode], "codecs": [[named("numcodecs.pcodec", json!({"level": 4}))]]}))
}

/// A type, and codecs for it.
fn chains() -> Vec<(&'static str, Value)> {
    let little = named("bytes", json!({"endian": "little"}));
    let big = named("bytes", json!({"endian": "big"}));
    let planes = json!([{"bytes": 2, "codecs": [little]}, {"bytes": 2, "codecs": [little]}]);
    vec![
        ("float64", json!([little])),
        ("uint32", json!([big])),
        ("int16", json!([named("transpose", json!({"order": [1, 0]})), little])),
        ("int32", json!([little, "crc32c"])),
        ("float32", json!([little, named("numcodecs.shuffle", json!({"elementsize": 4}))])),
        ("float32", json!([named("icecore.byteplanes", json!({"planes": planes}))])),
        ("float64", json!([named("icecore.fpc", json!({"axis": 1}))])),
        ("float32", json!([predict("lorenzo")])),
        ("int32", json!([predict("lag")])),
        ("float64", json!([named("icecore.choice", json!({"choices": [[little], [big]]}))])),
    ]
}

#[test]
fn what_goes_in_comes_out() {
    for (dtype, codecs) in chains() {
        let dtype = DType::parse(&json!(dtype)).unwrap();
        let chain = Chain::parse(&codecs, &dtype, &vec![0; dtype.size()]).unwrap_or_else(|e| panic!("{codecs}: {e:?}"));
        let (raw, mut scratch) = (sample(&dtype, 6 * 35), Scratch::new());
        let stored = chain.encode(&raw, &[6, 35], &mut scratch).unwrap();
        let mut out = vec![0xaa; raw.len()];
        chain.decode(&stored, &[6, 35], (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
        assert!(out == raw, "{codecs}");
        // A part, and a damaged chunk: the right bytes or an error.
        let (lo, hi) = (raw.len() / 3, raw.len() / 2);
        chain.decode(&stored, &[6, 35], (lo as u64, hi as u64), &mut out, &mut scratch).unwrap();
        assert!(out[lo..hi] == raw[lo..hi], "{codecs}");
        for at in [0, 1, stored.len() / 2, stored.len() - 1] {
            let mut damaged = stored.clone();
            damaged[at] ^= 0x55;
            let _ = chain.decode(&damaged, &[6, 35], (0, raw.len() as u64), &mut out, &mut scratch);
            let _ = chain.decode(&stored[..at], &[6, 35], (0, raw.len() as u64), &mut out, &mut scratch);
        }
    }
}
