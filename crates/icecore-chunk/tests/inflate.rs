//! Streams inflated in pieces: the same bytes as zlib-rs, and the same verdict on damaged streams. Two chunks at once:
//! the same as each alone.
#![allow(clippy::unwrap_used)]

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use icecore_chunk::{Chain, DType, Inflate, Job, Scratch, crc32, decode_pair};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// A stream of `text`; a new block begins after each of `parts` bytes.
fn deflated(text: &[u8], level: u32, parts: usize) -> Vec<u8> {
    compressed(text, level, parts, false)
}

/// The same, with zlib's framing or without.
fn compressed(text: &[u8], level: u32, parts: usize, zlib: bool) -> Vec<u8> {
    let mut made = Vec::with_capacity(2 * text.len() + 1000 + 20 * text.len() / parts.max(1));
    let mut stream = Compress::new(Compression::new(level), zlib);
    for part in text.chunks(parts.max(1)) {
        let before = stream.total_in();
        while ((stream.total_in() - before) as usize) < part.len() {
            let from = (stream.total_in() - before) as usize;
            assert!(stream.compress_vec(&part[from..], &mut made, FlushCompress::Full).is_ok());
        }
    }
    let end = stream.compress_vec(&[], &mut made, FlushCompress::Finish);
    assert!(end.is_ok_and(|status| status == Status::StreamEnd));
    made
}

/// Inflates a stream in pieces of these lengths, repeated: the output, the number of bytes read, the result.
fn inflated(stored: &[u8], pieces: &[usize], rooms: &[usize], most: usize) -> (Vec<u8>, usize, Option<bool>) {
    let mut stream = Inflate::default();
    let (mut text, mut at, mut turn) = (Vec::new(), 0, 0);
    loop {
        let piece = pieces[turn % pieces.len()].min(stored.len() - at);
        let mut room = vec![0xa5; rooms[turn % rooms.len()].min(most.saturating_sub(text.len()))];
        turn += 1;
        let Ok((taken, made)) = stream.inflate(&stored[at..at + piece], &mut room) else { return (text, at, None) };
        assert!(taken <= piece && made <= room.len());
        text.extend_from_slice(&room[..made]);
        at += taken;
        if stream.ended() || (taken == 0 && made == 0 && at + piece >= stored.len()) || text.len() >= most {
            return (text, at, Some(stream.ended()));
        }
    }
}

/// The same with zlib-rs, in one piece.
fn by_zlib(stored: &[u8], most: usize) -> (Vec<u8>, usize, Option<bool>) {
    let mut stream = Decompress::new(false);
    let mut text = vec![0; most];
    let status = stream.decompress(stored, &mut text, FlushDecompress::None);
    text.truncate(stream.total_out() as usize);
    let ended = status.map(|status| status == Status::StreamEnd).ok();
    (text, stream.total_in() as usize, ended)
}

/// Text with near and far matches, runs and noise.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        (prop::collection::vec(b'0'..=b'9', 1..40), 1..200usize).prop_map(|(word, times)| word.repeat(times)),
        (any::<u8>(), 1..70_000usize).prop_map(|(byte, times)| vec![byte; times]),
        (1..200u64, 100..3000usize).prop_map(|(seed, count)| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as u32
            };
            (0..count).flat_map(|i| format!("{i:6},{:9.3}\n", f64::from(next() % 9999) / 7.0).into_bytes()).collect()
        }),
    ];
    prop::collection::vec((part, any::<bool>()), 0..6).prop_map(|parts| {
        let mut text: Vec<u8> = Vec::new();
        for (part, again) in parts {
            text.extend(&part);
            if again {
                text.extend_from_within(..text.len().min(33_000)); // around the maximum distance
            }
        }
        text
    })
}

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1 << 20]), prop::collection::vec(1..40usize, 1..5), prop::collection::vec(1..9000usize, 1..5)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(0x5eed), ..ProptestConfig::default() })]

    #[test]
    fn pieces_of_any_length_give_the_text(
        text in texts(), level in 0..10u32, parts in prop_oneof![Just(1usize << 20), 200..20_000usize],
        pieces in pieces(), rooms in pieces(), behind in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let stored = deflated(&text, level, parts);
        let length = stored.len();
        let stored = [stored, behind].concat();
        let (found, taken, ended) = inflated(&stored, &pieces, &rooms, usize::MAX);
        prop_assert!(found == text, "{} bytes instead of {}", found.len(), text.len());
        prop_assert_eq!((taken, ended), (length, Some(true)));
    }

    #[test]
    fn what_is_damaged_is_judged_as_by_zlib(
        text in texts(), level in 0..10u32, pieces in pieces(), rooms in pieces(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<prop::sample::Index>(),
    ) {
        let mut stored = deflated(&text, level, 5000);
        hits.iter().for_each(|(place, bits)| *place.get_mut(&mut stored) ^= bits);
        if cut.index(3) == 0 {
            stored.truncate(cut.index(stored.len()));
        }
        judged_alike(&stored, &pieces, &rooms)?;
    }

    #[test]
    fn noise_is_judged_as_by_zlib(
        first in 0..8u8, noise in prop::collection::vec(any::<u8>(), 0..400), pieces in pieces(), rooms in pieces(),
    ) {
        judged_alike(&[vec![first], noise].concat(), &pieces, &rooms)?;
    }

    #[test]
    fn lengths_of_codes_are_judged_as_by_zlib(bits in blocks(), pieces in pieces()) {
        judged_alike(&bits, &pieces, &[4000])?;
    }
}

