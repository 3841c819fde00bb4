//! Reads of the first planes: every number is within the stated bound, and numbers without a relative error are exact.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Noise, sample};
use half::f16;
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::ErrorKind;
use proptest::prelude::*;
use serde_json::{Value, json};

fn codecs(widths: &[usize], fill: &str, before: Value, behind: Value) -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 1}});
    let planes: Vec<Value> = widths.iter().map(|w| json!({"bytes": w, "codecs": [bytes, zstd]})).collect();
    let own = json!({"name": "icecore.byteplanes", "configuration": {"planes": planes, "fill": fill}});
    let list = [before.as_array().unwrap().clone(), vec![own], behind.as_array().unwrap().clone()];
    Value::Array(list.concat())
}

fn chain(widths: &[usize], fill: &str, dtype: &DType) -> Chain {
    Chain::parse(&codecs(widths, fill, json!([]), json!([])), dtype, &vec![0; dtype.size()]).unwrap()
}

/// The number in `bytes` as a double, which represents half and single precision exactly.
fn number(bytes: &[u8]) -> f64 {
    match bytes.len() {
        2 => f16::from_ne_bytes(bytes.try_into().unwrap()).to_f64(),
        4 => f64::from(f32::from_ne_bytes(bytes.try_into().unwrap())),
        _ => f64::from_ne_bytes(bytes.try_into().unwrap()),
    }
}

fn is_normal(bytes: &[u8]) -> bool {
    match bytes.len() {
        2 => f16::from_ne_bytes(bytes.try_into().unwrap()).is_normal(),
        4 => f32::from_ne_bytes(bytes.try_into().unwrap()).is_normal(),
        _ => f64::from_ne_bytes(bytes.try_into().unwrap()).is_normal(),
    }
}

/// Reads the first `planes` planes, given only their bytes.
fn top(chain: &Chain, stored: &[u8], planes: usize, count: usize) -> Vec<u8> {
    let own = chain.planes().unwrap();
    let head = &stored[..own.head_len() as usize];
    let prefix = own.prefix_len(head, planes, stored.len() as u64).unwrap() as usize;
    let mut out = vec![0x77; count * chain.dtype().size()];
    let whole = (0, out.len() as u64);
    let stored = &stored[..prefix];
    chain.decode_top(stored, planes, &[count as u64], whole, &mut out, &mut Scratch::new()).unwrap();
    out
}

/// Compares every number of every prefix with the original.
fn check(chain: &Chain, raw: &[u8], unit: usize) {
    let count = raw.len() / chain.dtype().size();
    let stored = chain.encode(raw, &[count as u64], &mut Scratch::new()).unwrap();
    let own = chain.planes().unwrap();
    for planes in 1..=own.count() {
        let (bound, read) = (own.bound(planes), top(chain, &stored, planes, count));
        for (want, got) in raw.chunks(unit).zip(read.chunks(unit)) {
            if !is_normal(want) || planes == own.count() {
                assert_eq!(want, got, "{planes} planes of {:?}", chain.names());
                continue;
            }
            // Both are exact, and so is their difference: only the quotient is rounded.
            let error = (number(got) - number(want)).abs() / number(want).abs();
            assert!(error <= bound, "{want:02x?} came back as {got:02x?}: {error:e} > {bound:e}");
        }
    }
}

/// Numbers at every boundary of a format, both signs.
fn edges(dtype: &DType) -> Vec<u8> {
    let patterns: Vec<u64> = match dtype.size() {
        2 => vec![0, 1, 0x00ff, 0x0100, 0x03ff, 0x0400, 0x3c00, 0x3cff, 0x7bff, 0x7c00, 0x7c01, 0x7d00, 0x7e00, 0x7fff],
        4 => vec![
            0,
            1,
            0x80,
            0xffff,
            0x1_0000,
            0x7f_ffff,
            0x80_0000,
            0x3f80_0000,
            0x3f80_8000,
            0x3f80_ffff,
            0x7f7f_ffff,
            0x7f80_0000,
            0x7f80_0001,
            0x7f80_8000,
            0x7f81_0000,
            0x7fc0_0000,
            0x7fc0_0001,
            0x7fff_ffff,
        ],
        _ => vec![
            0,
            1,
            0xffff_ffff,
            0xf_ffff_ffff_ffff,
            0x10_0000_0000_0000,
            0x3ff0_0000_0000_0000,
            0x3ff0_ffff_ffff_ffff,
            0x7fef_ffff_ffff_ffff,
            0x7ff0_0000_0000_0000,
            0x7ff0_0000_0000_0001,
            0x7ff0_0000_8000_0000,
            0x7ff8_0000_0000_0000,
            0x7fff_ffff_ffff_ffff,
        ],
    };
    let sign = 1u64 << (8 * dtype.size() - 1);
    let size = dtype.size();
    patterns.iter().flat_map(|bits| [*bits, bits | sign]).flat_map(|bits| bits.to_ne_bytes()[..size].to_vec()).collect()
}

