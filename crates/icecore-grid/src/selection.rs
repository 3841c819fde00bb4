//! A selection resolved against an array's shape: which elements are read, and where each goes in a C-order output.

use std::borrow::Cow;

use crate::broadcast::{broadcast_shape, spread};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Index, Mode};
use crate::pick::{Joint, Pick, Progression};
use crate::resolve_index::{ResolvedIndex, ResolvedIndexes, out_of_bounds, resolve_indexes, selection_error, wrap};

/// A resolved selection. All indexes are within the array; the output has at most 2⁶² elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    shape: Vec<u64>,
    out_shape: Vec<u64>,
    out_len: u64,
    /// One per source axis; `None` for the axes of `joint`.
    picks: Vec<Option<Pick>>,
    joint: Option<Joint>,
}

impl Selection {
    /// Resolves indexes against an array's shape, by NumPy's rules or, in [`Mode::Orthogonal`], axis by axis.
    ///
    /// # Errors
    /// `selection`: too many indexes, out of bounds, a mask that does not cover its axes, lists that do not
    /// broadcast, a step of 0, a single boolean; `memory`: a result too large to address.
    pub fn resolve(shape: &[u64], indexes: &[Index], mode: Mode) -> Result<Self> {
        match mode {
            Mode::Numpy => numpy(shape, resolve_indexes(shape, indexes)?),
            Mode::Orthogonal => {
                let many = |index: &&Index| matches!(index, Index::List { shape, .. } | Index::Mask { shape, .. } if shape.len() > 1);
                if let Some(Index::List { shape, .. } | Index::Mask { shape, .. }) = indexes.iter().find(many) {
                    return Err(selection_error(
                        format!("a list or mask of shape {shape:?} in an orthogonal selection"),
                        "lists and masks must be one-dimensional here; use the NumPy mode for others",
                    ));
                }
                orthogonal(shape, resolve_indexes(shape, indexes)?)
            }
        }
    }

    /// The whole array.
    ///
    /// # Errors
    /// `memory`: the array is too large to address.
    pub fn all(shape: &[u64]) -> Result<Self> {
        Self::resolve(shape, &[], Mode::Numpy)
    }

    /// Single elements: `columns` has one column of indexes per axis, all of the same length n; the result is 1-D of
    /// length n. The same as NumPy's `a[i, j, k]` with lists.
    ///
    /// # Errors
    /// `selection`: not one column per axis, columns of different lengths, an index out of bounds.
    pub fn points(shape: &[u64], columns: &[Vec<u64>]) -> Result<Self> {
        if columns.len() != shape.len() || shape.is_empty() {
            return Err(selection_error(
                format!("points have {} coordinates, the array has {} axes", columns.len(), shape.len()),
                "give one column of indexes per axis of an array with at least one axis",
            ));
        }
        let count = columns[0].len();
        for (axis, (column, &len)) in columns.iter().zip(shape).enumerate() {
            if column.len() != count {
                return Err(selection_error(
                    format!("points have {count} indexes on axis 0 and {} on axis {axis}", column.len()),
                    "give as many indexes on every axis",
                ));
            }
            if let Some(&index) = column.iter().find(|&&index| index >= len) {
                return Err(out_of_bounds(i128::from(index), len, axis));
            }
        }
        let (out_shape, mut picks) = (vec![count as u64], vec![None; shape.len()]);
        let joint = match columns {
            [column] => {
                picks = vec![Some(Pick::list(column.clone(), 1))];
                None
            }
            _ => Some(Joint { axes: (0..shape.len()).collect(), columns: columns.to_vec(), dst_step: 1 }),
        };
        Ok(Self { shape: shape.to_vec(), out_len: count as u64, out_shape, picks, joint })
    }

    /// Shape of the array that the selection was resolved against.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Shape of the result.
    #[must_use]
    pub fn out_shape(&self) -> &[u64] {
        &self.out_shape
    }

    /// Number of elements of the result.
    #[must_use]
    pub fn out_len(&self) -> u64 {
        self.out_len
    }

    pub(crate) fn picks(&self) -> &[Option<Pick>] {
        &self.picks
    }

    pub(crate) fn joint(&self) -> Option<&Joint> {
        self.joint.as_ref()
    }
}

