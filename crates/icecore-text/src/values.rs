//! The values of one column.

use std::ops::Range;

/// The values of one column, as its array holds them. Text is padded with zero bytes to `width`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text { width: usize, bytes: Vec<u8> },
}

impl Values {
    pub fn len(&self) -> usize {
        self.view().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Repeats the last value up to so many rows.
    #[inline]
    pub(crate) fn fill(&mut self, rows: usize) {
        match self {
            Values::Int(v) => v.resize(rows, v.last().copied().unwrap_or_default()),
            Values::Real(v) => v.resize(rows, v.last().copied().unwrap_or_default()),
            Values::Text { width, bytes } => {
                while bytes.len() < rows * *width {
                    bytes.extend_from_within(bytes.len().saturating_sub(*width)..);
                }
            }
        }
    }

    /// Adds the last value once more.
    #[inline]
    pub(crate) fn repeat(&mut self) {
        match self {
            Values::Int(v) => v.extend(v.last().copied()),
            Values::Real(v) => v.extend(v.last().copied()),
            Values::Text { width, bytes } => bytes.extend_from_within(bytes.len().saturating_sub(*width)..),
        }
    }

    /// Forgets what is behind so many rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        match self {
            Values::Int(v) => v.truncate(rows),
            Values::Real(v) => v.truncate(rows),
            Values::Text { width, bytes } => bytes.truncate(rows * *width),
        }
    }

    /// Forgets the first rows.
    pub fn skip(&mut self, rows: usize) {
        match self {
            Values::Int(v) => drop(v.drain(..rows.min(v.len()))),
            Values::Real(v) => drop(v.drain(..rows.min(v.len()))),
            Values::Text { width, bytes } => drop(bytes.drain(..(rows * *width).min(bytes.len()))),
        }
    }

    /// The same values, lent.
    pub fn view(&self) -> View<'_> {
        match self {
            Values::Int(v) => View::Int(v),
            Values::Real(v) => View::Real(v),
            Values::Text { width, bytes } => View::Text { width: *width, bytes },
        }
    }

    /// Adds the values of another stretch of the column.
    pub fn append(&mut self, other: Values) {
        match (self, other) {
            (Values::Int(a), Values::Int(b)) => a.extend(b),
            (Values::Real(a), Values::Real(b)) => a.extend(b),
            (Values::Text { bytes: a, .. }, Values::Text { bytes: b, .. }) => a.extend(b),
            _ => {}
        }
    }
}

/// Values that someone else holds.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    Int(&'a [i64]),
    Real(&'a [f64]),
    Text { width: usize, bytes: &'a [u8] },
}

impl View<'_> {
    pub fn len(&self) -> usize {
        match self {
            View::Int(v) => v.len(),
            View::Real(v) => v.len(),
            View::Text { width, bytes } => bytes.len().checked_div(*width).unwrap_or(0),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the value of a row is, bit for bit, that of the row before.
    #[inline]
    pub(crate) fn same(&self, row: usize) -> bool {
        row > 0
            && match self {
                View::Int(v) => v[row] == v[row - 1],
                View::Real(v) => v[row].to_bits() == v[row - 1].to_bits(),
                View::Text { width, bytes } => {
                    bytes[row * width..(row + 1) * width] == bytes[(row - 1) * width..row * width]
                }
            }
    }

    /// Whether all of `rows` have one value.
    pub(crate) fn constant(&self, rows: Range<usize>) -> bool {
        let Some(last) = rows.len().checked_sub(1) else { return true };
        match self {
            View::Int(v) => v[rows.start + last] == v[rows.start] && all_as_first(&v[rows], |v| *v as u64),
            View::Real(v) => {
                v[rows.start + last].to_bits() == v[rows.start].to_bits() && all_as_first(&v[rows], |v| v.to_bits())
            }
            View::Text { width, bytes } => {
                let texts = &bytes[rows.start * width..rows.end * width];
                texts[*width..] == texts[..texts.len() - width]
            }
        }
    }
}

/// Without a branch for each value, so that several are compared at once.
#[inline]
fn all_as_first<T>(values: &[T], bits: impl Fn(&T) -> u64) -> bool {
    let Some(first) = values.first().map(&bits) else { return true };
    values.iter().fold(0, |other, value| other | (bits(value) ^ first)) == 0
}
