//! Any selection of any array on any grid, read chunk by chunk, is what indexing gives by definition.

// Clippy exempts test functions, not their helpers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod model;

use icecore_grid::{ChunkGrid, Cuts, Index, Mode, Selection};
use proptest::prelude::*;

/// An index whose meaning is settled when the axis it meets is known.
#[derive(Debug, Clone)]
struct Raw {
    kind: u8,
    at: i64,
    start: Option<i64>,
    stop: Option<i64>,
    step: Option<i64>,
    values: Vec<u8>,
    form: u8,
    stray: bool,
}

fn raw() -> impl Strategy<Value = Raw> {
    let bound = || prop::option::of(-9_i64..9);
    let step = prop::option::of(prop_oneof![-4_i64..=-1, 1_i64..=4]);
    let values = prop::collection::vec(any::<u8>(), 12);
    (0_u8..12, -8_i64..8, bound(), bound(), step, values, 0_u8..8, prop::bool::weighted(0.03)).prop_map(
        |(kind, at, start, stop, step, values, form, stray)| Raw { kind, at, start, stop, step, values, form, stray },
    )
}

impl Raw {
    /// The index for the axes that begin at `axis`.
    fn index(&self, shape: &[u64], axis: usize) -> Index {
        let len = shape[axis];
        let inside = |value: u8| {
            let span = len.max(1) as i64;
            let at = i64::from(value) % span;
            if value > 127 { at - span } else { at }
        };
        match self.kind {
            0 if self.stray => Index::At(self.at),
            0 | 1 => Index::At(inside(self.values[0])),
            2..=5 => Index::Slice { start: self.start, stop: self.stop, step: self.step },
            6..=8 => {
                let of: &[u64] = match self.form {
                    0 => &[3, 1],
                    1 => &[1, 3],
                    2 => &[2, 3],
                    3 => &[1],
                    4 => &[0],
                    5 => &[],
                    _ => &[3],
                };
                let count = of.iter().product::<u64>() as usize;
                let mut values: Vec<i64> = self.values[..count].iter().map(|&value| inside(value)).collect();
                if let (true, Some(first)) = (self.stray, values.first_mut()) {
                    *first = self.at;
                }
                Index::List { shape: of.to_vec(), values }
            }
            9 => {
                let rank = if self.form < 3 { (shape.len() - axis).min(2) } else { 1 };
                let mut of = shape[axis..axis + rank].to_vec();
                if self.stray {
                    of[0] += 1;
                }
                let count = of.iter().product::<u64>() as usize;
                let values = (0..count).map(|k| self.values[k % 11] & (1 << (k % 7)) != 0).collect();
                Index::Mask { shape: of, values }
            }
            10 => Index::Ellipsis,
            _ => Index::ALL,
        }
    }
}

fn indexes(shape: &[u64], raw: &[Raw]) -> Vec<Index> {
    let mut out = vec![];
    let (mut axis, mut ellipsis) = (0, false);
    for raw in raw {
        if axis >= shape.len() {
            break;
        }
        let index = raw.index(shape, axis);
        axis += match &index {
            Index::Mask { shape, .. } => shape.len(),
            Index::Ellipsis => 0,
            _ => 1,
        };
        // An ellipsis at most once, and all entries after it belong to other axes than they were made for.
        if index == Index::Ellipsis && (ellipsis || raw.form > 2) {
            continue;
        }
        ellipsis |= index == Index::Ellipsis;
        out.push(index);
    }
    out
}

fn axis_grid() -> impl Strategy<Value = (u64, Option<Vec<u64>>, u64)> {
    let len = prop_oneof![1 => Just(0_u64), 2 => Just(1), 9 => 2_u64..8];
    (len, prop::option::of(prop::collection::vec(1_u64..5, 8)), 1_u64..9)
}

/// A grid, regular or mixed.
fn grid() -> impl Strategy<Value = ChunkGrid> {
    prop::collection::vec(axis_grid(), 0..5).prop_map(|axes| {
        let shape: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
        let lengths = axes.into_iter().map(|(len, listed, chunk)| match listed {
            Some(lengths) => lengths.into_iter().map(|length| (length, 1)).collect(),
            None => vec![(chunk, len + 1)],
        });
        ChunkGrid::rectilinear_runs(&shape, lengths.collect()).unwrap()
    })
}

