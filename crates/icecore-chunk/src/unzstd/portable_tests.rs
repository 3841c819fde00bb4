//! A frame with Huffman streams and sequences, decoded without a C library, so that Miri can interpret it (`make
//! miri`).

use super::Desk;

/// `zstd -19` of the text with this number of terms; Miri gets a short one, because it takes a millisecond per byte.
const TERMS: u32 = if cfg!(miri) { 90 } else { 500 };
const STORED: &[u8] = if cfg!(miri) { include_bytes!("portable_small.zst") } else { include_bytes!("portable.zst") };

#[test]
fn a_frame_gives_its_text_and_a_damaged_one_is_left_alone() {
    let text: Vec<u8> = (0..TERMS).flat_map(|i| format!("{i},{};", i * i % 977).into_bytes()).collect();
    let mut out = vec![0xa5; text.len()];
    let mut desk = Desk::default();
    assert!(desk.decode(STORED, &mut out, text.len()) && out == text);
    assert!(desk.decode(STORED, &mut out, 70));
    let places = if cfg!(miri) { 8 } else { STORED.len() };
    for at in (0..places).map(|i| i * STORED.len() / places) {
        let mut damaged = STORED.to_vec();
        damaged[at] ^= 0x10;
        desk.decode(&damaged, &mut out, text.len());
        assert!(!desk.decode(&STORED[..at], &mut out, text.len()), "cut at {at}");
    }
}
