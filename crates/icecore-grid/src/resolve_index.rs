//! Resolves indexes against a shape: one entry per axis, ellipsis expanded, masks converted to lists, slices clipped.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::pick::Progression;

/// Resolved index of one axis. The entry's position in [`ResolvedIndexes::axes`] is the axis.
#[derive(Debug)]
pub(crate) enum ResolvedIndex<'a> {
    At(u64),
    Slice(Progression),
    /// Not yet bounds-checked: NumPy ignores out-of-bounds indexes if the lists broadcast to an empty shape.
    List {
        shape: Vec<u64>,
        values: Cow<'a, [i64]>,
    },
}

#[derive(Debug)]
pub(crate) struct ResolvedIndexes<'a> {
    pub axes: Vec<ResolvedIndex<'a>>,
    /// Position of an ellipsis that covers no axis: it still separates the lists around it.
    pub split: Option<usize>,
}

pub(crate) fn selection_error(message: String, hint: impl Into<String>) -> Error {
    Error::new(ErrorKind::Selection, message).hint(hint)
}

/// Number of axes an entry consumes.
fn width(index: &Index) -> usize {
    match index {
        Index::Mask { shape, .. } => shape.len(),
        Index::Ellipsis => 0,
        _ => 1,
    }
}

/// One term per axis of `shape`.
pub(crate) fn resolve_indexes<'a>(shape: &[u64], indexes: &'a [Index]) -> Result<ResolvedIndexes<'a>> {
    let given: usize = indexes.iter().map(width).sum();
    if given > shape.len() {
        return Err(selection_error(
            format!("{given} axes are indexed, the array has {} (shape {shape:?})", shape.len()),
            "remove indexes, or use '...' for whole axes",
        ));
    }
    if indexes.iter().filter(|index| matches!(index, Index::Ellipsis)).count() > 1 {
        return Err(selection_error(
            "the selection has more than one '...'".into(),
            "keep one '...', write ':' for others",
        ));
    }
    let missing = shape.len() - given;
    let mut out = ResolvedIndexes { axes: Vec::with_capacity(shape.len()), split: None };
    for index in indexes {
        if matches!(index, Index::Ellipsis) {
            out.split = (missing == 0).then_some(out.axes.len());
            push_whole(&mut out.axes, shape, missing);
        } else {
            push_terms(&mut out.axes, shape, index)?;
        }
    }
    let missing = shape.len() - out.axes.len();
    push_whole(&mut out.axes, shape, missing);
    Ok(out)
}

fn push_whole(axes: &mut Vec<ResolvedIndex<'_>>, shape: &[u64], count: usize) {
    let from = axes.len();
    axes.extend(
        shape[from..from + count]
            .iter()
            .map(|&len| ResolvedIndex::Slice(Progression { count: len, ..Progression::EMPTY })),
    );
}

fn push_terms<'a>(axes: &mut Vec<ResolvedIndex<'a>>, shape: &[u64], index: &'a Index) -> Result<()> {
    let axis = axes.len();
    match index {
        Index::At(at) => axes.push(ResolvedIndex::At(wrap(*at, shape[axis], axis)?)),
        Index::Slice { start, stop, step } => {
            axes.push(ResolvedIndex::Slice(clip(shape[axis], axis, *start, *stop, step.unwrap_or(1))?));
        }
        Index::List { shape: of, values } => {
            same_count("a list", of, values.len())?;
            match (of.is_empty(), values.first()) {
                (true, Some(&at)) => axes.push(ResolvedIndex::At(wrap(at, shape[axis], axis)?)),
                _ => axes.push(ResolvedIndex::List { shape: of.clone(), values: Cow::Borrowed(values) }),
            }
        }
        Index::Mask { shape: of, values } => push_mask(axes, shape, of, values)?,
        Index::Ellipsis => {}
    }
    Ok(())
}

fn same_count(what: &str, shape: &[u64], count: usize) -> Result<()> {
    let elements = shape.iter().try_fold(1_u64, |product, &n| product.checked_mul(n));
    if elements == Some(count as u64) {
        return Ok(());
    }
    Err(selection_error(
        format!("{what} of shape {shape:?} has {count} values"),
        "give as many values as the shape has",
    ))
}

/// `index` as an offset from the start of an axis of length `len`.
pub(crate) fn wrap(index: i64, len: u64, axis: usize) -> Result<u64> {
    let wrapped = match u64::try_from(index) {
        Ok(index) => (index < len).then_some(index),
        Err(_) => len.checked_sub(index.unsigned_abs()),
    };
    wrapped.ok_or_else(|| out_of_bounds(i128::from(index), len, axis))
}

pub(crate) fn out_of_bounds(index: i128, len: u64, axis: usize) -> Error {
    let hint = match len {
        0 => "the axis is empty: only slices and empty lists fit".to_string(),
        _ => format!("valid indexes are -{len} to {}", len - 1),
    };
    selection_error(format!("index {index} is out of bounds for axis {axis} of length {len}"), hint)
}

