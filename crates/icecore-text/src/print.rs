//! Printer: columns and escapes → the original text.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use rayon::prelude::*;

use crate::cells::ends;
use crate::escapes::Escapes;
use crate::fixed_width::Fixed;
use crate::format::{Format, Layout};
use crate::grid::print::Printer;
use crate::grid::{Grid, STRIP};
use crate::trimmed;
use crate::values::View;

/// Minimum number of rows per thread.
const SHARE: usize = 1 << 12;

/// Bytes that are printed before they are compared.
const NEAR: usize = 1 << 16;

/// Rows for which memory is reserved before the length of any row is known.
const MANY: usize = 512;

/// The text of all rows, in consecutive parts, printed on all threads of the current pool.
///
/// # Errors
/// `Corrupt` if columns, escapes and format don't belong together.
pub fn print(format: &Format, columns: &[View<'_>], escapes: &Escapes) -> Result<Vec<Vec<u8>>> {
    match trimmed::plain(format) {
        Some(plain) => trimmed::print(&plain, columns, escapes, print_full),
        None => print_full(format, columns, escapes),
    }
}

/// The same for rows without trimmed ends.
pub(crate) fn print_full(format: &Format, columns: &[View<'_>], escapes: &Escapes) -> Result<Vec<Vec<u8>>> {
    let rows = escapes.rows as usize;
    if columns.len() != format.columns.len() || columns.iter().any(|c| c.len() != rows) {
        let message =
            format!("{} columns for a print format of {} with {rows} rows", columns.len(), format.columns.len());
        return Err(Error::new(ErrorKind::Corrupt, message).hint("icecore verify --deep names the damaged objects"));
    }
    let count = (rows / SHARE).clamp(1, rayon::current_num_threads());
    let ranges: Vec<Range<usize>> = (0..count).map(|i| rows * i / count..rows * (i + 1) / count).collect();
    let job = Job { format, fixed: Fixed::of(format), columns, escapes };
    let mut parts: Vec<Vec<u8>> = ranges.into_par_iter().map(|range| job.part(range)).collect::<Result<_>>()?;
    if let Some(last) = parts.last_mut() {
        job.behind(rows, last);
    }
    Ok(parts)
}

/// Rows, with their text and that of the lines around them.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub rows: Range<usize>,
    pub text: Range<usize>,
}

/// Whether stretches of `text` equal the printed rows. Only a little is printed at a time, so that it stays in the
/// first-level cache.
///
/// # Errors
/// If a value can't be printed at all.
pub(crate) fn prints(
    format: &Format,
    columns: &[View<'_>],
    escapes: &Escapes,
    stretches: &[Stretch],
    text: &[u8],
) -> Result<bool> {
    if stretches.is_empty() {
        return Ok(true);
    }
    let job = Job { format, fixed: Fixed::of(format), columns, escapes };
    let grid = Grid::of(format);
    let mut printer = grid.as_ref().map(|grid| Printer::new(grid, columns, escapes));
    let mut out = Vec::new();
    for Stretch { rows, text: place } in stretches {
        let (mut rest, mut same) = (text.get(place.clone()).unwrap_or_default(), true);
        out.clear();
        job.strips(rows.clone(), printer.as_mut(), &mut out, |next, out| {
            if next < rows.end && out.len() >= NEAR {
                let (head, tail) = rest.split_at_checked(out.len()).unwrap_or_default();
                same &= head == out.as_slice();
                rest = tail;
                out.clear();
            }
        })?;
        job.behind(rows.end, &mut out);
        if !same || rest != out.as_slice() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The previous row: its start in the text, and the relative ends of its cells.
#[derive(Default)]
struct Before {
    start: Option<usize>,
    ends: Vec<usize>,
    special: Vec<u16>,
}

impl Before {
    /// Adds the columns with an escape in this or the previous row to the changed columns: an escaped cell says nothing
    /// about the next one, even if their values are equal. Without a previous row all columns have changed.
    fn note(&mut self, special: &[(u32, u16, u32)], changed: &mut [u64]) {
        if self.start.is_none() {
            (0..self.ends.len()).for_each(|i| changed[i / 64] |= 1 << (i % 64));
        }
        let now = special.iter().map(|(_, column, _)| *column).filter(|column| usize::from(*column) < self.ends.len());
        for column in self.special.drain(..).chain(now.clone()) {
            changed[column as usize / 64] |= 1 << (column % 64);
        }
        self.special.extend(now);
    }

    /// Copies the cells `which` of the previous row (the first began at `from`), with their separators, into
    /// the row that begins at `start`.
    #[inline]
    fn copy(&mut self, which: Range<usize>, from: usize, start: usize, out: &mut Vec<u8>) {
        let (Some(row), Some(end)) = (self.start, which.end.checked_sub(1).map(|last| self.ends[last] + 1)) else {
            return;
        };
        if which.is_empty() {
            return;
        }
        let at = out.len() - start;
        out.extend_from_within(row + from..row + end);
        if at != from {
            self.ends[which].iter_mut().for_each(|cell| *cell = *cell + at - from);
        }
    }
}

/// The indexes of the set bits.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(i, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (bit < 64).then_some(i * 64 + bit)
        })
    })
}

