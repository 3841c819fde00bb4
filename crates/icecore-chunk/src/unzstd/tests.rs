//! Differential tests against libzstd: both decoders return equal bytes, or both reject the frame.
//!
//! Two differences are allowed; in both cases `Decompressor` calls libzstd, whose verdict counts. Our decoder rejects a
//! damaged frame in which a Huffman stream ends before or after its last symbol, as RFC 8878 (4.2.2) requires;
//! libzstd's fast loop over four streams checks only how many bytes each decodes to. And it rejects an empty input,
//! which libzstd decodes to an empty output.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, Strategy as Way};

use super::Desk;
use super::streams::tests::noting_uneven_ends;
use crate::contexts::Decompressor;

/// Bytes of many kinds, one after the other.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let noise = |seed: u64| {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    };
    let part = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2000),
        (prop::collection::vec(any::<u8>(), 1..40), 1..3000usize).prop_map(|(word, times)| word.repeat(times)),
        (any::<u8>(), 1..150_000usize).prop_map(|(byte, times)| vec![byte; times]),
        // Floats of a smooth field, rounded to a few bits.
        (1..u64::MAX, 100..30_000u32, 4..24u32).prop_map(move |(seed, count, bits)| {
            let mut next = noise(seed);
            let mask = !0u32 << (24 - bits);
            (0..count)
                .map(|i| (f64::from(i) / 50.0).sin() + (next() % 1000) as f64 * 1e-4)
                .flat_map(|value| ((value as f32).to_bits() & mask).to_le_bytes())
                .collect()
        }),
        // Bytes with few frequent values.
        (1..u64::MAX, 100..60_000usize, 1..8u32).prop_map(move |(seed, count, skew)| {
            let mut next = noise(seed);
            (0..count).map(|_| (0..skew).fold(255, |byte: u8, _| byte & (next() >> 20) as u8)).collect()
        }),
        (1..u64::MAX, 100..4000usize).prop_map(move |(seed, count)| {
            let mut next = noise(seed);
            (0..count).flat_map(|i| format!("{i:6},{:9.3}\n", (next() % 9999) as f64 / 7.0).into_bytes()).collect()
        }),
    ];
    prop::collection::vec((part, any::<bool>()), 0..5).prop_map(|parts| {
        let mut text: Vec<u8> = Vec::new();
        for (part, again) in parts {
            text.extend(&part);
            if again {
                text.extend_from_within(..text.len().min(200_000));
            }
        }
        text
    })
}

/// Parameters of a frame.
#[derive(Debug, Clone)]
struct How {
    level: i32,
    way: Option<(Way, u32)>,
    sum: bool,
    told: bool,
}

fn ways() -> impl Strategy<Value = How> {
    let way = prop::sample::select(vec![
        Way::ZSTD_fast,
        Way::ZSTD_dfast,
        Way::ZSTD_lazy2,
        Way::ZSTD_btopt,
        Way::ZSTD_btultra2,
    ]);
    let level = prop_oneof![4 => -7..8i32, 1 => 8..20i32];
    (level, prop::option::weighted(0.3, (way, 3..7u32)), any::<bool>(), prop::bool::weighted(0.8))
        .prop_map(|(level, way, sum, told)| How { level, way, sum, told })
}

fn packed(text: &[u8], how: &How) -> Vec<u8> {
    let mut context = CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(how.level)).unwrap();
    context.set_parameter(CParameter::ChecksumFlag(how.sum)).unwrap();
    context.set_parameter(CParameter::ContentSizeFlag(how.told)).unwrap();
    if let Some((way, least)) = how.way {
        context.set_parameter(CParameter::Strategy(way)).unwrap();
        context.set_parameter(CParameter::MinMatch(least)).unwrap();
    }
    let mut stored = Vec::with_capacity(zstd::zstd_safe::compress_bound(text.len()));
    context.compress2(&mut stored, text).unwrap();
    stored
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(0x5eed), failure_persistence: None, ..ProptestConfig::default() }
}

/// The bytes that libzstd decodes, if they fill the output.
fn by_libzstd(stored: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(length);
    DCtx::create().decompress(&mut out, stored).ok()?;
    (out.len() == length).then_some(out)
}

