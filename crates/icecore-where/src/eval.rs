//! Evaluate conditions for many rows: typed loops over the columns' bytes, one byte of truth per row.

use std::sync::Arc;

use icecore_chunk::{DType, NOT_A_TIME, Number as Element, VIEW, with_number};
use icecore_grid::{Error, ErrorKind, Result};

use crate::ast::Op;
use crate::clause::{Condition, Expression, Filter, Number};
use crate::ranges::Ranges;
use crate::text::{TextTest, decoded};
use crate::truth::{FALSE, TRUE, UNKNOWN};

/// Consecutive rows of one column.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub dtype: &'a DType,
    /// The elements, in native byte order.
    pub bytes: &'a [u8],
    /// Elements that mean null, besides NaN and not-a-time; variable-length strings as UTF-8.
    pub nulls: &'a [Vec<u8>],
    /// Bytes that the views of variable-length strings refer to.
    pub blobs: &'a [Arc<[u8]>],
}

/// Consecutive rows of a table, by column index; only the columns that the filter reads.
pub struct Rows<'a> {
    pub count: usize,
    pub columns: &'a [Option<Values<'a>>],
}

impl Filter {
    /// Appends the rows (relative to the first of `rows`) for which the clause is true to `hits`, ascending.
    ///
    /// # Errors
    /// `internal` when a column is missing or has another number of rows.
    pub fn hits(&self, rows: &Rows<'_>, hits: &mut Vec<u32>) -> Result<()> {
        let truth = condition(&self.root, rows)?;
        hits.extend(truth.iter().enumerate().filter(|(_, t)| **t == TRUE).map(|(i, _)| i as u32));
        Ok(())
    }
}

impl Expression {
    /// The value of each row; NaN for null.
    ///
    /// # Errors
    /// As [`Filter::hits`].
    pub fn values(&self, rows: &Rows<'_>) -> Result<Vec<f64>> {
        number(&self.root, rows)
    }
}

fn column<'a>(rows: &Rows<'a>, number: usize) -> Result<Values<'a>> {
    let values = rows.columns.get(number).copied().flatten();
    values.filter(|v| v.bytes.len() == rows.count * v.dtype.size()).ok_or_else(|| {
        Error::new(
            ErrorKind::Internal,
            format!("column {number} of the where-clause does not have {} rows", rows.count),
        )
    })
}

fn condition(node: &Condition, rows: &Rows<'_>) -> Result<Vec<u8>> {
    Ok(match node {
        Condition::Constant(truth) => vec![*truth; rows.count],
        Condition::Ranges(number, ranges) => in_ranges(&column(rows, *number)?, ranges),
        Condition::Text(number, test) => texts(&column(rows, *number)?, test)?,
        Condition::NullColumn(number) => is_null(&column(rows, *number)?),
        Condition::NullNumber(n) => number(n, rows)?.iter().map(|x| if x.is_nan() { TRUE } else { FALSE }).collect(),
        Condition::Compare(op, a, b) => {
            let (a, b) = (number(a, rows)?, number(b, rows)?);
            a.iter().zip(&b).map(|(a, b)| u8::from(op.holds(*a, *b)) << 1 & keep(a, b) | unknown(a, b)).collect()
        }
        Condition::CompareInts(op, a, b) => {
            let (left, right) = (ints(&column(rows, a.0)?), ints(&column(rows, b.0)?));
            let truth = |pair: (Option<i128>, Option<i128>)| match pair {
                (Some(x), Some(y)) => u8::from(op.holds(x.saturating_mul(a.1), y.saturating_mul(b.1))) << 1,
                _ => UNKNOWN,
            };
            left.into_iter().zip(right).map(truth).collect()
        }
        Condition::CompareTexts(op, a, b) => compare_texts(*op, &column(rows, *a)?, &column(rows, *b)?)?,
        Condition::Not(inner) => {
            let mut truth = condition(inner, rows)?;
            truth.iter_mut().for_each(|t| *t = TRUE - *t);
            truth
        }
        Condition::And(parts) => join(parts, rows, TRUE, FALSE, |a, b| a.min(b))?,
        Condition::Or(parts) => join(parts, rows, FALSE, TRUE, |a, b| a.max(b))?,
    })
}

fn keep(a: &f64, b: &f64) -> u8 {
    if a.is_nan() || b.is_nan() { 0 } else { TRUE }
}

fn unknown(a: &f64, b: &f64) -> u8 {
    u8::from(a.is_nan() || b.is_nan())
}