fn judged_alike(stored: &[u8], pieces: &[usize], rooms: &[usize]) -> std::result::Result<(), TestCaseError> {
    const MOST: usize = 1 << 20;
    let (found, taken, ended) = inflated(stored, pieces, rooms, MOST);
    let (other, other_taken, other_ended) = by_zlib(stored, MOST);
    if found.len() < MOST && other.len() < MOST && ended != other_ended {
        // One decoder may already know that no bits after the end are valid while the other still waits: then it must
        // be right.
        prop_assert!(ended != Some(true) && other_ended != Some(true), "{ended:?} and {other_ended:?} by zlib");
        let longer = [stored, &[0; 1000]].concat();
        prop_assert_eq!((inflated(&longer, pieces, rooms, MOST).2, by_zlib(&longer, MOST).2), (None, None));
    }
    // Progress before an error depends on the look-ahead.
    let common = found.len().min(other.len());
    prop_assert!(found[..common] == other[..common]);
    if ended == Some(true) && other_ended == Some(true) {
        prop_assert_eq!((found.len(), taken), (other.len(), other_taken));
    }
    Ok(())
}

/// A block with a complete code-length code, followed by random data: the lengths 0 to 7 in three bits each.
fn blocks() -> impl Strategy<Value = Vec<u8>> {
    let lengths = prop::collection::vec(0..8u64, 258..316);
    (0..30u64, 0..30u64, lengths, prop::collection::vec(any::<u8>(), 0..60)).prop_map(
        |(literals, distances, lengths, rest)| {
            let mut bits: Vec<bool> = Vec::new();
            let mut put = |value: u64, count: u32| bits.extend((0..count).map(|i| value >> i & 1 == 1));
            put(0b101, 3);
            put(literals, 5);
            put(distances, 5);
            put(15, 4);
            // In the order of RFC 1951: the symbols 0 to 7 have codes of three bits, all others none.
            [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
                .iter()
                .for_each(|s| put(if *s < 8 { 3 } else { 0 }, 3));
            // Long codes for most symbols, so that all of them fit; codes are read from their first bit on.
            for length in lengths {
                let length: u64 = if length < 5 { 0 } else { length };
                (0..3).rev().for_each(|i| put(length >> i, 1));
            }
            rest.iter().for_each(|byte| put(u64::from(*byte), 8));
            bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |all, bit| all << 1 | u8::from(*bit))).collect()
        },
    )
}

#[test]
fn one_distance_alone_needs_one_bit() {
    // A run: its only distance has a code of one bit, which is incomplete but allowed (RFC 1951, 3.2.7).
    let text = vec![b'x'; 100_000];
    let stored = deflated(&text, 9, usize::MAX);
    assert_eq!(inflated(&stored, &[7], &[999], usize::MAX).0, text);
}

/// A fixed block: a length of 13, and the invalid distance code 30, whose five bits end the input.
#[test]
fn a_code_that_means_nothing_waits_for_no_more_bits() {
    assert_eq!(inflated(&[0x43, 0x79], &[1 << 20], &[100], 100).2, None);
}

#[test]
fn nothing_lies_before_the_stream() {
    let fixed = |bits: &str| -> Vec<u8> {
        let bits: Vec<u8> = bits.bytes().filter(|b| *b != b' ').map(|b| b - b'0').collect();
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |all, bit| all << 1 | bit)).collect()
    };
    // Last block, fixed codes; the byte "a"; length 3 at distance 1 or 2; the end.
    let (near, far) = ("1 10 10010001 0000001 00000 0000000", "1 10 10010001 0000001 00001 0000000");
    assert_eq!(inflated(&fixed(near), &[100], &[100], 100), (b"aaaa".to_vec(), 4, Some(true)));
    assert_eq!(inflated(&fixed(far), &[100], &[100], 100).2, None);
    assert_eq!(inflated(&fixed(far), &[1], &[1], 100).2, None);
}