struct Job<'a> {
    format: &'a Format,
    fixed: Option<Fixed>,
    columns: &'a [View<'a>],
    escapes: &'a Escapes,
}

impl<'a> Job<'a> {
    fn lacking(&self) -> usize {
        if self.escapes.rows == 0 { 0 } else { self.escapes.missing as usize }
    }

    /// The lines before rows `from` to `to`.
    fn lines(&self, from: usize, to: usize) -> &'a [(u32, Vec<u8>)] {
        let lines = &self.escapes.lines;
        let at = |row: usize| lines.partition_point(|(before, _)| (*before as usize) < row);
        lines.get(at(from)..at(to)).unwrap_or_default()
    }

    fn part(&self, rows: Range<usize>) -> Result<Vec<u8>> {
        let (first, count) = (rows.start, rows.len());
        let mut out = Vec::with_capacity(self.room(0, 0, count));
        let grid = Grid::of(self.format);
        let mut printer = grid.as_ref().map(|grid| Printer::new(grid, self.columns, self.escapes));
        self.strips(rows, printer.as_mut(), &mut out, |next, out| {
            out.reserve(self.room(out.len(), next - first, count))
        })?;
        Ok(out)
    }

    /// Appends rows to `out`, and calls `after` with the number of the next row; `after` may empty `out`.
    fn strips(
        &self,
        rows: Range<usize>,
        mut printer: Option<&mut Printer<'_>>,
        out: &mut Vec<u8>,
        mut after: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<()> {
        let mut before = Before { ends: vec![0; self.columns.len()], ..Before::default() };
        for first in rows.clone().step_by(STRIP) {
            let strip = first..rows.end.min(first + STRIP);
            if !self.columned(printer.as_deref_mut(), strip.clone(), out) {
                self.strip(strip.clone(), &mut before, out)?;
            } else {
                before.start = None;
            }
            after(strip.end, out);
            if out.is_empty() {
                before.start = None;
            }
        }
        Ok(())
    }

    /// Appends rows column by column; false (and nothing is appended) if they don't have equal lengths.
    fn columned(&self, printer: Option<&mut Printer<'_>>, strip: Range<usize>, out: &mut Vec<u8>) -> bool {
        let Some(printer) = printer.filter(|_| self.lines(strip.start + 1, strip.end).is_empty()) else { return false };
        let start = out.len();
        self.lines(strip.start, strip.start + 1).iter().for_each(|(_, line)| out.extend_from_slice(line));
        let special = self.special(strip.clone());
        let done = printer.strip(strip, special, out);
        if !done {
            out.truncate(start);
        }
        done
    }

    /// Appends the lines that follow row `end - 1`; first it truncates the last row's line end if required.
    fn behind(&self, end: usize, out: &mut Vec<u8>) {
        if end == self.escapes.rows as usize {
            out.truncate(out.len().saturating_sub(self.lacking()));
        }
        self.lines(end, end + 1).iter().for_each(|(_, line)| out.extend_from_slice(line));
    }

    /// The escapes of some rows.
    fn special(&self, rows: Range<usize>) -> &'a [(u32, u16, u32)] {
        let cells = &self.escapes.cells;
        let at = |row: usize| cells.partition_point(|(at, _, _)| (*at as usize) < row);
        cells.get(at(rows.start)..at(rows.end)).unwrap_or_default()
    }

    /// Rows of any length, one after another.
    fn strip(&self, rows: Range<usize>, before: &mut Before, out: &mut Vec<u8>) -> Result<()> {
        let mut lines = self.lines(rows.start, rows.end).iter().peekable();
        let cells = self.special(rows.clone());
        let mut changed = self.changed(rows.clone());
        let mut escaped = 0;
        for (row, changed) in rows.zip(changed.chunks_exact_mut(self.words())) {
            while let Some((_, line)) = lines.next_if(|(at, _)| *at as usize == row) {
                out.extend_from_slice(line);
            }
            let from = escaped;
            while cells.get(escaped).is_some_and(|(at, _, _)| *at as usize == row) {
                escaped += 1;
            }
            let special = cells.get(from..escaped).unwrap_or_default();
            before.note(special, changed);
            match &self.format.layout {
                Layout::Fixed { template, cells, .. } => {
                    self.fixed(template, cells, row, special, changed, before, out)?
                }
                Layout::Delimited { separator, .. } => {
                    self.delimited(*separator as u8, row, special, changed, before, out)?
                }
            }
        }
        Ok(())
    }

    /// Estimated bytes of the rest of `rows`, from the `done` ones. Reserving them at once avoids repeated moves.
    fn room(&self, bytes: usize, done: usize, rows: usize) -> usize {
        match &self.format.layout {
            _ if done > 0 => (bytes / done + 1) * (rows - done),
            Layout::Fixed { template, .. } => template.len() * rows.min(MANY),
            Layout::Delimited { .. } => 0,
        }
    }

    /// Number of words in a row's set of columns.
    fn words(&self) -> usize {
        self.columns.len().div_ceil(64)
    }

    /// For each row, a bit set of the columns whose value differs from the previous row.
    fn changed(&self, rows: Range<usize>) -> Vec<u64> {
        let words = self.words();
        let mut sets = vec![0u64; rows.len() * words];
        for (c, values) in self.columns.iter().enumerate() {
            for row in rows.clone().filter(|row| !values.same(*row)) {
                sets[(row - rows.start) * words + c / 64] |= 1 << (c % 64);
            }
        }
        sets
    }

    /// Prints a row of fixed cells: a copy of the previous row (or the template) with its changed cells replaced.
    #[allow(clippy::too_many_arguments)] // one row's context
    fn fixed(
        &self,
        template: &[u8],
        fields: &[(u32, u32)],
        row: usize,
        special: &[(u32, u16, u32)],
        changed: &[u64],
        before: &mut Before,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        match before.start {
            Some(from) => out.extend_from_within(from..from + template.len()),
            None => out.extend_from_slice(template),
        }
        let end = out.len();
        let inside = |i: usize| self.fixed.as_ref().is_some_and(|fixed| fixed.inside[i]);
        for i in bits(changed).filter(|i| !inside(*i)) {
            let (at, length) = fields.get(i).copied().unwrap_or_default();
            self.cell(i, row, special, out)?;
            if out.len() - end != length as usize {
                return Err(self.unprintable(i, row));
            }
            out.copy_within(end.., start + at as usize);
            out.truncate(end);
        }
        for (i, free) in fields.iter().enumerate().skip(self.columns.len()) {
            let (from, to) = ends(*free);
            let text = special.iter().find(|(_, cell, _)| usize::from(*cell) == i).map(|(_, _, text)| *text as usize);
            let bytes = match text {
                Some(text) => self.escapes.texts.get(text).map(Vec::as_slice),
                None => template.get(from..to),
            };
            let place = out.get_mut(start + from..start + to);
            match (bytes, place) {
                (Some(bytes), Some(place)) if bytes.len() == place.len() => place.copy_from_slice(bytes),
                _ => return Err(unkept(row)),
            }
        }
        before.start = Some(start);
        Ok(())
    }

    /// Prints a row of separated cells: runs of unchanged cells are copied from the previous row.
    fn delimited(
        &self,
        separator: u8,
        row: usize,
        special: &[(u32, u16, u32)],
        changed: &[u64],
        before: &mut Before,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        let last = self.columns.len() - 1;
        let (mut next, mut from) = (0, 0);
        for i in bits(changed) {
            before.copy(next..i, from, start, out);
            from = before.ends[i] + 1;
            self.cell(i, row, special, out)?;
            before.ends[i] = out.len() - start;
            out.push(if i == last { b'\n' } else { separator });
            next = i + 1;
        }
        before.copy(next..last + 1, from, start, out);
        before.start = Some(start);
        Ok(())
    }

    #[inline]
    fn cell(&self, i: usize, row: usize, special: &[(u32, u16, u32)], out: &mut Vec<u8>) -> Result<()> {
        if let Some((_, _, text)) = special.iter().find(|(_, column, _)| *column as usize == i) {
            out.extend_from_slice(self.escapes.texts.get(*text as usize).ok_or_else(|| self.unprintable(i, row))?);
            return Ok(());
        }
        let printed = self.format.columns[i].print(self.columns[i], row, self.format.separator(), out);
        if printed { Ok(()) } else { Err(self.unprintable(i, row)) }
    }

    fn unprintable(&self, column: usize, row: usize) -> Error {
        let name = &self.format.columns[column].name;
        let message = format!("row {row} of column {name:?} holds a value that its print format has no room for");
        let hint = "the column was written over since the table was packed: restore an earlier version";
        Error::new(ErrorKind::Mismatch, message).hint(hint)
    }
}

