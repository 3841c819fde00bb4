//! Damaged chunks: every byte changed, every length truncated. The result is the right data or an error, never a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Golden, Noise, golden, sample, strings};
use flate2::{Decompress, FlushDecompress};
use icecore_chunk::{ArrayMeta, Chain, DType, Scratch};
use serde_json::json;

/// Allowed results for a damaged chunk: an error with a kind, or data of the right length.
fn meet(case: &Golden, meta: &ArrayMeta, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> bool {
    let whole = (0, out.len() as u64);
    match meta.chain.decode(stored, &case.shape(), whole, out, scratch) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind.code(), "corrupt", "{}: {error:?}", case.name);
            assert!(!error.hint.is_empty(), "{}", case.name);
            false
        }
    }
}

/// Codecs whose checksum covers all data: damage is always detected.
fn protected(name: &str) -> bool {
    let checked = ["gzip", "zlib", "crc32", "adler32", "fletcher", "zstd_checksum", "bz2"];
    checked.iter().any(|part| name.contains(part)) && !name.contains("blosc")
}

fn sole_chunks() -> Vec<(Golden, ArrayMeta)> {
    let whole = |case: &Golden| {
        !case.dtype().is_vlen() && !case.name.starts_with("shard_s") && !case.name.starts_with("shard_e")
    };
    let parsed = |case: Golden| {
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        (case, meta)
    };
    golden()
        .into_iter()
        .filter(whole)
        .filter(|case| case.meta["codecs"].as_array().unwrap().len() > 1)
        .map(parsed)
        .collect()
}

#[test]
fn every_byte_changed() {
    let mut scratch = Scratch::new();
    for (case, meta) in sole_chunks() {
        let expected = sample(&case.dtype(), case.count());
        let mut out = vec![0; expected.len()];
        let mut stored = case.stored.clone();
        let mut noise = Noise::new(stored.len() as u64);
        // Longer chunks are sampled: every byte of the beginning, where the headers are, and some of the rest.
        let step = (stored.len() / 700).max(1);
        for at in (0..stored.len().min(80)).chain((80..stored.len()).step_by(step)) {
            for change in [1 << noise.below(8), 0xff, (noise.next() as u8).max(1)] {
                stored[at] ^= change;
                let passed = meet(&case, &meta, &stored, &mut out, &mut scratch);
                assert!(!passed || !protected(&case.name) || out == expected, "{} byte {at} ^ {change:#x}", case.name);
                stored[at] ^= change;
            }
        }
    }
}

#[test]
fn every_length_cut() {
    let mut scratch = Scratch::new();
    for (case, meta) in sole_chunks() {
        let expected = sample(&case.dtype(), case.count());
        let mut out = vec![0; expected.len()];
        let step = (case.stored.len() / 2000).max(1);
        for len in (0..case.stored.len()).step_by(step) {
            let passed = meet(&case, &meta, &case.stored[..len], &mut out, &mut scratch);
            assert!(!passed || out == expected, "{} cut to {len} of {}", case.name, case.stored.len());
        }
    }
}

#[test]
fn other_shapes_than_stored() {
    let mut scratch = Scratch::new();
    for (case, meta) in sole_chunks() {
        if meta.chain.names().iter().any(|name| name == "transpose" || name == "sharding_indexed") {
            continue;
        }
        let count = case.count() as u64;
        for wrong in [1, count - 1, count + 1, 3 * count] {
            let mut out = vec![0; wrong as usize * meta.dtype.size()];
            let whole = (0, out.len() as u64);
            let error = meta.chain.decode(&case.stored, &[wrong], whole, &mut out, &mut scratch).unwrap_err();
            assert_eq!(error.kind.code(), "corrupt", "{}", case.name);
        }
        let mut short = vec![0; meta.dtype.size()];
        let error = meta.chain.decode(&case.stored, &case.shape(), (0, 1), &mut short, &mut scratch).unwrap_err();
        assert_eq!(error.kind.code(), "mismatch", "{}", case.name);
    }
}

#[test]
fn partial_decoding_of_damaged_chunks_stays_safe() {
    let mut scratch = Scratch::new();
    for (case, meta) in sole_chunks() {
        let n = case.count() * meta.dtype.size();
        let (mut out, mut noise) = (vec![0; n], Noise::new(n as u64));
        let mut stored = case.stored.clone();
        for _ in 0..300 {
            let at = noise.below(stored.len());
            let change = (noise.next() as u8).max(1);
            stored[at] ^= change;
            let lo = noise.below(n);
            let hi = lo + noise.below(n - lo + 1);
            // The only requirement is that nothing panics.
            let _ = meta.chain.decode(&stored, &case.shape(), (lo as u64, hi as u64), &mut out, &mut scratch);
            stored[at] ^= change;
        }
    }
}

#[test]
fn every_head_of_a_zlib_stream_is_judged_as_by_zlib() {
    let mut scratch = Scratch::new();
    let codecs = json!([{"name": "bytes"}, {"name": "zlib", "configuration": {"level": 1}}]);
    let chain = Chain::parse(&codecs, &DType::UInt8, &[0]).unwrap();
    let (raw, mut out) = ([7; 100], [0; 100]);
    let mut stored = chain.encode(&raw, &[100], &mut scratch).unwrap();
    let mut right = 0;
    for head in 0..=u16::MAX {
        stored[..2].copy_from_slice(&head.to_be_bytes());
        let by_zlib = Decompress::new(true).decompress(&stored, &mut out, FlushDecompress::Finish).is_ok();
        let ours = chain.decode(&stored, &[100], (0, 100), &mut out, &mut scratch);
        assert_eq!(ours.is_ok(), by_zlib, "{head:#06x}");
        right += u32::from(by_zlib);
    }
    assert_eq!(right, 32, "8 windows, 4 levels");
    stored[..2].copy_from_slice(&[0x78, 0x01]);
    for cut in 0..stored.len() {
        assert!(chain.decode(&stored[..cut], &[100], (0, 100), &mut out, &mut scratch).is_err(), "cut to {cut}");
    }
    stored.extend([1, 2, 3]); // bytes after the stream are ignored
    chain.decode(&stored, &[100], (0, 100), &mut out, &mut scratch).unwrap();
    assert_eq!(out, raw);
}

#[test]
fn damaged_strings() {
    let mut scratch = Scratch::new();
    for case in golden().iter().filter(|case| case.dtype().is_vlen()) {
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        let expected = strings(&case.dtype(), case.count());
        let mut stored = case.stored.clone();
        for at in 0..stored.len() {
            for change in [1, 0x80, 0xff] {
                stored[at] ^= change;
                if let Ok((blob, places)) = meta.chain.decode_vlen(&stored, &case.shape(), &mut scratch) {
                    assert_eq!(places.len(), case.count());
                    assert!(places.iter().all(|(at, len)| (*at as usize + *len as usize) <= blob.len()));
                }
                stored[at] ^= change;
            }
            if let Ok((blob, places)) = meta.chain.decode_vlen(&stored[..at], &case.shape(), &mut scratch) {
                let found: Vec<&[u8]> = places.iter().map(|(at, len)| &blob[*at as usize..][..*len as usize]).collect();
                assert_eq!(found, expected, "{} cut to {at}", case.name);
            }
        }
    }
}
