//! Shard indexes: round trips; damaged or contradictory indexes are rejected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use icecore_chunk::{ArrayMeta, Shard};
use proptest::prelude::*;
use serde_json::{Value, json};

fn document(codec: Value) -> Vec<u8> {
    let meta = json!({
        "zarr_format": 3, "node_type": "array", "shape": [100, 60], "data_type": "float32", "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [20, 30]}},
        "codecs": [codec],
    });
    serde_json::to_vec(&meta).unwrap()
}

fn sharding(location: &str, index_codecs: Value) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [5, 10], "index_location": location, "index_codecs": index_codecs,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }})
}

fn usual() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])
}

fn shard(location: &str) -> Shard {
    ArrayMeta::parse(&document(sharding(location, usual()))).unwrap().shard.unwrap()
}

#[test]
fn counts_and_lengths() {
    let meta = ArrayMeta::parse(&document(sharding("end", usual()))).unwrap();
    let shard = meta.shard.as_ref().unwrap();
    assert_eq!(shard.counts(&[20, 30]), [4, 3]);
    assert_eq!(shard.index_bytes(12), 12 * 16 + 4);
    assert_eq!(meta.chunk_grid().unwrap().counts(), [20, 6]);
    assert_eq!(meta.grid.counts(), [5, 2]);
    assert_eq!(meta.chain.names(), ["bytes"]);
}

#[test]
fn chunks_outside_of_the_shard_are_refused() {
    let ok = [Some((0, 50)), None, Some((50, 50)), Some((20, 0))];
    for location in ["start", "end"] {
        let shard = shard(location);
        let index = shard.index_bytes(4) as u64;
        let base = if location == "start" { index } else { 0 };
        let move_by = |entries: &[Option<(u64, u64)>]| -> Vec<_> {
            entries.iter().map(|e| e.map(|(at, len): (u64, u64)| (at.wrapping_add(base), len))).collect()
        };
        let read =
            |entries: &[Option<(u64, u64)>], total| shard.parse_index(&shard.encode_index(entries).unwrap(), 4, total);
        assert_eq!(read(&move_by(&ok), Some(100 + index)).unwrap(), move_by(&ok));
        assert_eq!(read(&move_by(&ok), None).unwrap(), move_by(&ok));
        for bad in [(0, 101), (101, 0), (51, 50), (u64::MAX - base, 1), (5, u64::MAX - 2), (u64::MAX - base, 0)] {
            let entries = move_by(&[None, Some(bad), None, None]);
            let error = read(&entries, Some(100 + index)).unwrap_err();
            assert_eq!(error.kind.code(), "corrupt", "{location} {bad:?}");
            assert!(error.message.contains("chunk 1"), "{error:?}");
        }
    }
    // A chunk must not overlap an index at the start.
    let shard = shard("start");
    let entries = [Some((0, 10)), None, None, None];
    assert!(shard.parse_index(&shard.encode_index(&entries).unwrap(), 4, None).is_err());
}

#[test]
fn every_byte_and_every_length() {
    let shard = shard("end");
    let entries = [Some((0, 50)), None, Some((50, 50)), Some((7, 3))];
    let stored = shard.encode_index(&entries).unwrap();
    for at in 0..stored.len() {
        for bit in 0..8 {
            let mut damaged = stored.clone();
            damaged[at] ^= 1 << bit;
            let error = shard.parse_index(&damaged, 4, Some(168)).unwrap_err();
            assert_eq!(error.kind.code(), "corrupt");
        }
        assert!(shard.parse_index(&stored[..at], 4, Some(168)).is_err());
    }
    let longer = [&stored[..], &[0]].concat();
    assert!(shard.parse_index(&longer, 4, Some(168)).is_err());
    assert!(shard.parse_index(&stored, 5, Some(168)).is_err());
    assert!(shard.parse_index(&stored, usize::MAX, Some(168)).is_err());
}

#[test]
fn other_index_codecs() {
    let big = json!([{"name": "bytes", "configuration": {"endian": "big"}}]);
    let meta = ArrayMeta::parse(&document(sharding("end", big))).unwrap();
    let shard = meta.shard.unwrap();
    let stored = shard.encode_index(&[Some((1, 2)), None]).unwrap();
    assert_eq!(stored[..16], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(shard.parse_index(&stored, 2, None).unwrap(), [Some((1, 2)), None]);
    // Compressed indexes have no fixed length, so they cannot be read from the end of a shard.
    let packed = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]);
    let error = ArrayMeta::parse(&document(sharding("end", packed))).unwrap_err();
    assert_eq!(error.kind.code(), "unsupported");
    for (key, value) in [
        ("chunk_shape", json!([0, 10])),
        ("chunk_shape", json!([7, 10])),
        ("chunk_shape", json!([5])),
        ("index_location", json!("middle")),
        ("codecs", json!(null)),
        ("index_codecs", json!([])),
    ] {
        let mut codec = sharding("end", usual());
        codec["configuration"][key] = value;
        assert!(ArrayMeta::parse(&document(codec.clone())).is_err(), "{codec}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200), n in 0usize..14, total in any::<Option<u64>>()) {
        let plain = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
        let shard = ArrayMeta::parse(&document(sharding("start", plain))).unwrap().shard.unwrap();
        if let Ok(entries) = shard.parse_index(&bytes, n, total) {
            prop_assert_eq!(entries.len(), n);
            for (at, len) in entries.into_iter().flatten() {
                prop_assert!(at.checked_add(len).is_some_and(|end| total.is_none_or(|total| end <= total)));
            }
        }
    }
}