/// Maximum number of elements of a result, chosen so that strides and their sums fit 64 bits.
const MAX_OUT: u64 = 1 << 62;

/// C-order strides of the output in elements, and its number of elements.
fn strides(out_shape: &[u64]) -> Result<(Vec<u64>, u64)> {
    let mut strides = vec![1; out_shape.len()];
    let mut product = 1_u64;
    for (stride, &len) in strides.iter_mut().zip(out_shape).rev() {
        *stride = product;
        product = product.checked_mul(len.max(1)).filter(|&n| n <= MAX_OUT).ok_or_else(|| {
            Error::new(ErrorKind::Memory, format!("a result of shape {out_shape:?} is too large to address"))
                .hint("select less at a time")
        })?;
    }
    Ok((strides, if out_shape.contains(&0) { 0 } else { product }))
}

fn orthogonal(shape: &[u64], terms: ResolvedIndexes<'_>) -> Result<Selection> {
    let out_shape: Vec<u64> = terms
        .axes
        .iter()
        .filter_map(|term| match term {
            ResolvedIndex::At(_) => None,
            ResolvedIndex::Slice(range) => Some(range.count),
            ResolvedIndex::List { values, .. } => Some(values.len() as u64),
        })
        .collect();
    let (strides, out_len) = strides(&out_shape)?;
    let mut next = strides.iter().copied();
    let mut stride = || next.next().unwrap_or(1);
    let mut picks = Vec::with_capacity(shape.len());
    for (axis, term) in terms.axes.into_iter().enumerate() {
        picks.push(Some(match term {
            ResolvedIndex::At(index) => Pick::range(Progression::one(index), 0),
            ResolvedIndex::Slice(range) => Pick::range(range, stride()),
            ResolvedIndex::List { values, .. } => Pick::list(wrapped(values, shape[axis], axis)?, stride()),
        }));
    }
    Ok(Selection { shape: shape.to_vec(), out_shape, out_len, picks, joint: None })
}

/// Position and shape of the broadcast lists in NumPy's result.
struct Lists {
    /// Their common shape; empty without lists.
    shape: Vec<u64>,
    /// Number of sliced axes before them in the result.
    at: usize,
}

impl Lists {
    fn of(terms: &ResolvedIndexes<'_>) -> Result<Self> {
        let shapes = || {
            terms
                .axes
                .iter()
                .filter_map(|term| if let ResolvedIndex::List { shape, .. } = term { Some(&shape[..]) } else { None })
        };
        if shapes().next().is_none() {
            return Ok(Self { shape: vec![], at: 0 });
        }
        // If any list is present, integers count as lists too. A slice or ellipsis between lists moves them to the
        // front.
        let advanced = |term: &ResolvedIndex<'_>| !matches!(term, ResolvedIndex::Slice(_));
        let first = terms.axes.iter().position(advanced).unwrap_or(0);
        let last = terms.axes.iter().rposition(advanced).unwrap_or(0);
        let together =
            terms.axes[first..=last].iter().all(advanced) && terms.split.is_none_or(|at| at <= first || at > last);
        Ok(Self { shape: broadcast_shape(shapes())?, at: if together { first } else { 0 } })
    }
}

fn numpy(shape: &[u64], terms: ResolvedIndexes<'_>) -> Result<Selection> {
    let lists = Lists::of(&terms)?;
    let slices = terms
        .axes
        .iter()
        .filter_map(|term| if let ResolvedIndex::Slice(range) = term { Some(range.count) } else { None });
    let mut out_shape: Vec<u64> = slices.collect();
    out_shape.splice(lists.at..lists.at, lists.shape.iter().copied());
    let (strides, out_len) = strides(&out_shape)?;
    let (behind, list_strides) = (lists.at + lists.shape.len(), &strides[lists.at..lists.at + lists.shape.len()]);
    let mut slice_strides = strides[..lists.at].iter().chain(&strides[behind..]).copied();
    let mut picks = Vec::with_capacity(shape.len());
    let mut columns = Vec::new();
    for (axis, term) in terms.axes.into_iter().enumerate() {
        picks.push(match term {
            ResolvedIndex::At(index) => Some(Pick::range(Progression::one(index), 0)),
            ResolvedIndex::Slice(range) => Some(Pick::range(range, slice_strides.next().unwrap_or(1))),
            // NumPy does not check lists that broadcast to an empty shape, so this code does not either.
            ResolvedIndex::List { .. } if lists.shape.contains(&0) => Some(Pick::range(Progression::EMPTY, 0)),
            ResolvedIndex::List { shape: of, values } => {
                columns.push((axis, of, wrapped(values, shape[axis], axis)?));
                None
            }
        });
    }
    let joint = place_lists(&mut picks, columns, &lists.shape, list_strides)?;
    Ok(Selection { shape: shape.to_vec(), out_shape, out_len, picks, joint })
}

