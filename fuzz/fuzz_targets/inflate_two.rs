//! Any bytes as two DEFLATE streams that are decoded at once: the same as each alone, by another decoder.
#![no_main]

use flate2::{Decompress, FlushDecompress, Status};
use icecore_chunk::{Chain, DType, Job, Scratch, decode_pair};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const MOST: usize = 1 << 17;

/// The stream with a head and the sum of what another decoder makes of it, where it makes anything.
fn framed(bits: &[u8]) -> (Vec<u8>, Vec<u8>, bool) {
    let mut stream = Decompress::new(false);
    let mut text = vec![0; MOST];
    let status = stream.decompress(bits, &mut text, FlushDecompress::None);
    text.truncate(stream.total_out() as usize);
    let ended = status.is_ok_and(|status| status == Status::StreamEnd);
    let used = if ended { stream.total_in() as usize } else { bits.len() };
    let (mut low, mut high) = (1u32, 0u32);
    for byte in &text {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    let sum = (high << 16 | low).to_be_bytes();
    ([&[0x78, 0x9c], &bits[..used], &sum[..]].concat(), text, ended)
}

fuzz_target!(|input: (&[u8], &[u8])| {
    let codecs = json!([{"name": "bytes"}, {"name": "zlib", "configuration": {"level": 6}}]);
    let chain = Chain::parse(&codecs, &DType::parse(&Value::from("uint8")).unwrap(), &[0]).unwrap();
    let (first, second) = (framed(input.0), framed(input.1));
    let (mut out, mut other) = (vec![0xa5; first.1.len()], vec![0xa5; second.1.len()]);
    let shapes = [[out.len() as u64], [other.len() as u64]];
    let job = |stored, shape, out| Job { chain: &chain, stored, planes: usize::MAX, shape, wanted: (0, u64::MAX), out };
    let jobs = [job(&first.0, &shapes[0], &mut out), job(&second.0, &shapes[1], &mut other)];
    let [done, next] = decode_pair(jobs, &mut Scratch::new());
    for ((_, text, ended), done, out) in [(first, done, out), (second, next, other)] {
        // A stream that isn't there has no chunk.
        if !text.is_empty() {
            assert_eq!(done.is_ok(), ended);
            assert!(!ended || out == text);
        }
    }
});
