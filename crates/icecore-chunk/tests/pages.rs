//! `icecore.pages`: elements come back whatever part is wanted, few pages are decoded for few elements, damage is `corrupt`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::single_range_in_vec_init)] // one range of elements is meant

mod common;

use common::{Noise, sample};
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::ErrorKind;
use proptest::prelude::*;
use serde_json::{Value, json};

fn pages(page: u64) -> Value {
    json!([{"name": "icecore.pages", "configuration": {"page": page}}])
}

fn chain(dtype: &DType, page: u64) -> Chain {
    Chain::parse(&pages(page), dtype, &vec![0; dtype.size()]).unwrap()
}

fn there_and_back(chain: &Chain, raw: &[u8]) -> Vec<u8> {
    let shape = [(raw.len() / chain.dtype().size()) as u64];
    let mut scratch = Scratch::new();
    let stored = chain.encode(raw, &shape, &mut scratch).unwrap();
    let mut out = vec![0xaa; raw.len()];
    chain.decode(&stored, &shape, (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
    assert!(out == raw);
    stored
}

fn dtypes() -> Vec<DType> {
    let time = DType::DateTime64 { unit: "ns".into(), scale: 1 };
    let small = [DType::Bool, DType::Int8, DType::UInt8, DType::Int16, DType::UInt16, DType::Float16];
    let large = [DType::Int32, DType::UInt32, DType::Float32, DType::Int64, DType::UInt64, DType::Float64, time];
    [&small[..], &large, &[DType::Bytes(5), DType::Raw(3)]].concat()
}

#[test]
fn all_types_come_back() {
    for dtype in dtypes() {
        for count in [0, 1, 15, 16, 17, 700] {
            for page in [1, 16, 256, 100_000] {
                there_and_back(&chain(&dtype, page), &sample(&dtype, count));
            }
        }
    }
}

/// Repeated elements: `count` of them, runs of up to `longest`, from few or many values.
fn repeated(size: usize, count: usize, longest: u64, seed: u64) -> Vec<u8> {
    let (mut noise, mut raw) = (Noise::new(seed), Vec::new());
    while raw.len() < count * size {
        let value = noise.next().to_le_bytes().repeat(2);
        let run = 1 + noise.next() % longest;
        (0..run).for_each(|_| raw.extend_from_slice(&value[..size]));
    }
    raw.truncate(count * size);
    raw
}

#[test]
fn runs_come_back_in_all_parts() {
    for dtype in [DType::UInt8, DType::Int16, DType::Float32, DType::Float64, DType::Bytes(5)] {
        for (count, longest, page) in
            [(4000, 90, 16), (4000, 2000, 1), (1, 1, 256), (300, 9, 256), (70_000, 100_000, 16)]
        {
            let raw = repeated(dtype.size(), count, longest, 7);
            let chain = chain(&dtype, page);
            let stored = there_and_back(&chain, &raw);
            let size = dtype.size();
            for (start, end) in [(0, 1), (count - 1, count), (count / 3, count / 2 + 1), (count / 2, count / 2)] {
                let mut out = vec![0xaa; raw.len()];
                let wanted = ((start * size) as u64, (end * size) as u64);
                chain.decode(&stored, &[count as u64], wanted, &mut out, &mut Scratch::new()).unwrap();
                assert!(out[start * size..end * size] == raw[start * size..end * size], "{start} to {end}");
            }
        }
    }
}

/// Each of random floats 60 times: the distinct values and little more are stored.
#[test]
fn repeated_floats_take_a_value_for_each_run() {
    let mut noise = Noise::new(1);
    let raw: Vec<u8> =
        (0..4000).flat_map(|_| (noise.next() as f32 / u64::MAX as f32).to_le_bytes().repeat(60)).collect();
    let stored = there_and_back(&chain(&DType::Float32, 256), &raw);
    assert!(stored.len() < 4000 * 4, "{} bytes", stored.len());
}

#[test]
fn damaged_runs_are_corrupt() {
    let raw = repeated(4, 20_000, 100, 3);
    let chain = chain(&DType::Float32, 32);
    let stored = there_and_back(&chain, &raw);
    assert_eq!(stored[0], 0);
    for at in (0..stored.len()).step_by(3) {
        let mut damaged = stored.clone();
        damaged[at] ^= 1 << (at % 8);
        let error =
            chain.decode(&damaged, &[20_000], (0, 80_000), &mut vec![0; 80_000], &mut Scratch::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "byte {at}");
    }
    for len in (0..stored.len()).step_by(7) {
        let cut = chain.decode(&stored[..len], &[20_000], (0, 80_000), &mut vec![0; 80_000], &mut Scratch::new());
        assert!(cut.is_err(), "{len} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_bits_and_parts_come_back(
        number in 0usize..15,
        count in 1usize..900,
        page in 1u64..300,
        shift in 0u32..64,
        seed in any::<u64>(),
        cuts in prop::collection::vec((0usize..900, 0usize..40), 0..6),
    ) {
        let dtype = &dtypes()[number];
        let (size, mut noise) = (dtype.size(), Noise::new(seed));
        let mut raw: Vec<u8> = Vec::new();
        for _ in 0..count {
            raw.extend(&(noise.next() >> (shift & noise.next() as u32)).to_le_bytes()[..size]);
        }
        if *dtype == DType::Bool {
            raw.iter_mut().for_each(|b| *b &= 1);
        }
        let chain = chain(dtype, page);
        let stored = there_and_back(&chain, &raw);
        let parts = cuts.iter().map(|(at, len)| at.min(&count) * size..(at + len).min(count).max(*at.min(&count)) * size);
        let parts: Vec<_> = parts.collect();
        let mut out = vec![0; raw.len()];
        chain.decode_parts(&stored, &[count as u64], &parts, &mut out, &mut Scratch::new()).unwrap();
        for part in parts {
            prop_assert_eq!(&out[part.clone()], &raw[part]);
        }
    }
}

/// Pages outside of the wanted ranges are not decoded: their places keep what was there, and damage to them is not noticed.
#[test]
fn few_elements_need_few_pages() {
    let (chain, raw) = (chain(&DType::Int32, 64), sample(&DType::Int32, 640));
    let mut stored = there_and_back(&chain, &raw);
    let mut scratch = Scratch::new();
    let mut out = vec![0xaa; raw.len()];
    chain.decode_parts(&stored, &[640], &[4 * 70..4 * 71, 4 * 600..4 * 640], &mut out, &mut scratch).unwrap();
    for (nth, page) in out.chunks(256).enumerate() {
        let expected = &raw[nth * 256..nth * 256 + 256];
        match nth {
            1 | 9 => assert_eq!(page, expected),
            _ => assert!(page.iter().all(|byte| *byte == 0xaa), "page {nth} was decoded"),
        }
    }
    let last = stored.len() - 1; // the checksum of page 9
    stored[last] ^= 1;
    chain.decode_parts(&stored, &[640], &[0..4], &mut out, &mut scratch).unwrap();
    let error = chain.decode_parts(&stored, &[640], &[4 * 639..4 * 640], &mut out, &mut scratch).unwrap_err();
    assert!(error.kind == ErrorKind::Corrupt && error.message.contains("checksum of page 9"), "{error}");
}

/// Small pages cost little: within 5 % of one large page, where each page alone would need statistics of its own.
#[test]
fn statistics_are_shared() {
    let mut noise = Noise::new(3);
    let raw: Vec<u8> = (0..65_536).flat_map(|_| ((noise.next() >> 44) as f32 * 1.37e-3).to_le_bytes()).collect();
    let len = |page| there_and_back(&chain(&DType::Float32, page), &raw).len();
    let (small, large) = (len(256), len(65_536));
    assert!(small * 100 <= large * 105, "{small} bytes in pages of 256, {large} in one");
    let text: Vec<u8> =
        (0..40_000).flat_map(|_| format!("word{:04}", noise.next() % 90 * 7919 % 10_007).into_bytes()).collect();
    let shared = there_and_back(&chain(&DType::Bytes(8), 16), &text).len();
    let alone: usize = text.chunks(8 * 16).map(|page| there_and_back(&chain(&DType::Bytes(8), 16), page).len()).sum();
    assert!(shared * 3 < alone * 2, "{shared} bytes with shared statistics, {alone} without");
}

#[test]
fn damaged_chunks() {
    let mut scratch = Scratch::new();
    for dtype in [DType::Float32, DType::Int64, DType::UInt16, DType::Bytes(5)] {
        let (chain, raw) = (chain(&dtype, 50), sample(&dtype, 120));
        let stored = there_and_back(&chain, &raw);
        let mut out = vec![0; raw.len()];
        let whole = (0, raw.len() as u64);
        for len in 0..stored.len() {
            let error = chain.decode(&stored[..len], &[120], whole, &mut out, &mut scratch).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt);
        }
        let mut damaged = stored.clone();
        for at in 0..stored.len() {
            for bit in 0..8 {
                damaged[at] ^= 1 << bit;
                let error = chain.decode(&damaged, &[120], whole, &mut out, &mut scratch).unwrap_err();
                assert_eq!(error.kind, ErrorKind::Corrupt, "bit {bit} of byte {at}");
                damaged[at] ^= 1 << bit;
            }
        }
        damaged.push(0);
        assert_eq!(chain.decode(&damaged, &[120], whole, &mut out, &mut scratch).unwrap_err().kind, ErrorKind::Corrupt);
        let other = [119u64];
        let error = chain.decode(&stored, &other, whole, &mut out[..119 * dtype.size()], &mut scratch).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt);
    }
}

#[test]
fn what_cannot_be() {
    let kind = |codecs: &Value, dtype: DType| Chain::parse(codecs, &dtype, &vec![0; dtype.size()]).unwrap_err().kind;
    assert_eq!(kind(&pages(0), DType::Float64), ErrorKind::Format);
    assert_eq!(kind(&pages(1 << 25), DType::Float64), ErrorKind::Format);
    assert_eq!(kind(&pages(256), DType::Complex64), ErrorKind::Unsupported);
    assert_eq!(kind(&json!([{"name": "icecore.pages", "configuration": {"size": 1}}]), DType::Int8), ErrorKind::Format);
}
