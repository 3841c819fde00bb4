//! Tests with generated pages and frames.

use twox_hash::XxHash3_64;

use super::column::{Column, ColumnType};
use super::frame::feature_flags;
use super::page::decode_page;
use super::page_list::column_pages;
use crate::compression::Expander;
use crate::cursor::Cursor;

const DIGESTS: [(usize, u64); 5] = [
    (240, 0xd6df_bf67_b067_5b54),
    (241, 0xc614_c8c3_5753_48c1),
    (257, 0x412f_a6b9_7a75_75ac),
    (321, 0xc853_94a1_7bf8_6a8e),
    (1025, 0x43f8_69a8_3769_a435),
];

fn decode(kind: ColumnType, bits: u16, range: Option<(f64, f64)>, stored: &[u8], len: usize) -> Vec<u8> {
    let column = Column::new(kind, bits, range).unwrap();
    let mut out = vec![0; len];
    decode_page(stored, false, &column, &mut out, &mut Expander::default()).unwrap();
    out
}

/// Digests of Python's xxhash 3; lengths of 1 modulo 64 above 240 bytes end with an overlapping stripe.
#[test]
fn xxh3_agrees_with_the_reference_at_awkward_lengths() {
    let bytes: Vec<u8> = (0..1025u32).map(|i| (i * 7 % 251) as u8).collect();
    for (len, digest) in DIGESTS {
        assert_eq!(XxHash3_64::oneshot(&bytes[..len]), digest, "{len} bytes");
    }
}

#[test]
fn bits_begin_with_the_lowest() {
    assert_eq!(decode(ColumnType::Bit, 1, None, &[0b0000_0101, 1], 9), [1, 0, 1, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn split_indexes_are_sums_of_their_differences() {
    let out = decode(ColumnType::SplitIndex32, 32, None, &[2, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0], 12);
    assert_eq!(out, [2u32, 2, 261].map(u32::to_ne_bytes).concat());
}

#[test]
fn zigzag_reaches_the_least_and_the_greatest() {
    let out = decode(ColumnType::SplitInt64, 64, None, &[255; 8], 8);
    assert_eq!(out, i64::MIN.to_ne_bytes());
    let mut stored = [255; 8];
    stored[0] = 254;
    assert_eq!(decode(ColumnType::SplitInt64, 64, None, &stored, 8), i64::MAX.to_ne_bytes());
}

#[test]
fn reals_of_few_bits() {
    // 1.0 is 0x3f80_0000: its upper 16 bits; then −2.0.
    let out = decode(ColumnType::Real32Trunc, 16, None, &[0x80, 0x3f, 0x00, 0xc0], 8);
    assert_eq!(out, [1f32, -2.0].map(f32::to_ne_bytes).concat());
    // Codes 0, 7 and 3 of 3 bits between −1 and 6.
    let out = decode(ColumnType::Real32Quant, 3, Some((-1.0, 6.0)), &[0b1111_1000, 0], 12);
    assert_eq!(out, [-1f32, 6.0, 2.0].map(f32::to_ne_bytes).concat());
    assert!(Column::new(ColumnType::Real32Quant, 3, None).is_err());
    assert!(Column::new(ColumnType::Real32Quant, 3, Some((f64::NAN, 1.0))).is_err());
}

#[test]
fn unknown_features_are_refused() {
    let known = 0u64.to_le_bytes();
    assert!(feature_flags(&mut Cursor::new(&known)).is_ok());
    let error = feature_flags(&mut Cursor::new(&8u64.to_le_bytes())).unwrap_err();
    assert!(error.message.contains("feature flag 3"), "{error}");
    let second = [(1u64 << 63).to_le_bytes(), 1u64.to_le_bytes()].concat();
    assert!(feature_flags(&mut Cursor::new(&second)).is_err());
}

#[test]
fn wrong_checksums_and_unknown_compressions_are_errors() {
    let column = Column::new(ColumnType::UInt8, 8, None).unwrap();
    let mut stored = b"four".to_vec();
    stored.extend(XxHash3_64::oneshot(b"four").to_le_bytes());
    let mut out = [0; 4];
    decode_page(&stored, true, &column, &mut out, &mut Expander::default()).unwrap();
    assert_eq!(&out, b"four");
    stored[0] ^= 1;
    assert!(decode_page(&stored, true, &column, &mut out, &mut Expander::default()).is_err());
    let block = b"QQ\x01\x01\x00\x00\x04\x00\x00x";
    let error = decode_page(block, false, &column, &mut out, &mut Expander::default()).unwrap_err();
    assert!(error.message.contains("\"QQ\" is not known"), "{error}");
}

/// A list frame: negative length, number of items, items, trailer.
fn list_frame(items: &[Vec<u8>], trailer: &[u8]) -> Vec<u8> {
    let body = [&(items.len() as u32).to_le_bytes(), items.concat().as_slice(), trailer].concat();
    [(-(body.len() as i64 + 8)).to_le_bytes().as_slice(), &body].concat()
}

/// A page of a page list: a negative number of elements says that a checksum follows.
fn listed_page(elements: i32, offset: u64, len: i32) -> Vec<u8> {
    [elements.to_le_bytes().as_slice(), &len.to_le_bytes(), &offset.to_le_bytes()].concat()
}

#[test]
fn suppressed_and_deferred_columns_and_pages_without_checksum() {
    let deferred = [300i64.to_le_bytes().as_slice(), &505u32.to_le_bytes()].concat();
    let plain = list_frame(&[listed_page(-10, 4096, 40), listed_page(5, 5000, 20)], &deferred);
    let suppressed = list_frame(&[], &(-1i64).to_le_bytes());
    let mut pages = Vec::new();
    let first = column_pages(&mut Cursor::new(&plain), &mut pages).unwrap();
    assert_eq!((first.first_element, first.elements, first.compression), (Some(300), 15, 505));
    assert_eq!(pages.iter().map(|p| (p.has_checksum, p.stored_len())).collect::<Vec<_>>(), [(true, 48), (false, 20)]);
    let second = column_pages(&mut Cursor::new(&suppressed), &mut pages).unwrap();
    assert_eq!((second.first_element, second.elements, second.pages), (None, 0, 2..2));
}

#[test]
fn pages_without_checksum_are_read_whole() {
    let column = Column::new(ColumnType::UInt8, 8, None).unwrap();
    let mut out = [0; 12];
    decode_page(b"twelve bytes", false, &column, &mut out, &mut Expander::default()).unwrap();
    assert_eq!(&out, b"twelve bytes");
}
