//! Chunks that zarr-python, numcodecs and the HDF5 plugins stored decode to their original data.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Golden, golden, golden_text, sample, strings};
use icecore_chunk::{ArrayMeta, Scratch};

/// Decodes a golden chunk, or assembles all chunks of a golden shard.
fn decode(case: &Golden) -> Vec<u8> {
    let meta = ArrayMeta::parse(&case.document()).unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
    let mut scratch = Scratch::new();
    let size = meta.dtype.size();
    let mut out = vec![0xaa; case.count() * size];
    let len = out.len() as u64;
    let Some(shard) = &meta.shard else {
        let done = meta.chain.decode(&case.stored, &case.shape(), (0, len), &mut out, &mut scratch);
        done.unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
        return out;
    };
    let grid = meta.chunk_grid().unwrap();
    let count = grid.len().unwrap() as usize;
    let index_len = shard.index_bytes(count);
    let stored = &case.stored;
    let index = if shard.index_at_end { &stored[stored.len() - index_len..] } else { &stored[..index_len] };
    let entries = shard.parse_index(index, count, Some(stored.len() as u64)).unwrap();
    assert_eq!(shard.encode_index(&entries).unwrap(), index, "{}", case.name);
    for (flat, entry) in entries.iter().enumerate() {
        let (offset, length) = entry.unwrap();
        let coords = grid.coords(flat as u64);
        let mut chunk = vec![0; shard.chunk.iter().product::<u64>() as usize * size];
        let whole = (0, chunk.len() as u64);
        let bytes = &stored[offset as usize..(offset + length) as usize];
        meta.chain.decode(bytes, &shard.chunk, whole, &mut chunk, &mut scratch).unwrap();
        place(&chunk, &shard.chunk, &coords, &meta.shape, size, &mut out);
    }
    out
}

/// Copies a 2-D chunk to its position.
fn place(chunk: &[u8], shape: &[u64], coords: &[u64], whole: &[u64], size: usize, out: &mut [u8]) {
    let width = shape[1] as usize * size;
    for row in 0..shape[0] {
        let at = ((coords[0] * shape[0] + row) * whole[1] + coords[1] * shape[1]) as usize * size;
        out[at..at + width].copy_from_slice(&chunk[row as usize * width..][..width]);
    }
}

#[test]
fn foreign_chunks_decode_to_their_data() {
    let cases = golden();
    assert!(cases.len() > 90, "only {} golden chunks", cases.len());
    for case in cases.iter().filter(|case| !case.dtype().is_vlen()) {
        let expected = sample(&case.dtype(), case.count());
        assert!(decode(case) == expected, "{}: other values", case.name);
    }
}

#[test]
fn foreign_strings_decode() {
    let mut seen = 0;
    for case in golden().iter().filter(|case| case.dtype().is_vlen()) {
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        let (blob, places) = meta.chain.decode_vlen(&case.stored, &case.shape(), &mut Scratch::new()).unwrap();
        let found: Vec<&[u8]> = places.iter().map(|(at, len)| &blob[*at as usize..][..*len as usize]).collect();
        assert_eq!(found, strings(&case.dtype(), case.count()), "{}", case.name);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

/// Only the wanted bytes have to be correct; tests all combinations of bounds near block and element borders.
#[test]
fn any_wanted_range_is_right() {
    for case in golden().iter().filter(|case| !case.dtype().is_vlen() && !case.name.starts_with("shard")) {
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        let expected = sample(&case.dtype(), case.count());
        let mut scratch = Scratch::new();
        let n = expected.len();
        let mut noise = common::Noise::new(n as u64);
        let mut ranges = vec![(0, 0), (0, 1), (n - 1, n), (n / 3, n / 2), (0, n / 8)];
        ranges.extend((0..12).map(|_| {
            let (a, b) = (noise.below(n + 1), noise.below(n + 1));
            (a.min(b), a.max(b))
        }));
        for (lo, hi) in ranges {
            let mut out = vec![0x55; n];
            let done = meta.chain.decode(&case.stored, &case.shape(), (lo as u64, hi as u64), &mut out, &mut scratch);
            done.unwrap_or_else(|e| panic!("{} {lo}..{hi}: {e:?}", case.name));
            assert!(out[lo..hi] == expected[lo..hi], "{} {lo}..{hi}", case.name);
        }
    }
}

#[test]
fn metadata_of_zarr_python_is_understood() {
    let cases = golden_text("metas.json");
    assert!(cases.len() > 28);
    for case in cases {
        let document = serde_json::to_vec(&case["meta"]).unwrap();
        let meta = ArrayMeta::parse(&document).unwrap_or_else(|e| panic!("{case}: {e:?}"));
        let name = case["numpy"].to_string();
        let plain = |text: &str| text.replace(['|', '<'], "").replace("b1", "?");
        assert_eq!(plain(&meta.dtype.numpy().to_string()), plain(&name), "{case}");
        let fill: String = meta.fill.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(fill, case["fill"].as_str().unwrap(), "{case}");
        assert_eq!(icecore_chunk::DType::parse(&meta.dtype.to_json()).unwrap(), meta.dtype);
    }
}

/// Decoders stop after the wanted bytes: a truncated end has no effect.
#[test]
fn the_end_is_not_needed_for_the_beginning() {
    let stops = ["zstd_wide", "lz4", "blosc_lz4_shuffle", "blosc_zstd_bitshuffle", "h5_lz4", "h5_bitshuffle_8_none"];
    let cases = golden();
    for name in stops {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let meta = ArrayMeta::parse(&case.document()).unwrap();
        let expected = sample(&case.dtype(), case.count());
        let mut stored = case.stored.clone();
        let mut out = vec![0; expected.len()];
        let mut scratch = Scratch::new();
        let enough = expected.len() / 8;
        let end = stored.len() - 3..;
        // Blosc and the HDF5 filters record lengths in their headers, so the end is overwritten instead of truncated.
        if name == "zstd_wide" {
            stored.truncate(end.start)
        } else {
            stored[end].copy_from_slice(&[0x55; 3])
        }
        let part = meta.chain.decode(&stored, &case.shape(), (0, enough as u64), &mut out, &mut scratch);
        part.unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(out[..enough] == expected[..enough], "{name}");
        let whole = meta.chain.decode(&stored, &case.shape(), (0, out.len() as u64), &mut out, &mut scratch);
        assert!(whole.is_err() || out != expected, "{name}");
    }
}