fn unkept(row: usize) -> Error {
    let message =
        format!("the bytes of row {row} that belong to no column have another length than its row has room for");
    Error::new(ErrorKind::Corrupt, message).hint("icecore verify --deep names the damaged objects")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{Hint, infer_style};
    use crate::parse::parse;

    #[test]
    fn another_text_is_told_apart() {
        let text: Vec<u8> = (0..20_000).flat_map(|i| format!("{:>6},{:>9}\n", i, i * 7).into_bytes()).collect();
        let column = |cell: &[u8]| infer_style("n", &[cell], Hint::Number, false, None, b',');
        let layout = Layout::Delimited { separator: ',', quotes: true, multiline: false };
        let format = Format { layout, columns: vec![column(b"     1"), column(b"        7")] };
        let parsed = parse(&format, &text, true).unwrap();
        let views: Vec<_> = parsed.columns.iter().map(|values| values.view()).collect();
        let same = |text: &[u8]| {
            let whole = [Stretch { rows: 0..20_000, text: 0..text.len() }];
            prints(&format, &views, &parsed.escapes, &whole, text).unwrap()
        };
        assert!(same(&text));
        assert!(!same(&text[..text.len() - 1]) && !same(&[&text[..], b"\n"].concat()));
        for at in [5, text.len() / 2, text.len() - 2] {
            let mut other = text.clone();
            other[at] ^= 1;
            assert!(!same(&other));
        }
    }
}
