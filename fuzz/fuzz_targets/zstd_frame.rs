//! Any bytes as a zstd frame: what is decoded is what libzstd makes of it, also where only the beginning is wanted.
#![no_main]

use icecore_chunk::{Chain, DType, Scratch};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const MOST: usize = 1 << 18;
/// Shorter ones are libzstd's own.
const LEAST: usize = 4096;

fuzz_target!(|input: (&[u8], u16)| {
    let (stored, part) = input;
    let Ok(text) = zstd::bulk::decompress(stored, MOST) else { return };
    if text.len() < LEAST {
        return;
    }
    let codecs = json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]);
    let chain = Chain::parse(&codecs, &DType::parse(&Value::from("uint8")).unwrap(), &[0]).unwrap();
    let length = text.len() as u64;
    let enough = length * u64::from(part) / u64::from(u16::MAX);
    for wanted in [length, enough] {
        let mut out = vec![0xa5; text.len()];
        assert!(chain.decode(stored, &[length], (0, wanted), &mut out, &mut Scratch::new()).is_ok());
        assert!(out[..wanted as usize] == text[..wanted as usize]);
    }
});
