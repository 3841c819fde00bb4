//! Decoding allocates nothing in steady state: all memory is kept in `Scratch`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use icecore_chunk::{Chain, DType, Scratch};
use serde_json::json;

struct Counting;

thread_local! {
    // Counted per thread, because the test harness allocates beside the test.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_chunk_allocates() {
    let codec = |name: &str, config: serde_json::Value| json!({"name": name, "configuration": config});
    let shuffle = codec("numcodecs.shuffle", json!({"elementsize": 4}));
    let bits = codec("icecore.h5bitshuffle", json!({"itemsize": 4, "compression": "zstd"}));
    let lists = [
        json!([codec("zlib", json!({}))]),
        json!([shuffle, codec("zlib", json!({})), codec("fletcher32", json!({}))]),
        json!([codec("zstd", json!({})), "crc32c"]),
        json!([codec("numcodecs.lz4", json!({}))]),
        json!([codec("blosc", json!({"cname": "zstd", "shuffle": "shuffle"}))]),
        json!([codec("blosc", json!({"cname": "lz4", "shuffle": "bitshuffle"}))]),
        json!([codec("gzip", json!({})), codec("zstd", json!({}))]),
        json!([bits]),
    ];
    let raw = common::sample(&DType::Float32, 10_000);
    for list in lists {
        let mut codecs = vec![codec("bytes", json!({"endian": "big"}))];
        codecs.extend(list.as_array().unwrap().clone());
        let chain = Chain::parse(&json!(codecs), &DType::Float32, &[0; 4]).unwrap();
        let mut scratch = Scratch::new();
        let stored = chain.encode(&raw, &[10_000], &mut scratch).unwrap();
        let mut out = vec![0; raw.len()];
        let mut decode = |wanted| chain.decode(&stored, &[10_000], wanted, &mut out, &mut scratch).unwrap();
        (0..3).for_each(|_| decode((0, 40_000)));
        let before = COUNT.get();
        (0..50).for_each(|n| decode((n * 100, 40_000 - n)));
        assert_eq!(COUNT.get() - before, 0, "{list}");
        assert!(scratch.held() > 0 || !list.to_string().contains("shuffle"), "{list}");
        scratch.trim(0);
        assert_eq!(scratch.held(), 0);
    }
}
