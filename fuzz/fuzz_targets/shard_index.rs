//! Any bytes as the index of a shard: an error, or chunks that lie inside of the shard.
#![no_main]

use std::sync::LazyLock;

use icecore_chunk::{ArrayMeta, Shard};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fn shard(location: &str, checksum: bool) -> Shard {
    let mut index_codecs = vec![json!({"name": "bytes", "configuration": {"endian": "little"}})];
    if checksum {
        index_codecs.push(json!("crc32c"));
    }
    let meta = json!({
        "zarr_format": 3, "node_type": "array", "shape": [64], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64]}},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [4], "codecs": ["bytes"], "index_codecs": index_codecs, "index_location": location}}],
    });
    let meta = ArrayMeta::parse(meta.to_string().as_bytes()).expect("the metadata above is right");
    meta.shard.expect("the array above is sharded")
}

static SHARDS: LazyLock<[Shard; 4]> =
    LazyLock::new(|| [shard("start", false), shard("end", false), shard("start", true), shard("end", true)]);

/// libdeflate includes one table in two of its files, which the address sanitizer takes for two definitions of one thing.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const std::ffi::c_char {
    c"detect_odr_violation=0".as_ptr()
}

fuzz_target!(|input: (u8, u8, Option<u64>, &[u8])| {
    let (which, count, total, stored) = input;
    let shard = &SHARDS[usize::from(which) % 4];
    // With a checksum most inputs end early: give it the right one half of the time.
    let mut stored = stored.to_vec();
    if which & 4 != 0 && stored.len() % 16 == 0 && !stored.is_empty() {
        let words: Vec<u64> = stored.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default())).collect();
        let entries: Vec<_> = words.chunks_exact(2).map(|p| Some((p[0], p[1]))).collect();
        stored = shard.encode_index(&entries).expect("plain codecs encode");
    }
    let count = if which & 8 != 0 { stored.len() / 16 } else { usize::from(count) };
    if let Ok(entries) = shard.parse_index(&stored, count, total) {
        assert_eq!(entries.len(), count);
        for (offset, length) in entries.into_iter().flatten() {
            let end = offset.checked_add(length).expect("an end beyond 64 bits");
            assert!(total.is_none_or(|total| end <= total));
        }
    }
});
