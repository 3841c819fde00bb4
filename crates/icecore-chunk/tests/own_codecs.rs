//! Our own array→bytes codecs through the public interface: exact round trips, and invalid input is rejected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{fixed_types, sample};
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::ErrorKind;
use serde_json::{Value, json};

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

fn choice() -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let lists = json!([[bytes], [bytes, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]]);
    json!([{"name": "icecore.choice", "configuration": {"choices": lists}}, "crc32c"])
}

#[test]
fn choice_takes_the_shortest_list_for_each_chunk() {
    for dtype in fixed_types() {
        let chain = chain(&choice(), &dtype);
        let raw = sample(&dtype, 6 * 7);
        there_and_back(&chain, &raw, &[6, 7]);
        let flat = vec![0; dtype.size() * 1000];
        assert_eq!(there_and_back(&chain, &flat, &[1000])[0], 1, "zeros are compressed");
        let one = there_and_back(&chain, &sample(&dtype, 1), &[1]);
        assert!(dtype.size() > 16 || one[0] == 0, "a single number is not");
    }
}

#[test]
fn settings_that_no_codec_of_ours_has_are_refused() {
    let predict = |modes: Value| json!({"name": "icecore.predict", "configuration": {"modes": modes}});
    let bytes = json!({"name": "bytes"});
    let with = |name: &str, configuration: Value| json!({"name": name, "configuration": configuration});
    for (key, codecs) in [
        ("axes", json!([with("icecore.fpc", json!({"axis": 0, "axes": [1]}))])),
        ("mod", json!([with("icecore.predict", json!({"mod": ["lag"]}))])),
        ("taps", json!([predict(json!([{"mode": "lag", "taps": 3}]))])),
        ("axis", json!([predict(json!([{"mode": "lorenzo", "axis": 3}]))])),
        ("choice", json!([with("icecore.choice", json!({"choices": [[bytes]], "choice": 0}))])),
        (
            "filled",
            json!([with("icecore.byteplanes", json!({"planes": [{"bytes": 4, "codecs": [bytes]}], "filled": 1}))]),
        ),
        ("byte", json!([with("icecore.byteplanes", json!({"planes": [{"bytes": 4, "codecs": [bytes], "byte": 1}]}))])),
        ("scales", json!([with("icecore.decimal", json!({"scale": 1, "scales": 2, "dtype": "int32"})), bytes])),
        ("blocksize", json!([bytes, with("icecore.h5lz4", json!({"blocksize": 4096}))])),
        ("block", json!([bytes, with("icecore.h5bitshuffle", json!({"itemsize": 4, "block": 8}))])),
    ] {
        let error = Chain::parse(&codecs, &DType::Float32, &[0; 4]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Format, "{codecs}");
        assert!(error.message.contains(&format!("{key:?}")), "{codecs}: {error:?}");
    }
}

#[test]
fn choice_refuses_lies() {
    let dtype = DType::Float32;
    let bare = json!([choice()[0]]);
    let chain = chain(&bare, &dtype);
    let mut out = [0; 8];
    for stored in [&[][..], &[2, 0, 0, 0, 0, 0, 0, 0, 0], &[0, 1, 2, 3], &[1, 1, 2, 3]] {
        let error = chain.decode(stored, &[2], (0, 8), &mut out, &mut Scratch::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{stored:?}: {error:?}");
    }
    for bad in [json!([]), json!(3), json!([[]]), json!([bare])] {
        let codecs = json!([{"name": "icecore.choice", "configuration": {"choices": bad}}]);
        let error = Chain::parse(&codecs, &dtype, &[0; 4]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Format, "{codecs}");
    }
    let error = Chain::parse(&bare, &DType::VlenUtf8, &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}
