//! Differential tests against libdeflate: two streams at once, valid or damaged, must give libdeflate's bytes and
//! verdict.
//!
//! One difference is allowed: if a damaged stream uses a code that its block doesn't define, libdeflate may accept it;
//! zlib-rs and our decoder reject it. Such chunks are then decoded by libdeflate, whose verdict counts.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Decompress, FlushDecompress};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

use super::Pair;
use crate::contexts::Inflater;

fn deflated(text: &[u8], level: u32) -> Vec<u8> {
    let mut stream = DeflateEncoder::new(Vec::new(), Compression::new(level));
    stream.write_all(text).unwrap();
    stream.finish().unwrap()
}

/// Bytes with matches, with runs, and of few values.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..900),
        prop::collection::vec(b'0'..b'6', 0..4000),
        (prop::collection::vec(any::<u8>(), 1..30), 1..300usize).prop_map(|(word, times)| word.repeat(times)),
        (any::<u8>(), 1..40_000usize).prop_map(|(byte, times)| vec![byte; times]),
    ];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

/// A stream, damaged or not, and its decoded length.
fn streams() -> impl Strategy<Value = (Vec<u8>, usize)> {
    let hits = prop::collection::vec((any::<Index>(), 0..8u8), 0..3);
    (texts(), 0..10u32, hits, prop::option::weighted(0.15, any::<Index>())).prop_map(|(text, level, hits, cut)| {
        let mut stored = deflated(&text, level);
        hits.iter().for_each(|(place, bit)| *place.get_mut(&mut stored) ^= 1 << bit);
        if let Some(cut) = cut {
            stored.truncate(cut.index(stored.len()));
        }
        (stored, text.len())
    })
}

/// Bytes used and bytes written, if the stream fills the output.
fn by_libdeflate(stored: &[u8], length: usize) -> Option<(usize, Vec<u8>)> {
    let mut out = vec![0xa5; length];
    let (used, written) = Inflater::new().unwrap().inflate_bare(stored, &mut out).ok()?;
    (written == length).then_some((used, out))
}

fn zlib_rejects(stored: &[u8], length: usize) -> bool {
    Decompress::new(false).decompress(stored, &mut vec![0; length + 1], FlushDecompress::None).is_err()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: RngSeed::Fixed(0x5eed), ..ProptestConfig::default() })]

    #[test]
    fn two_streams_at_once_are_judged_as_by_libdeflate(first in streams(), second in streams()) {
        let (mut one, mut other) = (vec![0xa5; first.1], vec![0xa5; second.1]);
        let used = Pair::default().inflate([&first.0, &second.0], [&mut one, &mut other]);
        let found = [used[0].map(|used| (used, one)), used[1].map(|used| (used, other))];
        for ((stored, length), found) in [first, second].iter().zip(found) {
            let other = by_libdeflate(stored, *length);
            let stricter = found.is_none() && other.is_some() && zlib_rejects(stored, *length);
            prop_assert!(found == other || stricter, "{} bytes stored, {length} expected", stored.len());
        }
    }
}
