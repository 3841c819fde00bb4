//! A page: column type, bits, number of elements, stored bytes.

#![no_main]

use icecore_root::Expander;
use icecore_root::ntuple::{Column, ColumnType, decode_page};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 6] = ["Bit", "UInt32", "SplitInt64", "SplitIndex32", "Real32Trunc", "Real32Quant"];

fuzz_target!(|data: &[u8]| {
    let [kind, bits, elements, checksum, stored @ ..] = data else { return };
    let Some(kind) = ColumnType::named(NAMES[usize::from(*kind) % NAMES.len()]) else { return };
    let Ok(column) = Column::new(kind, u16::from(*bits), Some((-1.0, 1.0))) else { return };
    let mut out = vec![0; usize::from(*elements) * kind.size()];
    let _ = decode_page(stored, checksum % 2 == 1, &column, &mut out, &mut Expander::default());
});
