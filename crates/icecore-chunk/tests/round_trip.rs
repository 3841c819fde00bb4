//! Round trips: every codec, every type, odd sizes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Noise, fixed_types, sample, strings};
use icecore_chunk::{Chain, DType, Scratch, default_codecs};
use serde_json::{Value, json};

fn codec(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

/// Lists of bytes→bytes codecs for elements of `size` bytes.
fn byte_codecs(size: usize) -> Vec<Value> {
    let mut out = vec![
        json!([]),
        json!([codec("numcodecs.zlib", json!({"level": 1}))]),
        json!([codec("gzip", json!({"level": 9}))]),
        json!([codec("zstd", json!({"level": 3, "checksum": true}))]),
        json!([codec("numcodecs.lz4", json!({"acceleration": 2}))]),
        json!([codec("icecore.h5lz4", json!({"block_size": 100}))]),
        json!([codec("imagecodecs_lz4h5", json!({}))]),
        json!([codec("icecore.h5lzf", json!({}))]),
        json!([codec("numcodecs.bz2", json!({"level": 1}))]),
        json!([codec("numcodecs.lzma", json!({"preset": 1}))]),
        json!([codec("zstd", json!({})), codec("numcodecs.lzma", json!({"format": 2, "preset": 0}))]),
        json!([codec("numcodecs.shuffle", json!({"elementsize": size})), codec("numcodecs.zlib", json!({}))]),
        json!([codec("numcodecs.fletcher32", json!({}))]),
        json!(["crc32c", codec("numcodecs.adler32", json!({})), codec("crc32", json!({"location": "end"}))]),
        json!([codec("numcodecs.fletcher32", json!({})), codec("zstd", json!({})), "crc32c"]),
        json!([codec("zstd", json!({})), codec("gzip", json!({})), codec("icecore.h5lzf", json!({}))]),
        json!([codec("numcodecs.lz4", json!({})), codec("icecore.h5lz4", json!({})), codec("bz2", json!({}))]),
        json!([codec("zstd", json!({})), codec("shuffle", json!({"elementsize": 3})), codec("zstd", json!({}))]),
        json!([codec("zstd", json!({})), codec("blosc", json!({"cname": "lz4"})), codec("zlib", json!({}))]),
    ];
    for cname in ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"] {
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            let config = json!({"cname": cname, "clevel": 4, "shuffle": shuffle, "typesize": size, "blocksize": 0});
            out.push(json!([codec("blosc", config)]));
        }
    }
    for compression in ["none", "lz4", "zstd"] {
        let config = json!({"itemsize": size, "block_size": 16, "compression": compression});
        out.push(json!([codec("icecore.h5bitshuffle", config)]));
        out.push(json!([
            codec("zstd", json!({})),
            codec("icecore.h5bitshuffle", json!({"itemsize": 3, "compression": compression}))
        ]));
    }
    out
}

fn chain(front: Value, back: Value, dtype: &DType) -> Chain {
    let list: Vec<Value> = [front, back].iter().flat_map(|v| v.as_array().unwrap().clone()).collect();
    Chain::parse(&Value::Array(list.clone()), dtype, &vec![0; dtype.size()])
        .unwrap_or_else(|e| panic!("{list:?}: {e:?}"))
}

fn check(chain: &Chain, raw: &[u8], shape: &[u64], scratch: &mut Scratch) {
    let at = || format!("{:?} {} {shape:?}", chain.names(), chain.dtype().numpy());
    let stored = chain.encode(raw, shape, scratch).unwrap_or_else(|e| panic!("{}: {e:?}", at()));
    if let Some(len) = chain.fixed_len(shape) {
        assert_eq!(stored.len(), len, "{}", at());
    }
    let mut out = vec![0x77; raw.len()];
    chain
        .decode(&stored, shape, (0, raw.len() as u64), &mut out, scratch)
        .unwrap_or_else(|e| panic!("{}: {e:?}", at()));
    assert!(out == raw, "{}: other bytes", at());
}

#[test]
fn every_codec_and_type() {
    let mut scratch = Scratch::new();
    for dtype in fixed_types() {
        for back in byte_codecs(dtype.size()) {
            let bytes = json!([codec("bytes", json!({"endian": "little"}))]);
            let chain = chain(bytes, back, &dtype);
            for shape in [&[1][..], &[7, 11, 3], &[0, 4], &[], &[129], &[1024]] {
                let count = shape.iter().product::<u64>() as usize;
                check(&chain, &sample(&dtype, count), shape, &mut scratch);
            }
        }
    }
}