fn itemsize() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![1, 2, 3, 4, 8, 12, 16, 24])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_read_what_indexing_means(
        grid in grid(), raw in prop::collection::vec(raw(), 0..5), itemsize in itemsize(), orthogonal in any::<bool>(),
    ) {
        let shape = grid.shape();
        let mode = if orthogonal { Mode::Orthogonal } else { Mode::Numpy };
        let indexes = indexes(&shape, &raw);
        let resolved = Selection::resolve(&shape, &indexes, mode);
        match model::pick(&shape, &indexes, mode) {
            None => prop_assert!(resolved.is_err(), "{indexes:?} is refused by the model"),
            Some((out_shape, picked)) => {
                let selection = resolved.map_err(|error| TestCaseError::fail(format!("{indexes:?}: {error}")))?;
                prop_assert_eq!(selection.out_shape(), &out_shape[..]);
                prop_assert_eq!(selection.out_len(), picked.len() as u64);
                prop_assert_eq!(model::read(&selection, &grid, itemsize), model::expected(&picked, itemsize));
            }
        }
    }

    #[test]
    fn points_read_like_lists(
        grid in grid().prop_filter("has elements", |grid| !grid.axes.is_empty() && !grid.is_empty()),
        seeds in prop::collection::vec(prop::collection::vec(any::<u16>(), 4), 0..40), itemsize in itemsize(),
    ) {
        let shape = grid.shape();
        let column = |axis: usize| seeds.iter().map(|seed| u64::from(seed[axis]) % shape[axis]).collect::<Vec<u64>>();
        let columns: Vec<Vec<u64>> = (0..shape.len()).map(column).collect();
        let lists: Vec<Index> = columns.iter().map(|c| Index::list(c.iter().map(|&at| at as i64).collect())).collect();
        let selection = Selection::points(&shape, &columns).unwrap();
        let (out_shape, picked) = model::pick(&shape, &lists, Mode::Numpy).unwrap();
        prop_assert_eq!(selection.out_shape(), &out_shape[..]);
        prop_assert_eq!(model::read(&selection, &grid, itemsize), model::expected(&picked, itemsize));
    }

    #[test]
    fn chunks_come_in_c_order(grid in grid(), raw in prop::collection::vec(raw(), 0..5)) {
        let shape = grid.shape();
        let indexes = indexes(&shape, &raw);
        if let Ok(selection) = Selection::resolve(&shape, &indexes, Mode::Orthogonal) {
            let cuts = Cuts::new(&selection, &grid).unwrap();
            let order: Vec<u64> = (0..cuts.len()).map(|i| cuts.chunk_flat(i)).collect();
            prop_assert!(order.is_sorted());
        }
    }
}

#[test]
fn chunks_decode_straight_into_the_output_where_they_fit() {
    let whole = |shape: &[u64], chunk: &[u64], i: usize| {
        let grid = ChunkGrid::regular(shape, chunk).unwrap();
        Cuts::new(&Selection::all(shape).unwrap(), &grid).unwrap().get(i).copy.whole()
    };
    assert_eq!(whole(&[10, 6], &[3, 6], 1), Some(18));
    assert_eq!(whole(&[10, 6], &[3, 6], 3), None, "the last one is stored at full length");
    assert_eq!(whole(&[10, 6], &[3, 3], 0), None);
    assert_eq!(whole(&[5, 4, 6], &[1, 2, 6], 3), Some(36));
    assert_eq!(whole(&[], &[], 0), Some(0));
    let grid = ChunkGrid::rectilinear(&[10], vec![vec![3, 7]]).unwrap();
    assert_eq!(Cuts::new(&Selection::all(&[10]).unwrap(), &grid).unwrap().get(1).copy.whole(), Some(3));
    let back = Selection::resolve(&[10], &[Index::Slice { start: None, stop: None, step: Some(-1) }], Mode::Numpy);
    assert_eq!(Cuts::new(&back.unwrap(), &grid).unwrap().get(0).copy.whole(), None);
}

#[test]
fn a_selection_of_another_shape_is_refused() {
    let grid = ChunkGrid::regular(&[10], &[3]).unwrap();
    let error = Cuts::new(&Selection::all(&[11]).unwrap(), &grid).unwrap_err();
    assert_eq!(error.message, "the selection is for shape [11], the array has shape [10]");
}

#[test]
fn plans_of_any_size_cost_no_memory() {
    let shape = [1 << 20, 1 << 20, 1 << 20];
    let grid = ChunkGrid::regular(&shape, &[1, 1, 1]).unwrap();
    let cuts = Cuts::new(&Selection::all(&shape).unwrap(), &grid).unwrap();
    assert_eq!(cuts.len(), 1 << 60);
    let cut = cuts.get((1 << 60) - 1);
    assert_eq!(cut.chunk, [(1 << 20) - 1; 3]);
    assert_eq!(cut.copy.whole(), Some((1 << 60) - 1));
}
