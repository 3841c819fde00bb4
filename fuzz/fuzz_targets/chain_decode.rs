//! Any bytes as a chunk of any of our codecs: an error, or the same data whether all of it is wanted or a part.
#![no_main]

use std::sync::LazyLock;

use icecore_chunk::{Chain, DType, Scratch};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fn chains() -> Vec<Chain> {
    let codec = |name: &str, config: Value| json!({"name": name, "configuration": config});
    let bytes = codec("bytes", json!({"endian": "big"}));
    let bits = |compression: &str| codec("icecore.h5bitshuffle", json!({"itemsize": 4, "compression": compression}));
    let shuffle = codec("shuffle", json!({"elementsize": 4}));
    let lists = [
        json!([bytes, codec("zlib", json!({}))]),
        json!([bytes, shuffle, codec("gzip", json!({}))]),
        json!([bytes, codec("zstd", json!({}))]),
        json!([bytes, shuffle, codec("zstd", json!({}))]),
        json!([bytes, codec("numcodecs.lz4", json!({}))]),
        json!([bytes, codec("icecore.h5lz4", json!({}))]),
        json!([bytes, codec("icecore.h5lzf", json!({}))]),
        json!([bytes, codec("blosc", json!({"typesize": 4}))]),
        json!([bytes, bits("none")]),
        json!([bytes, bits("lz4")]),
        json!([bytes, bits("zstd")]),
        json!([bytes, codec("bz2", json!({}))]),
        json!([bytes, codec("zstd", json!({})), codec("numcodecs.lz4", json!({})), codec("zlib", json!({}))]),
        json!([bytes, codec("blosc", json!({})), codec("icecore.h5lzf", json!({}))]),
        json!([codec("numcodecs.pcodec", json!({}))]),
        json!([codec("icecore.pages", json!({"page": 16}))]),
        json!([codec("transpose", json!({"order": [1, 0]})), bytes, bits("lz4")]),
    ];
    let parse = |list: &Value| Chain::parse(list, &DType::Float32, &[0; 4]).expect("the lists above are right");
    let bytes = json!([codec("bytes", json!({}))]);
    let own = json!({"length": 3, "codecs": bytes, "rest": bytes, "before": "."});
    let text = Chain::parse(&json!([codec("icecore.text_part", own)]), &DType::Bytes(4), &[0; 4]);
    lists.iter().map(parse).chain(text).collect()
}

static CHAINS: LazyLock<Vec<Chain>> = LazyLock::new(chains);
static STRINGS: LazyLock<Chain> = LazyLock::new(|| {
    Chain::parse(&json!(["vlen-utf8"]), &DType::VlenUtf8, &[]).expect("the list above is right")
});

/// libdeflate includes one table in two of its files, which the address sanitizer takes for two definitions of one thing.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const std::ffi::c_char {
    c"detect_odr_violation=0".as_ptr()
}

fuzz_target!(|input: (u8, [u8; 2], [u16; 2], &[u8])| {
    let (which, shape, range, stored) = input;
    let shape = shape.map(u64::from);
    let mut scratch = Scratch::new();
    if which == 255 {
        if let Ok((blob, places)) = STRINGS.decode_vlen(stored, &shape, &mut scratch) {
            assert!(places.iter().all(|(at, len)| std::str::from_utf8(&blob[*at as usize..][..*len as usize]).is_ok()));
        }
        return;
    }
    let chain = &CHAINS[usize::from(which) % CHAINS.len()];
    let len = (shape[0] * shape[1] * 4) as usize;
    let (lo, hi) = (usize::from(range[0].min(range[1])).min(len), usize::from(range[0].max(range[1])).min(len));
    let (mut whole, mut part) = (vec![0; len], vec![1; len]);
    let all = chain.decode(stored, &shape, (0, len as u64), &mut whole, &mut scratch);
    let some = chain.decode(stored, &shape, (lo as u64, hi as u64), &mut part, &mut scratch);
    if all.is_ok() {
        assert!(some.is_ok() && whole[lo..hi] == part[lo..hi]);
    }
});