#[test]
fn noise_and_constants() {
    let mut scratch = Scratch::new();
    let mut noise = Noise::new(5);
    for dtype in [DType::UInt8, DType::Int16, DType::Float32, DType::Float64, DType::Complex128] {
        for back in byte_codecs(dtype.size()) {
            let chain = chain(json!([codec("bytes", json!({"endian": "big"}))]), back, &dtype);
            for count in [2, 33, 4099, 20_000] {
                let len = count * dtype.size();
                check(&chain, &(0..len).map(|_| noise.next() as u8).collect::<Vec<_>>(), &[count as u64], &mut scratch);
                check(&chain, &vec![7; len], &[count as u64], &mut scratch);
            }
        }
    }
}

/// c-blosc shuffles bits only in blocks whose number of elements is a multiple of 8.
#[test]
fn bits_are_shuffled_whatever_the_number() {
    let mut scratch = Scratch::new();
    for (cname, level) in [("lz4", 5), ("lz4hc", 2), ("zstd", 3), ("zlib", 1)] {
        for (dtype, count) in [(DType::Float64, 47_480), (DType::Int32, 62_784), (DType::UInt8, 300_000)] {
            let config = json!({"cname": cname, "clevel": level, "shuffle": "bitshuffle", "typesize": dtype.size()});
            let chain =
                chain(json!([codec("bytes", json!({"endian": "little"}))]), json!([codec("blosc", config)]), &dtype);
            let raw: Vec<u8> = match dtype {
                DType::Float64 => (0..count + 7).flat_map(|i: i32| (f64::from(i) / 2.0 - 7e5).to_le_bytes()).collect(),
                DType::Int32 => (0..count + 7).flat_map(|i| i32::to_le_bytes(i / 100 * (i / 100))).collect(),
                _ => (0..count + 7).map(|i| u8::from(i % 90 > 30)).collect(),
            };
            let mut stored = |count: i32| {
                let raw = &raw[..count as usize * dtype.size()];
                check(&chain, raw, &[count as u64], &mut scratch);
                chain.encode(raw, &[count as u64], &mut scratch).unwrap().len()
            };
            let even = stored(count);
            for more in 1..8 {
                assert!(stored(count + more) < even + even / 8 + 200, "{cname} {dtype:?} {count} + {more}");
            }
        }
    }
}

#[test]
fn array_codecs() {
    let mut scratch = Scratch::new();
    let shape = [4, 1, 9, 5];
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1], [0, 2, 1, 3], [3, 0, 1, 2], [0, 1, 3, 2]];
    for dtype in fixed_types() {
        let raw = sample(&dtype, 180);
        for order in orders {
            for endian in ["little", "big"] {
                let bytes = codec("bytes", json!({"endian": endian}));
                let transpose = codec("transpose", json!({"order": order}));
                let back = json!([codec("zstd", json!({}))]);
                check(&chain(json!([transpose, bytes]), json!([]), &dtype), &raw, &shape, &mut scratch);
                check(&chain(json!([transpose, transpose, bytes]), back, &dtype), &raw, &shape, &mut scratch);
            }
        }
    }
    for dtype in
        [DType::Int8, DType::UInt16, DType::Int32, DType::UInt64, DType::Float16, DType::Float32, DType::Float64]
    {
        let raw = sample(&dtype, 180);
        let transpose = codec("transpose", json!({"order": [2, 3, 0, 1]}));
        let pco = codec("numcodecs.pcodec", json!({"level": 4}));
        check(&chain(json!([pco]), json!([]), &dtype), &raw, &shape, &mut scratch);
        check(&chain(json!([transpose, pco]), json!(["crc32c"]), &dtype), &raw, &shape, &mut scratch);
        if dtype != DType::Float16 {
            let delta = codec("numcodecs.delta", json!({"dtype": dtype.numpy()}));
            let bytes = codec("bytes", json!({"endian": "big"}));
            check(&chain(json!([delta, transpose, bytes]), json!([]), &dtype), &raw, &shape, &mut scratch);
        }
    }
}

/// Codecs that see a whole chunk, followed by bytes→bytes codecs.
#[test]
fn packed_and_nested_codecs() {
    let mut scratch = Scratch::new();
    let raw = sample(&DType::Bool, 37);
    check(
        &chain(json!(["packbits"]), json!([codec("numcodecs.zlib", json!({}))]), &DType::Bool),
        &raw,
        &[37],
        &mut scratch,
    );
    let shard = codec(
        "sharding_indexed",
        json!({"chunk_shape": [2, 3], "codecs": ["bytes"], "index_codecs": [codec("bytes", json!({"endian": "little"}))]}),
    );
    let raw = sample(&DType::UInt8, 24);
    check(
        &chain(json!([shard]), json!([codec("zstd", json!({"level": 1, "checksum": false}))]), &DType::UInt8),
        &raw,
        &[4, 6],
        &mut scratch,
    );
}

