//! Selections, queries and bodies of the HDF REST API: parsed or refused.
#![no_main]

use std::sync::LazyLock;

use icecore_chunk::DType;
use icecore_server::fuzzing::{dataset, query, selection};
use icecore_where::ColumnType;
use libfuzzer_sys::fuzz_target;

static COLUMNS: LazyLock<Vec<ColumnType>> = LazyLock::new(|| {
    let column = |name: &str, dtype| ColumnType { name: name.to_owned(), dtype, epoch: None };
    vec![column("a", DType::Float64), column("n", DType::Int16), column("s", DType::Bytes(3))]
});

fuzz_target!(|input: (u8, &[u8])| {
    let (kind, bytes) = input;
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    match kind % 3 {
        0 => selection(text, &[5, 1 << 40, 3][..usize::from(kind / 3 % 4)]),
        1 => query(text, &COLUMNS),
        _ => dataset(bytes),
    }
});