const WAYS: [(DType, &[usize]); 6] = [
    (DType::Float16, &[1, 1]),
    (DType::Float32, &[2, 1, 1]),
    (DType::Float32, &[2, 2]),
    (DType::Float64, &[2, 1, 1, 4]),
    (DType::Float64, &[2, 1, 1, 1, 1, 1, 1]),
    (DType::Float64, &[4, 4]),
];

#[test]
#[cfg(target_endian = "little")] // `edges` and the samples below cut words
fn every_edge_is_within_the_bound() {
    for (dtype, widths) in WAYS {
        for fill in ["midpoint", "zero"] {
            let chain = chain(widths, fill, &dtype);
            check(&chain, &edges(&dtype), dtype.size());
            check(&chain, &[], dtype.size());
        }
    }
}

#[test]
fn the_bounds_are_those_of_the_paper_and_are_reached() {
    let single = chain(&[2, 1, 1], "midpoint", &DType::Float32);
    let bounds = |chain: &Chain| {
        (1..=chain.planes().unwrap().count()).map(|n| chain.planes().unwrap().bound(n)).collect::<Vec<_>>()
    };
    assert_eq!(bounds(&single), [2f64.powi(-8), 2f64.powi(-16), 0.0]);
    assert_eq!(bounds(&chain(&[2, 1, 1], "zero", &DType::Float32)), [2f64.powi(-7), 2f64.powi(-15), 0.0]);
    let double = chain(&[2, 1, 1, 4], "midpoint", &DType::Float64);
    assert_eq!(bounds(&double), [2f64.powi(-5), 2f64.powi(-13), 2f64.powi(-21), 0.0]);
    let stored = single.encode(&1f32.to_ne_bytes(), &[1], &mut Scratch::new()).unwrap();
    assert_eq!(number(&top(&single, &stored, 1, 1)), 1.0 + 2f64.powi(-8), "the worst case");
    let worst = f32::from_bits(0x3f80_ffff);
    let zeros = chain(&[2, 1, 1], "zero", &DType::Float32);
    let stored = zeros.encode(&worst.to_ne_bytes(), &[1], &mut Scratch::new()).unwrap();
    let error = (f64::from(worst) - number(&top(&zeros, &stored, 1, 1))) / f64::from(worst);
    assert!(error > 0.99 * 2f64.powi(-7) && error <= 2f64.powi(-7));
}

#[test]
fn as_few_planes_as_the_tolerance_allows() {
    let chain = chain(&[2, 1, 1], "midpoint", &DType::Float32);
    let planes = chain.planes().unwrap();
    for (rtol, count) in [(1.0, 1), (0.0040, 1), (2f64.powi(-8), 1), (0.0039, 2), (1.6e-5, 2), (1.5e-5, 3), (0.0, 3)] {
        assert_eq!(planes.for_rtol(rtol), count, "{rtol}");
        assert!(planes.bound(planes.for_rtol(rtol)) <= rtol);
    }
    assert_eq!([1, 2, 3, 4, 9].map(|bytes| planes.for_bytes(bytes)), [1, 1, 2, 3, 3]);
}

#[test]
fn complex_numbers_are_planes_of_their_parts() {
    for (dtype, widths) in [(DType::Complex64, [2, 1, 1]), (DType::Complex128, [2, 4, 2])] {
        check(&chain(&widths, "midpoint", &dtype), &sample(&dtype, 500), dtype.size() / 2);
    }
}

