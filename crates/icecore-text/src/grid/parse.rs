//! Parser of rows of equal length to columns.
//!
//! A number is accepted only if it prints the same: it is printed while its text is in registers, and doubles are
//! converted back to their printed form.

use crate::grid::{Grid, STRIP, Slot};
use crate::style::column::{Column, Fit};
use crate::style::digits::Digits;
use crate::style::number::{from_double, from_doubles, to_double, to_doubles};
use crate::values::Values;

/// Differences between the rows of a strip: for each byte of the row, the bits in which any row differs from the
/// previous one.
#[derive(Default)]
pub(crate) struct Changes {
    bits: Vec<u8>,
}

impl Changes {
    /// Compares rows of `length` bytes.
    fn find(&mut self, block: &[u8], length: usize) {
        self.bits.clear();
        self.bits.resize(length, 0);
        let rows = block.chunks_exact(length);
        for (before, row) in rows.clone().zip(rows.skip(1)) {
            self.bits.iter_mut().zip(before.iter().zip(row)).for_each(|(bits, (a, b))| *bits |= a ^ b);
        }
    }

    /// Whether all rows have the same bytes in a range.
    pub fn none(&self, start: usize, end: usize) -> bool {
        self.bits[start..end].iter().fold(0, |any, bits| any | bits) == 0
    }
}

impl Grid<'_> {
    /// Parses at most [`STRIP`] rows from `at` on, up to the first that the columns' styles would print differently,
    /// and returns their number. All `columns` must have the values of all earlier rows.
    pub fn parse(&self, text: &[u8], at: usize, columns: &mut [Values], changes: &mut Changes) -> usize {
        let length = self.line.len();
        let rows = (text.len().saturating_sub(at) / length).min(STRIP);
        let block = &text[at..at + rows * length];
        changes.find(block, length);
        let mut good = self.single_lines(block, self.framed_rows(block, changes));
        let before = columns.first().map_or(0, Values::len);
        for (slot, values) in self.slots.iter().zip(columns.iter_mut()) {
            if good == 0 {
                break;
            }
            // A cell that is equal in all rows is parsed once.
            let wanted = if changes.none(slot.start, slot.end) { 1 } else { good };
            let read = match (&slot.digits, &mut *values) {
                (Some(digits), Values::Int(v)) => {
                    let (found, exact) = numbers(slot, digits, text, (at, length, wanted));
                    let exact = first_not(&found[..exact], |k| slot.column.holds(*k));
                    v.extend_from_slice(&found[..exact]);
                    exact
                }
                (Some(digits), Values::Real(v)) => {
                    let (found, exact) = numbers(slot, digits, text, (at, length, wanted));
                    doubles(slot.column, &found[..exact], v)
                }
                (_, values) => self.others(slot, block, wanted, values),
            };
            if read < wanted {
                good = read;
            } else if wanted < good {
                values.fill(before + good);
            }
        }
        columns.iter_mut().for_each(|values| values.truncate(before + good));
        good
    }

    /// Number of leading rows, of the first `rows`, that are lines of their own: several short lines may be as long as a
    /// row.
    fn single_lines(&self, block: &[u8], rows: usize) -> usize {
        let length = self.line.len();
        let of_lines = self.line.last() == Some(&b'\n');
        // Sums of bytes: many are added at once.
        let count = |part: &[u8]| usize::from(part.iter().map(|b| u8::from(*b == b'\n')).sum::<u8>());
        let ends = block[..rows * length].chunks(192).map(count).sum::<usize>();
        if !of_lines || ends == rows {
            return rows;
        }
        let single = |row: &&[u8]| row.iter().filter(|b| **b == b'\n').count() == 1;
        block.chunks_exact(length).take(rows).take_while(single).count()
    }

    /// Number of leading rows that have all constant bytes.
    pub fn framed_rows(&self, block: &[u8], changes: &Changes) -> usize {
        let mut rows = block.chunks_exact(self.line.len());
        let changed = changes.bits.iter().zip(&self.mask).fold(0, |any, (bits, mask)| any | (bits & mask)) != 0;
        if !changed && rows.clone().next().is_some_and(|row| self.framed(row)) {
            return rows.len();
        }
        rows.by_ref().take_while(|row| self.framed(row)).count()
    }

    /// Whether a row has all constant bytes.
    #[inline]
    fn framed(&self, row: &[u8]) -> bool {
        let both = row.iter().zip(&self.line).zip(&self.mask);
        both.fold(0, |other, ((a, b), mask)| other | ((a ^ b) & mask)) == 0
    }

    /// Parses cells of any other kind with the column's generic parser; returns the number of exact ones.
    fn others(&self, slot: &Slot<'_>, block: &[u8], rows: usize, values: &mut Values) -> usize {
        let mut before: &[u8] = &[];
        for (row, line) in block.chunks_exact(self.line.len()).take(rows).enumerate() {
            let cell = &line[slot.start..slot.end];
            if row > 0 && same(cell, before) {
                values.repeat();
                continue;
            }
            // Quotes and separators are handled elsewhere.
            let odd = self.delimited && !slot.column.frame.body(cell).is_some_and(|body| self.plain(body));
            if odd || slot.column.read(cell, self.separator, values) != Fit::Exact {
                return row;
            }
            before = cell;
        }
        rows
    }

    fn plain(&self, body: &[u8]) -> bool {
        body.iter().all(|b| *b != self.separator && !matches!(b, b'"' | b'\n'))
    }
}

/// Parses numbers of at most [`STRIP`] rows from `at` on; returns the number of exact ones.
#[inline]
fn numbers(
    slot: &Slot<'_>,
    digits: &Digits,
    text: &[u8],
    (at, length, rows): (usize, usize, usize),
) -> ([i64; STRIP], usize) {
    let end = at + slot.body().1;
    let mut before: Option<(u128, i64)> = None;
    let mut found = [0; STRIP];
    for (row, place) in found.iter_mut().enumerate().take(rows) {
        let Some(cell) = digits.load(text, end + row * length) else { return (found, row) };
        let known = before.filter(|(then, _)| *then == cell).map(|(_, value)| value);
        let Some(value) = known.or_else(|| digits.exact(cell)) else { return (found, row) };
        *place = value;
        before = Some((cell, value));
    }
    (found, rows)
}

/// Appends the doubles of numbers up to the first that does not convert back; returns their number.
fn doubles(column: &Column, wholes: &[i64], values: &mut Vec<f64>) -> usize {
    let (mut found, mut again) = ([0.0; STRIP], [0; STRIP]);
    let (found, again) = (&mut found[..wholes.len()], &mut again[..wholes.len()]);
    let scale = column.scale;
    if to_doubles(wholes, scale, found) && from_doubles(found, scale, again) && again == wholes {
        values.extend_from_slice(found);
        return wholes.len();
    }
    let exact = |whole: &i64| to_double(*whole, scale).filter(|value| from_double(*value, scale) == Some(*whole));
    let before = values.len();
    values.extend(wholes.iter().map_while(exact));
    values.len() - before
}

/// Number of leading items for which the condition holds.
fn first_not<T>(values: &[T], holds: impl Fn(&T) -> bool) -> usize {
    values.iter().position(|value| !holds(value)).unwrap_or(values.len())
}

/// Whether two cells have the same bytes; short ones are compared as words.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    match (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a0), Some(a1), Some(b0), Some(b1)) if a.len() == b.len() && a.len() <= 16 => {
            u64::from_le_bytes(*a0) == u64::from_le_bytes(*b0) && u64::from_le_bytes(*a1) == u64::from_le_bytes(*b1)
        }
        _ => a == b,
    }
}
