//! Conversion of a column's values to elements of its array.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::values::View;

impl View<'_> {
    /// Appends the values of some rows as elements of `width` bytes, native byte order. Returns whether any of them is
    /// the smallest integer of that width, which means "no value".
    ///
    /// # Errors
    /// `internal` if values have another size, or an integer does not fit; the appended bytes are then unspecified.
    pub fn put(&self, rows: Range<usize>, width: usize, out: &mut Vec<u8>) -> Result<bool> {
        match (self, width) {
            (View::Int(values), 1) => integers(&values[rows], out, |value| (value as i8).to_ne_bytes(), i8::MIN.into()),
            (View::Int(values), 2) => {
                integers(&values[rows], out, |value| (value as i16).to_ne_bytes(), i16::MIN.into())
            }
            (View::Int(values), 4) => {
                integers(&values[rows], out, |value| (value as i32).to_ne_bytes(), i32::MIN.into())
            }
            (View::Int(values), 8) => {
                out.extend_from_slice(bytes(&values[rows.clone()]));
                Ok(values[rows].contains(&i64::MIN))
            }
            (View::Real(values), 8) => {
                out.extend_from_slice(bytes(&values[rows]));
                Ok(false)
            }
            (View::Text { width: own, bytes }, _) if *own == width => {
                out.extend_from_slice(&bytes[rows.start * width..rows.end * width]);
                Ok(false)
            }
            _ => Err(unfit(width)),
        }
    }
}

fn unfit(width: usize) -> Error {
    Error::new(ErrorKind::Internal, format!("a column has values that elements of {width} bytes can't hold"))
}

/// The bytes of 8-byte numbers.
fn bytes<T: Number>(values: &[T]) -> &[u8] {
    // SAFETY: all bytes of such numbers are initialised, and bytes may lie anywhere.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }
}

trait Number {}
impl Number for i64 {}
impl Number for f64 {}

/// Whether any value is the `least`; none may be below it, or above its negation.
fn integers<const N: usize>(
    values: &[i64],
    out: &mut Vec<u8>,
    element: impl Fn(i64) -> [u8; N],
    least: i64,
) -> Result<bool> {
    const TOGETHER: usize = 512;
    let (mut lowest, mut highest) = (0, 0);
    for values in values.chunks(TOGETHER) {
        let mut elements = [[0; N]; TOGETHER];
        elements.iter_mut().zip(values).for_each(|(place, value)| *place = element(*value));
        out.extend_from_slice(elements[..values.len()].as_flattened());
        (lowest, highest) =
            values.iter().fold((lowest, highest), |(low, high), value| (low.min(*value), high.max(*value)));
    }
    if lowest < least || highest > !least { Err(unfit(N)) } else { Ok(lowest == least) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_values_in_fewer_bytes() {
        let values = [5, -1, i64::from(i16::MAX), i64::from(i16::MIN)];
        let mut out = vec![7];
        assert!(!View::Int(&values).put(0..3, 2, &mut out).unwrap());
        assert!(View::Int(&values).put(3..4, 2, &mut out).unwrap());
        let elements: Vec<u8> = [5i16, -1, i16::MAX, i16::MIN].iter().flat_map(|v| v.to_ne_bytes()).collect();
        assert_eq!(out[1..], elements);
        assert!(!View::Int(&values).put(0..4, 4, &mut out).unwrap());
        for far in [i64::from(i16::MAX) + 1, i64::from(i16::MIN) - 1, i64::MAX, i64::MIN] {
            assert_eq!(View::Int(&[0, far]).put(0..2, 2, &mut out).unwrap_err().kind, ErrorKind::Internal, "{far}");
        }
    }

    #[test]
    fn others_are_as_they_are() {
        let mut out = Vec::new();
        assert!(!View::Real(&[1.5, f64::NAN]).put(0..2, 8, &mut out).unwrap());
        assert!(!View::Text { width: 3, bytes: b"abcdef" }.put(1..2, 3, &mut out).unwrap());
        assert_eq!(out, [&1.5f64.to_ne_bytes()[..], &f64::NAN.to_ne_bytes()[..], b"def"].concat());
        assert!(View::Real(&[1.5]).put(0..1, 4, &mut out).is_err());
        assert!(View::Text { width: 3, bytes: b"abc" }.put(0..1, 4, &mut out).is_err());
    }
}