/// If planes cannot be omitted, everything is read: integers, a codec after the planes, sums before them.
#[test]
fn what_cannot_be_divided_is_whole() {
    let whole = [
        (DType::Int32, json!([]), json!([])),
        (DType::Float32, json!([]), json!(["crc32c"])),
        (DType::Float32, json!([{"name": "numcodecs.delta", "configuration": {"dtype": "<f4"}}]), json!([])),
    ];
    for (dtype, before, behind) in whole {
        let chain = Chain::parse(&codecs(&[2, 1, 1], "zero", before, behind), &dtype, &[0; 4]).unwrap();
        assert!(chain.planes().is_none(), "{:?}", chain.names());
        let raw: Vec<u8> = (0..100u32).flat_map(|n| (n * 5).to_ne_bytes()).collect();
        let stored = chain.encode(&raw, &[100], &mut Scratch::new()).unwrap();
        let (mut exact, mut asked) = (vec![0; 400], vec![0; 400]);
        chain.decode(&stored, &[100], (0, 400), &mut exact, &mut Scratch::new()).unwrap();
        chain.decode_top(&stored, 1, &[100], (0, 400), &mut asked, &mut Scratch::new()).unwrap();
        assert_eq!(exact, asked);
    }
    let one = chain(&[4], "zero", &DType::Float32);
    assert!(one.planes().is_none());
}

#[test]
fn transposed_chunks_have_planes_too() {
    let before = json!([{"name": "transpose", "configuration": {"order": [1, 0]}}]);
    let chain = Chain::parse(&codecs(&[2, 1, 1], "midpoint", before, json!([])), &DType::Float32, &[0; 4]).unwrap();
    let raw = sample(&DType::Float32, 600);
    let stored = chain.encode(&raw, &[20, 30], &mut Scratch::new()).unwrap();
    let mut out = vec![0; raw.len()];
    chain.decode_top(&stored, 1, &[20, 30], (0, 2400), &mut out, &mut Scratch::new()).unwrap();
    for (want, got) in raw.chunks(4).zip(out.chunks(4)) {
        assert!((number(want) - number(got)).abs() <= number(want).abs() / 256.0);
    }
}

#[test]
fn a_part_of_the_chunk_has_its_escapes() {
    let chain = chain(&[2, 1, 1], "midpoint", &DType::Float32);
    let raw: Vec<u8> =
        (0..3000u32).flat_map(|n| if n % 3 == 0 { f32::from_bits(n + 1) } else { n as f32 }.to_ne_bytes()).collect();
    let stored = chain.encode(&raw, &[3000], &mut Scratch::new()).unwrap();
    let mut out = vec![0; raw.len()];
    chain.decode_top(&stored, 1, &[3000], (1000 * 4, 2000 * 4), &mut out, &mut Scratch::new()).unwrap();
    for n in (1002..2000).step_by(3) {
        assert_eq!(out[n * 4..n * 4 + 4], raw[n * 4..n * 4 + 4], "subnormal {n}");
    }
}

/// Mostly the fill value, mostly its neighbours, both alternating, neither: the fill value is exact in each case, and
/// so are the numbers that are exact without one.
#[test]
fn fill_values_come_back_bit_for_bit() {
    let wild = f32::from_bits(0x60ad_78ec); // 1e20
    let near = |n: u32| f32::from_bits(wild.to_bits() ^ (1 + n % 0xffff));
    type Kind = fn(u32) -> u32;
    let cases: [(&str, Kind); 5] = [
        ("filled", |_| 0),
        ("sparse", |n| if n % 7 == 0 { 0 } else { 2 }),
        ("near", |n| if n % 50 == 0 { 0 } else { 1 }),
        ("mixed", |n| [0, 0, 1, 2, 3][n as usize % 5]),
        ("none", |n| 2 + n % 2),
    ];
    for fill in ["midpoint", "zero"] {
        let list = codecs(&[2, 1, 1], fill, json!([]), json!([]));
        let chain = Chain::parse(&list, &DType::Float32, &wild.to_ne_bytes()).unwrap();
        for (name, kind) in cases {
            let value = |n: u32| match kind(n) {
                0 => wild,
                1 => near(n),
                2 => 280.0 + n as f32,
                _ => f32::from_bits(n + 1),
            };
            let raw: Vec<u8> = (0..5000).flat_map(|n| value(n).to_ne_bytes()).collect();
            check(&chain, &raw, 4);
            let stored = chain.encode(&raw, &[5000], &mut Scratch::new()).unwrap();
            for planes in 1..=2 {
                let read = top(&chain, &stored, planes, 5000);
                let exact = |n: &u32| kind(*n) == 0;
                for n in (0..5000).filter(exact).map(|n| n as usize * 4) {
                    assert_eq!(read[n..n + 4], wild.to_ne_bytes(), "{name} {fill} {planes} planes, number {}", n / 4);
                }
            }
            let filled = stored.len() as f64 / raw.len() as f64;
            assert!(name != "filled" || filled < 0.02, "a chunk of fill values takes {filled} of its size");
        }
    }
}

