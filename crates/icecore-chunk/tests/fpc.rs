//! `icecore.fpc`: any bits are reproduced, along any axis; damage is `corrupt`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Noise, sample};
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::ErrorKind;
use proptest::prelude::*;
use serde_json::json;

fn chain(dtype: &DType, axis: i64) -> Chain {
    let codecs = json!([{"name": "icecore.fpc", "configuration": {"axis": axis}}]);
    Chain::parse(&codecs, dtype, &vec![0; dtype.size()]).unwrap()
}

fn there_and_back(chain: &Chain, raw: &[u8], shape: &[u64]) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let stored = chain.encode(raw, shape, &mut scratch).unwrap();
    let mut out = vec![0xaa; raw.len()];
    chain.decode(&stored, shape, (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
    assert!(out == raw, "{shape:?}");
    stored
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn any_bits_come_back(
        shape in prop::collection::vec(0u64..9, 0..5),
        double in any::<bool>(),
        axis in 0usize..4,
        shift in 0u32..64,
        seed in any::<u64>(),
    ) {
        let dtype = if double { DType::Float64 } else { DType::Float32 };
        let mut noise = Noise::new(seed);
        let count = shape.iter().product::<u64>();
        let raw: Vec<u8> =
            (0..count).flat_map(|_| (noise.next() >> (shift & noise.next() as u32)).to_ne_bytes()[..dtype.size()].to_vec()).collect();
        let axis = if shape.is_empty() { -1 } else { (axis % shape.len()) as i64 };
        there_and_back(&chain(&dtype, axis), &raw, &shape);
        there_and_back(&chain(&dtype, axis - shape.len() as i64), &raw, &shape);
    }
}

/// The bytes by hand: ten float64 that repeat along the first axis, then two that differ in the last byte.
#[test]
fn what_is_stored() {
    let rows: [[f64; 2]; 2] = [[1.0, -2.0], [1.0, f64::from_bits((-2.0f64).to_bits() | 0xff)]];
    let raw: Vec<u8> = rows.as_flattened().iter().flat_map(|v| v.to_ne_bytes()).collect();
    let stored = there_and_back(&chain(&DType::Float64, 0), &raw, &[2, 2]);
    let mut expected = vec![0b1100_0000, 0b1111, 0];
    expected.extend(1.0f64.to_le_bytes());
    expected.extend((-2.0f64).to_le_bytes());
    expected.extend([0, 0xff]);
    assert_eq!(stored, expected);
    let same: Vec<u8> = [7.5f32; 16].iter().flat_map(|v| v.to_ne_bytes()).collect();
    let stored = there_and_back(&chain(&DType::Float32, -1), &same, &[16]);
    assert_eq!(stored.len(), 2 + 4 + 7 + 2 + 8);
    assert_eq!(stored[..2], [0b1111_1100, 0xff]);
}

#[test]
fn damaged_chunks() {
    let mut scratch = Scratch::new();
    for dtype in [DType::Float32, DType::Float64] {
        let chain = chain(&dtype, 0);
        let raw = sample(&dtype, 120);
        let stored = chain.encode(&raw, &[10, 12], &mut scratch).unwrap();
        let mut out = vec![0; raw.len()];
        let whole = (0, raw.len() as u64);
        for len in 0..stored.len() {
            let error = chain.decode(&stored[..len], &[10, 12], whole, &mut out, &mut scratch).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt);
        }
        let mut damaged = stored.clone();
        for at in 0..stored.len() {
            for bit in 0..8 {
                damaged[at] ^= 1 << bit;
                if let Err(error) = chain.decode(&damaged, &[10, 12], whole, &mut out, &mut scratch) {
                    assert_eq!(error.kind, ErrorKind::Corrupt);
                }
                damaged[at] ^= 1 << bit;
            }
        }
        damaged.push(0);
        assert_eq!(
            chain.decode(&damaged, &[10, 12], whole, &mut out, &mut scratch).unwrap_err().kind,
            ErrorKind::Corrupt
        );
    }
}

#[test]
fn what_cannot_be() {
    let codecs = |axis| json!([{"name": "icecore.fpc", "configuration": {"axis": axis}}]);
    let kind = |codecs, dtype: DType| Chain::parse(&codecs, &dtype, &vec![0; dtype.size()]).unwrap_err().kind;
    assert_eq!(kind(codecs(64), DType::Float64), ErrorKind::Format);
    assert_eq!(kind(codecs(0), DType::Int16), ErrorKind::Unsupported);
    let error = chain(&DType::Float32, 2).encode(&[0; 16], &[2, 2], &mut Scratch::new()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Format);
}