type Column = (usize, Vec<u64>, Vec<u64>);

/// Lists that vary along different axes of the result are independent (a single list, or `numpy.ix_`) and much cheaper
/// than points. The others are joined.
fn place_lists(
    picks: &mut [Option<Pick>],
    columns: Vec<Column>,
    common: &[u64],
    strides: &[u64],
) -> Result<Option<Joint>> {
    let (constant, mut varying): (Vec<Column>, Vec<Column>) =
        columns.into_iter().partition(|(_, _, values)| values.len() == 1);
    for (axis, _, values) in constant {
        picks[axis] = Some(Pick::list(values, 0));
    }
    let innermost = strides.last().copied().unwrap_or(1);
    if let [(axis, _, values)] = &mut varying[..] {
        picks[*axis] = Some(Pick::list(std::mem::take(values), innermost));
        return Ok(None);
    }
    let along: Option<Vec<usize>> = varying.iter().map(|(_, shape, _)| only_axis(shape, common.len())).collect();
    if let Some(along) = along.filter(|along| (1..along.len()).all(|k| !along[..k].contains(&along[k]))) {
        for ((axis, _, values), along) in varying.into_iter().zip(along) {
            picks[axis] = Some(Pick::list(values, strides[along]));
        }
        return Ok(None);
    }
    let axes = varying.iter().map(|(axis, _, _)| *axis).collect();
    let columns: Result<Vec<_>> =
        varying.into_iter().map(|(_, shape, values)| spread(&shape, values, common)).collect();
    Ok(Some(Joint { axes, columns: columns?, dst_step: innermost }))
}

/// The only axis of the common shape along which a list of this shape varies, if there is exactly one.
fn only_axis(shape: &[u64], rank: usize) -> Option<usize> {
    let mut long = (0..shape.len()).filter(|&k| shape[k] != 1);
    let axis = long.next()?;
    long.next().is_none().then_some(rank - shape.len() + axis)
}

