//! Any text as a where-clause: a clause or an error with its place, in a time that the text's length bounds.
#![no_main]

use std::sync::LazyLock;

use icecore_chunk::DType;
use icecore_where::{ColumnType, Rows, Values, filter};
use libfuzzer_sys::fuzz_target;

static COLUMNS: LazyLock<Vec<ColumnType>> = LazyLock::new(|| {
    let column = |name: &str, dtype| ColumnType { name: name.to_owned(), dtype, epoch: None };
    vec![
        column("a", DType::Float64),
        column("b", DType::Int16),
        column("s", DType::Bytes(3)),
        column("v[0]", DType::Float32),
        column("t", DType::DateTime64 { unit: "ms".to_owned(), scale: 1 }),
        ColumnType { epoch: Some((1e9, 1.5e18)), ..column("e", DType::Float64) },
    ]
});

fuzz_target!(|input: (&str, [u8; 33])| {
    let (clause, row) = input;
    let Ok(filter) = filter(clause, &COLUMNS) else { return };
    // One row of any bytes: every clause that binds can be evaluated.
    let mut rest = row.as_slice();
    let held: Vec<_> = COLUMNS
        .iter()
        .map(|c| {
            let (bytes, behind) = rest.split_at(c.dtype.size());
            rest = behind;
            Some(Values { dtype: &c.dtype, bytes, nulls: &[], blobs: &[] })
        })
        .collect();
    let mut hits = Vec::new();
    filter.hits(&Rows { count: 1, columns: &held }, &mut hits).expect("all columns are there");
    assert!(hits.len() <= 1);
});
