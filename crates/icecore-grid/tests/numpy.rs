//! Selections against what NumPy itself answered (`numpy_cases.py`): shapes, elements, and what is refused.

// Clippy exempts test functions, not their helpers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod model;

use icecore_grid::{ChunkGrid, Index, Mode, Selection};

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    let read = |part: &str| part.parse().unwrap_or_else(|_| panic!("{part} is no number"));
    text.split(',').filter(|part| !part.is_empty()).map(read).collect()
}

fn index(text: &str) -> Index {
    let (kind, rest) = text.split_at(1);
    match kind {
        "i" => Index::At(rest.parse().unwrap()),
        "s" => {
            let parts: Vec<Option<i64>> = rest.split(':').map(|part| part.parse().ok()).collect();
            Index::Slice { start: parts[0], stop: parts[1], step: parts[2] }
        }
        "l" => {
            let (shape, values) = rest.split_once('/').unwrap();
            Index::List { shape: numbers(shape), values: numbers(values) }
        }
        "m" => {
            let (shape, values) = rest.split_once('/').unwrap();
            Index::Mask { shape: numbers(shape), values: values.chars().map(|value| value == '1').collect() }
        }
        _ => Index::Ellipsis,
    }
}

#[test]
fn selections_are_numpys() {
    let mut counts = (0, 0);
    for line in include_str!("numpy_cases.txt").lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let shape: Vec<u64> = numbers(fields[0]);
        let indexes: Vec<Index> = fields[1].split(';').filter(|text| !text.is_empty()).map(index).collect();
        let resolved = Selection::resolve(&shape, &indexes, Mode::Numpy);
        let modelled = model::pick(&shape, &indexes, Mode::Numpy);
        if fields[2] == "error" {
            assert!(resolved.is_err() && modelled.is_none(), "{line}");
            counts.0 += 1;
            continue;
        }
        let (out_shape, picked): (Vec<u64>, Vec<usize>) = (numbers(fields[2]), numbers(fields[3]));
        assert_eq!(modelled, Some((out_shape.clone(), picked.clone())), "{line}");
        let selection = resolved.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(selection.out_shape(), out_shape, "{line}");
        let chunk: Vec<u64> = shape.iter().map(|&len| len.div_ceil(2).max(1)).collect();
        let grid = ChunkGrid::regular(&shape, &chunk).unwrap();
        assert_eq!(model::read(&selection, &grid, 4), model::expected(&picked, 4), "{line}");
        counts.1 += 1;
    }
    assert!(counts.0 > 20 && counts.1 > 1000, "{counts:?}");
}