#[test]
fn both_parts_of_a_complex_fill_value_are_exact() {
    let parts = [1e20f32, -999.25];
    let fill: Vec<u8> = parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
    let list = codecs(&[2, 1, 1], "midpoint", json!([]), json!([]));
    let chain = Chain::parse(&list, &DType::Complex64, &fill).unwrap();
    let raw: Vec<u8> = (0..400u32)
        .flat_map(|n| {
            if n % 3 == 0 { fill.clone() } else { [n as f32, 1.0].iter().flat_map(|x| x.to_ne_bytes()).collect() }
        })
        .collect();
    check(&chain, &raw, 4);
    let stored = chain.encode(&raw, &[400], &mut Scratch::new()).unwrap();
    let read = top(&chain, &stored, 1, 400);
    assert!((0..400).step_by(3).all(|n| read[n * 8..n * 8 + 8] == fill));
}

/// Damage in a prefix is detected without the rest of the chunk.
#[test]
fn damage_in_the_prefix_is_seen() {
    let chain = chain(&[2, 1, 1], "midpoint", &DType::Float32);
    let mut raw = sample(&DType::Float32, 300);
    raw.extend(f32::from_bits(3).to_ne_bytes());
    let stored = chain.encode(&raw, &[301], &mut Scratch::new()).unwrap();
    let own = chain.planes().unwrap();
    let total = stored.len() as u64;
    let prefix = own.prefix_len(&stored, 1, total).unwrap() as usize;
    let mut noise = Noise::new(11);
    for at in 0..prefix {
        let mut bad = stored[..prefix].to_vec();
        bad[at] ^= 1 << noise.below(8);
        let mut out = vec![0; raw.len()];
        let error = chain.decode_top(&bad, 1, &[301], (0, 1204), &mut out, &mut Scratch::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "byte {at}");
    }
    for length in [0, total - 1, total + 1, u64::MAX] {
        assert_eq!(own.prefix_len(&stored, 1, length).unwrap_err().kind, ErrorKind::Corrupt);
    }
    assert_eq!(own.prefix_len(&stored[..20], 1, total).unwrap_err().kind, ErrorKind::Corrupt);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    #[cfg(target_endian = "little")]
    fn any_bits_are_within_the_bound(way in 0usize..6, zero in any::<bool>(), fill in any::<u64>(), words in prop::collection::vec(any::<u64>(), 0..400)) {
        let (dtype, widths) = &WAYS[way];
        let size = dtype.size();
        // Every other number has an exponent of all zeros or all ones, which is rare in random bits.
        let special = |word: u64| match word % 8 {
            0 => word & !(0x7ff0 << 48) & !0x7f80_7c00_7f80_7c00,
            1 => word | 0x7ff0 << 48 | 0x7f80_7c00,
            2 => fill,
            3 => fill ^ (word >> 44),
            _ => word,
        };
        let raw: Vec<u8> = words.iter().flat_map(|word| special(*word).to_ne_bytes()[..size].to_vec()).collect();
        let list = codecs(widths, if zero { "zero" } else { "midpoint" }, json!([]), json!([]));
        let fill = &fill.to_ne_bytes()[..size];
        let chain = Chain::parse(&list, dtype, fill).unwrap();
        check(&chain, &raw, size);
        let stored = chain.encode(&raw, &[words.len() as u64], &mut Scratch::new()).unwrap();
        let read = top(&chain, &stored, 1, words.len());
        prop_assert!(raw.chunks(size).zip(read.chunks(size)).all(|(want, got)| want != fill || got == fill));
    }
}