#[test]
fn checksums_go_on_where_others_ended() {
    assert_eq!(crc32(0, b"123456789"), 0xcbf4_3926);
    assert_eq!(crc32(crc32(0, b"1234"), b"56789"), 0xcbf4_3926);
}

/// Chunks of bytes (and of doubles, shuffled) behind DEFLATE, and one that is not.
fn chains() -> [Chain; 5] {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let zlib = json!({"name": "zlib", "configuration": {"level": 6}});
    let gzip = json!({"name": "gzip", "configuration": {"level": 6}});
    let shuffle = json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}});
    let sum = json!({"name": "fletcher32"});
    let turned = json!({"name": "transpose", "configuration": {"order": [0]}});
    let lists = [
        json!([bytes, zlib]),
        json!([bytes, gzip]),
        json!([bytes, shuffle, zlib, sum]),
        json!([turned, bytes, shuffle, gzip]),
        json!([bytes, {"name": "zstd", "configuration": {"level": 1}}]),
    ];
    let dtype = DType::parse(&Value::from("int16")).unwrap();
    lists.map(|list| Chain::parse(&list, &dtype, &[0; 2]).unwrap())
}

#[derive(Debug, Clone)]
struct Chunk {
    chain: usize,
    text: Vec<u8>,
    level: u32,
    parts: usize,
    hits: Vec<(prop::sample::Index, u8)>,
    wanted: (u64, u64),
}

fn chunks() -> impl Strategy<Value = Chunk> {
    let hits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2);
    let parts = prop_oneof![Just(1usize << 20), 200..20_000usize];
    let wanted = prop_oneof![Just((0, u64::MAX)), (0..9000u64, 0..9000u64)];
    (0..5usize, texts(), 0..10u32, parts, hits, any::<bool>(), wanted).prop_map(
        |(chain, mut text, level, parts, hits, sound, wanted)| {
            text.truncate(text.len() / 2 * 2);
            Chunk { chain, text, level, parts, hits: if sound { vec![] } else { hits }, wanted }
        },
    )
}

impl Chunk {
    fn stored(&self, chain: &Chain) -> Vec<u8> {
        let mut stored = match self.chain {
            // As other programs store it: with many blocks.
            0 => compressed(&self.text, self.level, self.parts, true),
            _ => chain.encode(&self.text, &[self.text.len() as u64 / 2], &mut Scratch::new()).unwrap(),
        };
        self.hits.iter().for_each(|(place, bits)| *place.get_mut(&mut stored) ^= bits);
        stored
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, rng_seed: RngSeed::Fixed(0x5eed), ..ProptestConfig::default() })]

    #[test]
    fn two_chunks_at_once_are_decoded_as_each_alone(chunks in [chunks(), chunks()]) {
        let (chains, mut scratch) = (chains(), Scratch::new());
        let stored = chunks.each_ref().map(|chunk| chunk.stored(&chains[chunk.chain]));
        let mut outs = chunks.each_ref().map(|chunk| vec![0xa5; chunk.text.len()]);
        let shapes = chunks.each_ref().map(|chunk| [chunk.text.len() as u64 / 2]);
        let [first, second] = &mut outs;
        let job = |i: usize, out| {
            let chain = &chains[chunks[i].chain];
            Job { chain, stored: &stored[i], planes: usize::MAX, shape: &shapes[i], wanted: chunks[i].wanted, parts: vec![], out }
        };
        let together = decode_pair([job(0, first), job(1, second)], &mut scratch);
        for i in 0..2 {
            let (chunk, mut alone) = (&chunks[i], vec![0x5a; chunks[i].text.len()]);
            let done = chains[chunk.chain].decode(&stored[i], &shapes[i], chunk.wanted, &mut alone, &mut scratch);
            prop_assert_eq!(together[i].is_ok(), done.is_ok());
            if let (Err(one), Err(other)) = (&together[i], &done) {
                prop_assert_eq!(one.to_string(), other.to_string());
            } else {
                let whole = alone.len();
                // Whole elements of two bytes; outside the wanted range the input may be missing, even half an element.
                let (start, end) = chunk.wanted;
                let wanted = (start as usize / 2 * 2).min(whole)..(end as usize).min(whole);
                let wanted = if start < end { wanted } else { 0..0 };
                prop_assert!(outs[i][wanted.clone()] == alone[wanted]);
            }
            prop_assert!(done.is_ok() || !chunk.hits.is_empty());
        }
    }
}