fn wrapped(values: Cow<'_, [i64]>, len: u64, axis: usize) -> Result<Vec<u64>> {
    match values {
        Cow::Borrowed(values) => values.iter().map(|&index| wrap(index, len, axis)).collect(),
        // filtered in place, without another allocation
        Cow::Owned(values) => values.into_iter().map(|index| wrap(index, len, axis)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_shape(shape: &[u64], indexes: &[Index]) -> Vec<u64> {
        Selection::resolve(shape, indexes, Mode::Numpy).unwrap().out_shape().to_vec()
    }

    fn list(values: &[i64]) -> Index {
        Index::list(values.to_vec())
    }

    /// Shapes as NumPy 2 gives them for an array of shape (5, 6, 7).
    #[test]
    fn lists_go_where_numpy_puts_them() {
        use Index::{At, Ellipsis};
        const ALL: Index = Index::ALL;
        let s = &[5, 6, 7];
        assert_eq!(out_shape(s, &[ALL, list(&[0]), Ellipsis, list(&[1])]), [1, 5]);
        assert_eq!(out_shape(s, &[list(&[0]), Ellipsis, list(&[1]), ALL]), [1, 7]);
        assert_eq!(out_shape(s, &[At(0), ALL, list(&[1, 2])]), [2, 6]);
        assert_eq!(out_shape(s, &[ALL, At(0), list(&[1, 2])]), [5, 2]);
        assert_eq!(out_shape(s, &[list(&[0, 1]), ALL, At(2)]), [2, 6]);
        assert_eq!(out_shape(s, &[ALL, list(&[1]), At(0)]), [5, 1]);
        let column = Index::List { shape: vec![2, 1], values: vec![0, 1] };
        assert_eq!(out_shape(s, &[column, list(&[1, 2, 3])]), [2, 3, 7]);
        let scalar = Index::List { shape: vec![], values: vec![-1] };
        assert_eq!(out_shape(s, &[ALL, scalar, ALL]), [5, 7]);
        let mask = Index::Mask { shape: vec![5, 6], values: vec![true; 30] };
        assert_eq!(out_shape(s, &[mask.clone(), ALL]), [30, 7]);
        assert_eq!(out_shape(s, &[mask, list(&[0])]), [30]);
    }

    #[test]
    fn lists_that_broadcast_to_nothing_are_not_looked_at() {
        assert_eq!(out_shape(&[5, 6, 7], &[list(&[10]), list(&[])]), [0, 7]);
        assert_eq!(out_shape(&[5, 6, 7], &[list(&[10]), list(&[]), Index::At(0)]), [0]);
    }

    #[test]
    fn independent_lists_are_not_joined() {
        let ix = [Index::List { shape: vec![2, 1], values: vec![0, 3] }, list(&[1, 2, 5])];
        assert!(Selection::resolve(&[5, 6], &ix, Mode::Numpy).unwrap().joint().is_none());
        assert!(Selection::resolve(&[5, 6], &[list(&[0, 3]), list(&[1, 5])], Mode::Numpy).unwrap().joint().is_some());
    }

    #[test]
    fn refuses_what_numpy_refuses() {
        let s = &[5, 6];
        let three = Index::mask(vec![true; 3]);
        for (indexes, part) in [
            (vec![Index::ALL; 3], "3 axes are indexed, the array has 2"),
            (vec![Index::Ellipsis, Index::Ellipsis], "more than one '...'"),
            (vec![Index::At(5)], "index 5 is out of bounds for axis 0 of length 5"),
            (vec![Index::ALL, list(&[0, -7])], "index -7 is out of bounds for axis 1 of length 6"),
            (vec![Index::ALL, three], "the mask has length 3 on axis 1, the array has 6"),
            (vec![list(&[0, 1]), list(&[0, 1, 2])], "[2] and [3]"),
            (vec![Index::Slice { start: None, stop: None, step: Some(0) }], "step 0"),
            (vec![Index::Mask { shape: vec![], values: vec![true] }], "single boolean"),
            (vec![Index::List { shape: vec![3], values: vec![1] }], "has 1 values"),
            (vec![list(&[]), Index::At(10)], "index 10 is out of bounds for axis 1"),
        ] {
            let error = Selection::resolve(s, &indexes, Mode::Numpy).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Selection);
            assert!(error.message.contains(part), "{error}");
            assert!(!error.hint.is_empty());
        }
    }

    #[test]
    fn orthogonal_lists_keep_their_axes() {
        let indexes = [list(&[0, 2]), Index::At(3), list(&[1, 1, 0])];
        let selection = Selection::resolve(&[5, 6, 7], &indexes, Mode::Orthogonal).unwrap();
        assert_eq!(selection.out_shape(), [2, 3]);
        let square = Index::List { shape: vec![1, 1], values: vec![0] };
        assert!(Selection::resolve(&[5], &[square], Mode::Orthogonal).is_err());
    }

    #[test]
    fn points_are_checked() {
        assert_eq!(Selection::points(&[5, 6], &[vec![0, 4], vec![5, 0]]).unwrap().out_shape(), [2]);
        for bad in [vec![vec![0]], vec![vec![0], vec![0, 1]], vec![vec![0], vec![6]]] {
            assert_eq!(Selection::points(&[5, 6], &bad).unwrap_err().kind, ErrorKind::Selection);
        }
        assert!(Selection::points(&[], &[]).is_err());
    }

    #[test]
    fn a_result_too_large_to_address_is_refused() {
        assert_eq!(Selection::all(&[u64::MAX]).unwrap_err().kind, ErrorKind::Memory);
        assert_eq!(Selection::all(&[1 << 40, 1 << 40]).unwrap_err().kind, ErrorKind::Memory);
        assert_eq!(Selection::all(&[0, 6]).unwrap().out_len(), 0);
        assert_eq!(Selection::all(&[]).unwrap().out_len(), 1);
    }
}