/// Evaluates conditions in turn and stops when the rest can't change the result.
fn join(parts: &[Condition], rows: &Rows<'_>, start: u8, end: u8, with: impl Fn(u8, u8) -> u8) -> Result<Vec<u8>> {
    let mut all: Option<Vec<u8>> = None;
    for part in parts {
        let truth = condition(part, rows)?;
        match &mut all {
            None => all = Some(truth),
            Some(all) => all.iter_mut().zip(truth).for_each(|(a, b)| *a = with(*a, b)),
        }
        if all.as_ref().is_some_and(|all| all.iter().all(|t| *t == end)) {
            break;
        }
    }
    Ok(all.unwrap_or_else(|| vec![start; rows.count]))
}

fn in_ranges(values: &Values<'_>, ranges: &Ranges) -> Vec<u8> {
    with_number!(values.dtype, T => {
        let bounds: Vec<(T, T)> = match ranges {
            Ranges::Int(ranges) => {
                let (least, most) = (T::from_int(-(1 << 100)).int(), T::from_int(1 << 100).int());
                let inside = ranges.iter().filter(|(low, high)| *low <= most && *high >= least);
                inside.map(|(low, high)| (T::from_int(*low), T::from_int(*high))).collect()
            }
            Ranges::Float(ranges) => {
                ranges.iter().map(|(low, high)| (T::from_float(*low), T::from_float(*high))).collect()
            }
        };
        let mut truth = test::<T>(values.bytes, &bounds);
        mark_nulls::<T>(values, &mut truth, UNKNOWN);
        truth
    }, else Vec::new())
}

fn test<T: Element>(bytes: &[u8], bounds: &[(T, T)]) -> Vec<u8> {
    let inside = |v: T, (low, high): (T, T)| u8::from(v >= low) & u8::from(v <= high);
    let nan = |v: T| u8::from(v.is_nan());
    match *bounds {
        [] => T::values(bytes).map(nan).collect(),
        [only] => T::values(bytes).map(|v| inside(v, only) << 1 | nan(v)).collect(),
        [a, b] => T::values(bytes).map(|v| (inside(v, a) | inside(v, b)) << 1 | nan(v)).collect(),
        _ => {
            let found = |v: T| bounds.get(bounds.partition_point(|b| b.1 < v)).is_some_and(|b| b.0 <= v && v <= b.1);
            T::values(bytes).map(|v| if v.is_nan() { UNKNOWN } else { u8::from(found(v)) << 1 }).collect()
        }
    }
}

/// Sets the truth of rows with a null value to unknown.
fn mark_nulls<T: Element>(values: &Values<'_>, truth: &mut [u8], mark: u8) {
    let time = matches!(values.dtype, DType::DateTime64 { .. } | DType::TimeDelta64 { .. });
    let given = values.nulls.iter().filter_map(|n| T::values(n).next());
    for null in given.chain(time.then(|| T::from_int(i128::from(NOT_A_TIME)))) {
        truth.iter_mut().zip(T::values(values.bytes)).filter(|(_, v)| *v == null).for_each(|(t, _)| *t = mark);
    }
}

fn is_null(values: &Values<'_>) -> Vec<u8> {
    with_number!(values.dtype, T => {
        let mut truth: Vec<u8> = T::values(values.bytes).map(|v| u8::from(v.is_nan()) << 1).collect();
        mark_nulls::<T>(values, &mut truth, TRUE);
        truth
    }, else {
        let size = values.dtype.size().max(1);
        values.bytes.chunks_exact(size).map(|e| u8::from(is_null_text(values, e)) << 1).collect()
    })
}

/// Whether an element of a string column is null. Variable-length strings are compared by their bytes, not by their
/// views.
fn is_null_text(values: &Values<'_>, element: &[u8]) -> bool {
    if values.nulls.is_empty() {
        return false;
    }
    if !matches!(values.dtype, DType::VlenUtf8) {
        return values.nulls.iter().any(|n| n == element);
    }
    let mut buffer = Vec::new();
    text_of(values.dtype, element, values.blobs, &mut buffer).is_ok_and(|t| values.nulls.iter().any(|n| n == t))
}

fn ints(values: &Values<'_>) -> Vec<Option<i128>> {
    let nulls = is_null(values);
    with_number!(values.dtype, T => {
        T::values(values.bytes).zip(nulls).map(|(v, null)| (null == FALSE).then(|| v.int())).collect()
    }, else Vec::new())
}

