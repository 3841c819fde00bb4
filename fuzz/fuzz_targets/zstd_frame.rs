//! Any bytes as a zstd frame: what is decoded is what libzstd makes of it, also where only the beginning is wanted; and what it
//! refuses is refused.
#![no_main]

use icecore_chunk::{Chain, DType, Scratch};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const MOST: usize = 1 << 18;
/// Shorter ones are libzstd's own.
const LEAST: usize = 4096;

fuzz_target!(|input: (&[u8], u16)| {
    let (stored, part) = input;
    let codecs = json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]);
    let chain = Chain::parse(&codecs, &DType::parse(&Value::from("uint8")).unwrap(), &[0]).unwrap();
    let decode = |length: usize, wanted: usize| {
        let mut out = vec![0xa5; length];
        let done = chain.decode(stored, &[length as u64], (0, wanted as u64), &mut out, &mut Scratch::new());
        (done, out)
    };
    let share = |length: usize| length * usize::from(part) / usize::from(u16::MAX);
    match zstd::bulk::decompress(stored, MOST) {
        Ok(text) if text.len() < LEAST => {}
        Ok(text) => {
            for wanted in [text.len(), share(text.len())] {
                let (done, out) = decode(text.len(), wanted);
                assert!(done.is_ok());
                assert!(out[..wanted] == text[..wanted]);
            }
        }
        Err(_) => {
            let length = LEAST + share(MOST - LEAST);
            assert!(decode(length, length).0.is_err());
            let _ = decode(length, share(length)); // its beginning may be sound
        }
    }
});