/// Outputs need not be aligned.
#[test]
fn pco_into_an_unaligned_output() {
    let chain = chain(json!([codec("numcodecs.pcodec", json!({}))]), json!([]), &DType::Float64);
    let raw = sample(&DType::Float64, 300);
    let mut scratch = Scratch::new();
    for shift in 0..8 {
        let mut askew = vec![0; raw.len() + 8];
        askew[shift..shift + raw.len()].copy_from_slice(&raw);
        let stored = chain.encode(&askew[shift..shift + raw.len()], &[300], &mut scratch).unwrap();
        askew.fill(0);
        let out = &mut askew[shift..shift + raw.len()];
        chain.decode(&stored, &[300], (0, raw.len() as u64), out, &mut scratch).unwrap();
        assert!(out == raw, "shift {shift}");
    }
}

#[test]
fn several_gzip_members() {
    let chain = chain(
        json!([codec("bytes", json!({"endian": "little"}))]),
        json!([codec("gzip", json!({"level": 5}))]),
        &DType::Int16,
    );
    let raw = sample(&DType::Int16, 1000);
    let mut scratch = Scratch::new();
    let mut stored = chain.encode(&raw[..700], &[350], &mut scratch).unwrap();
    stored.extend(chain.encode(&raw[700..], &[650], &mut scratch).unwrap());
    let mut out = vec![0; raw.len()];
    chain.decode(&stored, &[1000], (0, 2000), &mut out, &mut scratch).unwrap();
    assert_eq!(out, raw);
    stored.extend([0; 9]);
    chain.decode(&stored, &[1000], (0, 2000), &mut out, &mut scratch).unwrap();
    stored.push(1);
    assert_eq!(chain.decode(&stored, &[1000], (0, 2000), &mut out, &mut scratch).unwrap_err().kind.code(), "corrupt");
}

#[test]
fn strings_of_any_length() {
    let mut scratch = Scratch::new();
    for (dtype, name) in [(DType::VlenUtf8, "vlen-utf8"), (DType::VlenBytes, "vlen-bytes")] {
        for back in byte_codecs(1) {
            let chain = chain(json!([name]), back, &dtype);
            for count in [0, 1, 315] {
                let elements = strings(&dtype, count);
                let views: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
                let stored = chain.encode_vlen(&views, &mut scratch).unwrap();
                let (blob, places) = chain.decode_vlen(&stored, &[count as u64], &mut scratch).unwrap();
                let found: Vec<&[u8]> = places.iter().map(|(at, len)| &blob[*at as usize..][..*len as usize]).collect();
                assert_eq!(found, views, "{name} {count}");
                assert!(chain.decode_vlen(&stored, &[count as u64 + 1], &mut scratch).is_err());
            }
        }
    }
}

#[test]
fn default_codecs_suit_every_type() {
    let mut scratch = Scratch::new();
    for dtype in fixed_types() {
        for count in [1, 5000] {
            let codecs = default_codecs(&dtype, &[count]);
            let chain = Chain::parse(&codecs, &dtype, &vec![0; dtype.size()]).unwrap();
            check(&chain, &sample(&dtype, count as usize), &[count], &mut scratch);
        }
    }
    for dtype in [DType::VlenUtf8, DType::VlenBytes] {
        let chain = Chain::parse(&default_codecs(&dtype, &[9]), &dtype, &[]).unwrap();
        assert!(chain.encode_vlen(&[b"ab", b""], &mut scratch).is_ok());
    }
}

#[test]
fn rounding_keeps_what_it_promises() {
    let dtype = DType::Float32;
    let front = json!([codec("bitround", json!({"keepbits": 7})), codec("bytes", json!({"endian": "little"}))]);
    let chain = chain(front, json!([]), &dtype);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, 1e-40, 1.0, -3.7, 1234.567];
    let raw: Vec<u8> = special.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let stored = chain.encode(&raw, &[10], &mut Scratch::new()).unwrap();
    let (found, _) = stored.as_chunks::<4>();
    for (v, found) in special.iter().zip(found.iter().map(|c| f32::from_le_bytes(*c))) {
        let exact = v.is_nan() || v.is_infinite() || *v == 0.0;
        let near = exact && found.to_bits() == v.to_bits() || (found - v).abs() <= v.abs() / 256.0 + 1e-41;
        // The largest number rounds up to infinity, as rounding to nearest defines.
        assert!(near || *v == f32::MAX && found.is_infinite(), "{v} became {found}");
    }
}