fn number(node: &Number, rows: &Rows<'_>) -> Result<Vec<f64>> {
    Ok(match node {
        Number::Value(x) => vec![*x; rows.count],
        Number::Column(number) => {
            let values = column(rows, *number)?;
            let mut floats: Vec<f64> =
                with_number!(values.dtype, T => T::values(values.bytes).map(Element::float).collect(), else Vec::new());
            if !values.nulls.is_empty() || matches!(values.dtype, DType::TimeDelta64 { .. }) {
                let nulls = is_null(&values);
                floats.iter_mut().zip(nulls).filter(|(_, null)| *null == TRUE).for_each(|(x, _)| *x = f64::NAN);
            }
            floats
        }
        Number::Negative(inner) => number(inner, rows)?.into_iter().map(|x| -x).collect(),
        Number::Arithmetic(operator, a, b) => {
            let (a, b) = (number(a, rows)?, number(b, rows)?);
            a.into_iter().zip(b).map(|(a, b)| operator.of(a, b)).collect()
        }
        Number::Call(function, inner) => number(inner, rows)?.into_iter().map(|x| function.of(x)).collect(),
        Number::Extreme(extreme, items) => {
            let mut columns = items.iter().map(|item| number(item, rows));
            let first = columns.next().unwrap_or_else(|| Ok(vec![f64::NAN; rows.count]))?;
            columns.try_fold(first, |all, next| Ok(all.iter().zip(next?).map(|(a, b)| extreme.of(*a, b)).collect()))?
        }
        Number::Part(part, number, clock) => {
            let values = column(rows, *number)?;
            let nulls = is_null(&values);
            with_number!(values.dtype, T => {
                let part = |(v, null): (T, u8)| if null == TRUE { f64::NAN } else { clock.part(*part, v) };
                T::values(values.bytes).zip(nulls).map(part).collect()
            }, else Vec::new())
        }
    })
}

fn texts(values: &Values<'_>, check: &TextTest) -> Result<Vec<u8>> {
    let size = values.dtype.size().max(1);
    let mut buffer = Vec::new();
    let mut truth = Vec::with_capacity(values.bytes.len() / size);
    for element in values.bytes.chunks_exact(size) {
        let null = is_null_text(values, element);
        let text = text_of(values.dtype, element, values.blobs, &mut buffer)?;
        truth.push(if null { UNKNOWN } else { u8::from(check.holds(text)) << 1 });
    }
    Ok(truth)
}

fn compare_texts(op: Op, a: &Values<'_>, b: &Values<'_>) -> Result<Vec<u8>> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let pairs = a.bytes.chunks_exact(a.dtype.size().max(1)).zip(b.bytes.chunks_exact(b.dtype.size().max(1)));
    let truth = |(x, y): (&[u8], &[u8])| {
        if is_null_text(a, x) || is_null_text(b, y) {
            return Ok(UNKNOWN);
        }
        let x = decoded(text_of(a.dtype, x, a.blobs, &mut left)?);
        let y = decoded(text_of(b.dtype, y, b.blobs, &mut right)?);
        Ok(u8::from(op.holds(x.as_bytes(), y.as_bytes())) << 1)
    };
    pairs.map(truth).collect()
}

/// An element as UTF-8, without padding zeros at the end.
///
/// # Errors
/// `corrupt` for an invalid code point.
pub fn text_of<'a>(
    dtype: &DType,
    element: &'a [u8],
    blobs: &'a [Arc<[u8]>],
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    match dtype {
        DType::Utf32(_) => {
            buffer.clear();
            let points = element.as_chunks::<4>().0;
            let used = points.iter().rposition(|p| *p != [0; 4]).map_or(0, |last| last + 1);
            let points = points.get(..used).unwrap_or_default();
            let mut all = 0;
            buffer.extend(points.iter().map(|point| {
                let point = u32::from_ne_bytes(*point);
                all |= point;
                point as u8
            }));
            if all < 0x80 {
                return Ok(buffer); // fast path: ASCII
            }
            buffer.clear();
            for point in points {
                let character = char::from_u32(u32::from_ne_bytes(*point))
                    .ok_or_else(|| Error::new(ErrorKind::Corrupt, "a string contains an invalid code point"))?;
                buffer.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Ok(buffer)
        }
        DType::VlenUtf8 | DType::VlenBytes => {
            let mut parts = element.as_chunks::<4>().0.iter().map(|b| u32::from_ne_bytes(*b) as usize);
            let (blob, offset, length) = (parts.next(), parts.next(), parts.next());
            let found = blob.and_then(|b| blobs.get(b)).zip(offset.zip(length));
            let text = found.and_then(|(blob, (offset, length))| blob.get(offset..offset.checked_add(length)?));
            debug_assert_eq!(element.len(), VIEW);
            text.ok_or_else(|| Error::new(ErrorKind::Internal, "a string is outside its chunk"))
        }
        _ => {
            let used = element.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
            Ok(element.get(..used).unwrap_or_default())
        }
    }
}