fn unpacked(desk: &mut Desk, stored: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = vec![0xa5; length];
    desk.decode(stored, &mut out, length).then_some(out)
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn frames_are_read_as_they_were_written(frames in prop::collection::vec((texts(), ways()), 1..4)) {
        let mut desk = Desk::default();
        for (text, how) in &frames {
            let stored = packed(text, how);
            prop_assert!(unpacked(&mut desk, &stored, text.len()).as_ref() == Some(text), "{how:?}");
            // An output that is too short, or too long; a missing end; trailing bytes.
            prop_assert!(unpacked(&mut desk, &stored, text.len() + 1).is_none());
            prop_assert!(text.is_empty() || unpacked(&mut desk, &stored, text.len() - 1).is_none());
            prop_assert!(unpacked(&mut desk, &stored[..stored.len() - 1], text.len()).is_none());
            prop_assert!(unpacked(&mut desk, &[&stored[..], b"more"].concat(), text.len()).is_none());
        }
    }

    #[test]
    fn a_beginning_is_enough(text in texts(), how in ways(), part in 0.0..1.0f64) {
        let stored = packed(&text, &how);
        let enough = (text.len() as f64 * part) as usize;
        let mut out = vec![0xa5; text.len()];
        prop_assert!(Desk::default().decode(&stored, &mut out, enough));
        prop_assert!(out[..enough] == text[..enough]);
        // Everything after one more block is unneeded.
        let half = &stored[..stored.len() / 2];
        let mut out = vec![0xa5; text.len()];
        if Desk::default().decode(half, &mut out, enough) {
            prop_assert!(out[..enough] == text[..enough]);
        }
    }

    #[test]
    fn nothing_is_taken_that_libzstd_refuses(
        text in texts(),
        how in ways(),
        lies in prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..12),
        cut in prop::option::weighted(0.2, 0.0..1.0f64),
    ) {
        let stored = packed(&text, &How { sum: false, ..how });
        let mut desk = Desk::default();
        for (place, byte) in lies {
            let mut damaged = stored.clone();
            // Most changes near the beginning, where the tables are.
            let place = (place.powi(3) * damaged.len() as f64) as usize;
            damaged[place] = byte;
            if let Some(part) = cut {
                damaged.truncate((part * damaged.len() as f64) as usize);
            }
            if let Some(made) = unpacked(&mut desk, &damaged, text.len()) {
                prop_assert!(by_libzstd(&damaged, text.len()) == Some(made));
            }
        }
    }

    #[test]
    fn any_bytes_behind_a_head_are_refused_or_right(bytes in prop::collection::vec(any::<u8>(), 0..400), length in 0..5000u16) {
        let mut stored = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20 | 0x80];
        stored.extend(u32::from(length).to_le_bytes());
        stored.extend(((bytes.len() as u32) << 3 | 0b101).to_le_bytes().iter().take(3));
        stored.extend(&bytes);
        if let Some(made) = unpacked(&mut Desk::default(), &stored, length.into()) {
            prop_assert!(by_libzstd(&stored, length.into()) == Some(made));
        }
    }
}

/// Changes to a frame.
#[derive(Debug, Clone)]
struct Mutation {
    /// Bits to flip: the position of the byte as a share of the length, and the bit.
    flips: Vec<(f64, u8)>,
    /// Bytes to replace.
    bytes: Vec<(f64, u8)>,
    /// Length to truncate to, as a share.
    cut: Option<f64>,
}

fn mutations() -> impl Strategy<Value = Mutation> {
    let share = || prop_oneof![0.0..1.0f64, (0.0..1.0f64).prop_map(|x| x.powi(4))];
    let flips = prop::collection::vec((share(), 0..8u8), 0..3);
    let bytes = prop::collection::vec((share(), any::<u8>()), 0..2);
    (flips, bytes, prop::option::weighted(0.2, 0.0..1.0f64)).prop_map(|(flips, bytes, cut)| Mutation {
        flips,
        bytes,
        cut,
    })
}

impl Mutation {
    fn apply(&self, stored: &[u8]) -> Vec<u8> {
        let mut stored = stored.to_vec();
        let place = |share: f64, len: usize| ((share * len as f64) as usize).min(len - 1);
        for (share, bit) in &self.flips {
            let at = place(*share, stored.len());
            stored[at] ^= 1 << bit;
        }
        for (share, byte) in &self.bytes {
            let at = place(*share, stored.len());
            stored[at] = *byte;
        }
        if let Some(share) = self.cut {
            stored.truncate(place(share, stored.len()));
        }
        stored
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn verdicts_are_those_of_libzstd(text in texts(), how in ways(), changes in prop::collection::vec(mutations(), 1..16)) {
        let stored = packed(&text, &how);
        let (mut desk, mut codec) = (Desk::default(), Decompressor::new().unwrap());
        prop_assert!(unpacked(&mut desk, &stored, text.len()).as_ref() == Some(&text), "a frame of libzstd was rejected");
        for change in changes {
            let damaged = change.apply(&stored);
            let other = by_libzstd(&damaged, text.len());
            let (own, uneven) = noting_uneven_ends(|| unpacked(&mut desk, &damaged, text.len()));
            let no_frame = damaged.is_empty() && text.is_empty();
            prop_assert!(own == other || own.is_none() && (uneven || no_frame), "unlike libzstd: {change:?}");
            let mut out = vec![0xa5; text.len()];
            let decoded = codec.decompress(&damaged, &mut out, text.len()).is_ok().then_some(out);
            prop_assert!(decoded == other, "the codec and libzstd differ: {change:?}");
        }
    }
}
