//! The values of one column.

use std::ops::Range;

/// The "no value" of unsigned numbers, as in netCDF: the maximum itself is more often a real value.
pub const NO_UNSIGNED: u64 = u64::MAX - 1;

/// The values of one column in the form of its array. Text is padded with zero bytes to `width`; strings are UTF-8 of
/// variable length, and `ends` holds the end of each in `bytes`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text { width: usize, bytes: Vec<u8> },
    Strings { ends: Vec<usize>, bytes: Vec<u8> },
}

impl Values {
    pub fn len(&self) -> usize {
        self.view().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Repeats the last value up to this many rows.
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
            Values::Strings { ends, bytes } => {
                ends.reserve(rows.saturating_sub(ends.len()));
                while !ends.is_empty() && ends.len() < rows {
                    again(ends, bytes);
                }
            }
        }
    }

    /// Repeats the last value once.
    #[inline]
    pub(crate) fn repeat(&mut self) {
        match self {
            Values::Int(v) => v.extend(v.last().copied()),
            Values::Real(v) => v.extend(v.last().copied()),
            Values::Text { width, bytes } => bytes.extend_from_within(bytes.len().saturating_sub(*width)..),
            Values::Strings { ends, bytes } => again(ends, bytes),
        }
    }

    /// Truncates to this many rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        match self {
            Values::Int(v) => v.truncate(rows),
            Values::Real(v) => v.truncate(rows),
            Values::Text { width, bytes } => bytes.truncate(rows * *width),
            Values::Strings { ends, bytes } => {
                ends.truncate(rows);
                bytes.truncate(ends.last().copied().unwrap_or(0));
            }
        }
    }

    /// Removes the first rows.
    pub fn skip(&mut self, rows: usize) {
        match self {
            Values::Int(v) => drop(v.drain(..rows.min(v.len()))),
            Values::Real(v) => drop(v.drain(..rows.min(v.len()))),
            Values::Text { width, bytes } => drop(bytes.drain(..(rows * *width).min(bytes.len()))),
            Values::Strings { ends, bytes } => {
                let gone = ends.drain(..rows.min(ends.len())).next_back().unwrap_or(0);
                drop(bytes.drain(..gone.min(bytes.len())));
                ends.iter_mut().for_each(|end| *end -= gone);
            }
        }
    }

    /// Borrows the values.
    pub fn view(&self) -> View<'_> {
        match self {
            Values::Int(v) => View::Int(v),
            Values::Real(v) => View::Real(v),
            Values::Text { width, bytes } => View::Text { width: *width, bytes },
            Values::Strings { ends, bytes } => View::Strings { from: 0, ends, bytes },
        }
    }

    /// Appends the values of another stretch of the column.
    pub fn append(&mut self, other: Values) {
        match (self, other) {
            (Values::Int(a), Values::Int(b)) => a.extend(b),
            (Values::Real(a), Values::Real(b)) => a.extend(b),
            (Values::Text { bytes: a, .. }, Values::Text { bytes: b, .. }) => a.extend(b),
            (Values::Strings { ends, bytes }, Values::Strings { ends: other, bytes: more }) => {
                let before = bytes.len();
                ends.extend(other.into_iter().map(|end| before + end));
                bytes.extend(more);
            }
            _ => {}
        }
    }

    /// Adds a string to a column of strings.
    pub fn push_string(&mut self, text: &[u8]) {
        if let Values::Strings { ends, bytes } = self {
            bytes.extend_from_slice(text);
            ends.push(bytes.len());
        }
    }
}

/// Repeats the last string once.
fn again(ends: &mut Vec<usize>, bytes: &mut Vec<u8>) {
    let Some((last, before)) = ends.split_last() else { return };
    bytes.extend_from_within(before.last().copied().unwrap_or(0)..*last);
    ends.push(bytes.len());
}

/// Borrowed values.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    Int(&'a [i64]),
    Real(&'a [f64]),
    Text {
        width: usize,
        bytes: &'a [u8],
    },
    /// The first string begins at `from`.
    Strings {
        from: usize,
        ends: &'a [usize],
        bytes: &'a [u8],
    },
}

impl<'a> View<'a> {
    /// A range of rows; None if there are fewer.
    #[must_use]
    pub fn part(self, rows: &Range<usize>) -> Self {
        match self {
            View::Int(v) => View::Int(v.get(rows.clone()).unwrap_or_default()),
            View::Real(v) => View::Real(v.get(rows.clone()).unwrap_or_default()),
            View::Text { width, bytes } => {
                View::Text { width, bytes: bytes.get(rows.start * width..rows.end * width).unwrap_or_default() }
            }
            View::Strings { from, ends, bytes } => {
                let first = rows.start.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(from);
                View::Strings { from: first, ends: ends.get(rows.clone()).unwrap_or_default(), bytes }
            }
        }
    }

    /// The text of a row without its padding; empty for a column of numbers.
    #[inline]
    pub fn text(self, row: usize) -> &'a [u8] {
        match self {
            View::Text { width, bytes } => {
                let field = &bytes[row * width..(row + 1) * width];
                &field[..field.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1)]
            }
            View::Strings { from, ends, bytes } => &bytes[if row == 0 { from } else { ends[row - 1] }..ends[row]],
            _ => b"",
        }
    }
}

impl View<'_> {
    pub fn len(&self) -> usize {
        match self {
            View::Int(v) => v.len(),
            View::Real(v) => v.len(),
            View::Text { width, bytes } => bytes.len().checked_div(*width).unwrap_or(0),
            View::Strings { ends, .. } => ends.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the value of a row equals that of the previous row, bit for bit.
    #[inline]
    pub(crate) fn same(&self, row: usize) -> bool {
        row > 0
            && match self {
                View::Int(v) => v[row] == v[row - 1],
                View::Real(v) => v[row].to_bits() == v[row - 1].to_bits(),
                View::Text { width, bytes } => {
                    bytes[row * width..(row + 1) * width] == bytes[(row - 1) * width..row * width]
                }
                View::Strings { .. } => self.text(row) == self.text(row - 1),
            }
    }

    /// Whether all of `rows` have the same value.
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
            View::Strings { .. } => (rows.start + 1..rows.end).all(|row| self.same(row)),
        }
    }
}

/// Without a branch per value, so that several are compared at once.
#[inline]
fn all_as_first<T>(values: &[T], bits: impl Fn(&T) -> u64) -> bool {
    let Some(first) = values.first().map(&bits) else { return true };
    values.iter().fold(0, |other, value| other | (bits(value) ^ first)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Values {
        let mut values = Values::Strings { ends: Vec::new(), bytes: Vec::new() };
        texts.iter().for_each(|text| values.push_string(text.as_bytes()));
        values
    }

    #[test]
    fn strings_are_cut_joined_and_repeated_as_padded_texts_are() {
        let mut values = strings(&["one", "", "three"]);
        values.skip(1);
        assert_eq!(values, strings(&["", "three"]));
        values.append(strings(&["x", "yy"]));
        values.repeat();
        assert_eq!(values, strings(&["", "three", "x", "yy", "yy"]));
        values.truncate(3);
        values.fill(5);
        assert_eq!(values, strings(&["", "three", "x", "x", "x"]));
        let part = values.view().part(&(1..5));
        assert_eq!((part.len(), part.text(0), part.text(3)), (4, &b"three"[..], &b"x"[..]));
        assert!(part.same(2) && !part.same(1) && part.constant(1..4) && !part.constant(0..4));
        values.skip(9);
        assert!(values.is_empty());
        values.truncate(0);
        assert!(values.view().part(&(0..1)).is_empty());
    }
}