/// A slice of an axis, by Python's rules; computed in 128 bits, so that no bound or step can overflow.
fn clip(len: u64, axis: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Progression> {
    if step == 0 {
        return Err(selection_error(format!("the slice of axis {axis} has step 0"), "use a step of 1, or an integer"));
    }
    let (n, forward) = (i128::from(len), step > 0);
    let (low, high) = if forward { (0, n) } else { (-1, n - 1) };
    let bound = |at: Option<i64>, default: i128| match at {
        None => default,
        Some(at) if at < 0 => (i128::from(at) + n).max(low),
        Some(at) => i128::from(at).min(high),
    };
    let (start, stop) =
        if forward { (bound(start, low), bound(stop, high)) } else { (bound(start, high), bound(stop, low)) };
    let (distance, stride) = if forward { (stop - start, i128::from(step)) } else { (start - stop, -i128::from(step)) };
    if distance <= 0 {
        return Ok(Progression::EMPTY);
    }
    let count = (distance + stride - 1) / stride;
    let first = if forward { start } else { start - (count - 1) * stride };
    let to_u64 = |value: i128| u64::try_from(value).unwrap_or(0); // all values are within the axis
    // A single element has no direction.
    let reversed = !forward && count > 1;
    Ok(Progression { first: to_u64(first), step: to_u64(stride), count: to_u64(count), reversed })
}

/// Converts a mask over k axes to k lists with the positions of its true elements.
fn push_mask(axes: &mut Vec<ResolvedIndex<'_>>, shape: &[u64], of: &[u64], values: &[bool]) -> Result<()> {
    let axis = axes.len();
    same_count("a mask", of, values.len())?;
    if of.is_empty() {
        return Err(selection_error(
            "a single boolean would add an axis".into(),
            "select with integers, slices, lists or a mask of the axes' shape",
        ));
    }
    for (k, (&covers, &len)) in of.iter().zip(&shape[axis..]).enumerate() {
        if covers != len {
            return Err(selection_error(
                format!("the mask has length {covers} on axis {}, the array has {len}", axis + k),
                "a mask must have the length of the axes it covers",
            ));
        }
    }
    let hits = values.iter().filter(|&&hit| hit).count();
    let mut columns = vec![Vec::with_capacity(hits); of.len()];
    let mut at = vec![0_u64; of.len()];
    for &hit in values {
        if hit {
            for (column, &index) in columns.iter_mut().zip(&at) {
                column.push(index as i64);
            }
        }
        advance(&mut at, of);
    }
    let list = |column| ResolvedIndex::List { shape: vec![hits as u64], values: Cow::Owned(column) };
    axes.extend(columns.into_iter().map(list));
    Ok(())
}

/// The next position in C order.
pub(crate) fn advance(at: &mut [u64], shape: &[u64]) {
    for (index, &len) in at.iter_mut().zip(shape).rev() {
        *index += 1;
        if *index < len {
            return;
        }
        *index = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's `range(*slice(start, stop, step).indices(len))`, spelled out.
    fn python(len: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<u64> {
        let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let bound = |at: Option<i64>, default: i64| {
            at.map_or(default, |at| if at < 0 { (at + len).max(low) } else { at.min(high) })
        };
        let (mut at, stop) =
            if step > 0 { (bound(start, 0), bound(stop, len)) } else { (bound(start, len - 1), bound(stop, -1)) };
        let mut out = vec![];
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            out.push(at as u64);
            at += step;
        }
        out
    }

    #[test]
    fn slices_follow_python() {
        let bounds: Vec<Option<i64>> = (-8..=8).map(Some).chain([None]).collect();
        for len in 0..6 {
            for &start in &bounds {
                for &stop in &bounds {
                    for step in (-7..=7).filter(|&step| step != 0) {
                        let p = clip(len as u64, 0, start, stop, step).unwrap();
                        let mut got: Vec<u64> = (0..p.count).map(|k| p.first + k * p.step).collect();
                        if p.reversed {
                            got.reverse();
                        }
                        assert_eq!(got, python(len, start, stop, step), "{len} {start:?}:{stop:?}:{step}");
                    }
                }
            }
        }
    }

    #[test]
    fn extreme_slices_do_not_overflow() {
        for step in [i64::MIN, i64::MAX, 1, -1] {
            for at in [i64::MIN, i64::MAX, -1, 0] {
                for len in [0, 1, u64::MAX] {
                    let p = clip(len, 0, Some(at), None, step).unwrap();
                    assert!(p.count == 0 || p.first + p.step * (p.count - 1) < len);
                }
            }
        }
    }

    #[test]
    fn names_both_sides_of_an_index_out_of_bounds() {
        let error = wrap(-11, 10, 2).unwrap_err();
        assert_eq!(error.message, "index -11 is out of bounds for axis 2 of length 10");
        assert_eq!(error.hint, "valid indexes are -10 to 9");
    }
}
