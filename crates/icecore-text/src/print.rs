//! Columns and escapes → the text that they were.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use rayon::prelude::*;

use crate::column::Values;
use crate::escapes::Escapes;
use crate::format::{Format, Layout};

/// Rows that are worth a thread.
const SHARE: usize = 1 << 12;

/// The text of all rows, printed on all threads of the pool that it is called in.
///
/// # Errors
/// `Corrupt` where columns, escapes and format don't belong together.
pub fn print(format: &Format, columns: &[Values], escapes: &Escapes) -> Result<Vec<u8>> {
    let rows = escapes.rows as usize;
    if columns.len() != format.columns.len() || columns.iter().any(|c| c.len() != rows) {
        let message =
            format!("{} columns for a print format of {} with {rows} rows", columns.len(), format.columns.len());
        return Err(Error::new(ErrorKind::Corrupt, message).hint("icecore verify --deep names what is damaged"));
    }
    let count = (rows / SHARE).clamp(1, rayon::current_num_threads());
    let ranges: Vec<Range<usize>> = (0..count).map(|i| rows * i / count..rows * (i + 1) / count).collect();
    let job = Job { format, columns, escapes };
    let mut parts: Vec<Vec<u8>> = ranges.into_par_iter().map(|range| job.part(range)).collect::<Result<_>>()?;
    let mut text = if parts.len() == 1 { parts.swap_remove(0) } else { parts.concat() };
    text.truncate(text.len().saturating_sub(job.lacking()));
    for (_, line) in job.lines(rows, rows + 1) {
        text.extend_from_slice(line);
    }
    Ok(text)
}

struct Job<'a> {
    format: &'a Format,
    columns: &'a [Values],
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
        let mut lines = self.lines(rows.start, rows.end).iter().peekable();
        let cells = &self.escapes.cells;
        let mut escaped = cells.partition_point(|(row, _, _)| (*row as usize) < rows.start);
        let mut out = Vec::new();
        let mut before: Vec<Range<usize>> = Vec::new();
        for row in rows.clone() {
            while let Some((_, line)) = lines.next_if(|(at, _)| *at as usize == row) {
                out.extend_from_slice(line);
            }
            let from = escaped;
            while cells.get(escaped).is_some_and(|(at, _, _)| *at as usize == row) {
                escaped += 1;
            }
            let special = cells.get(from..escaped).unwrap_or_default();
            match &self.format.layout {
                Layout::Fixed { template, cells } => {
                    let repeat = (row > rows.start && before.len() == 1).then(|| before[0].clone());
                    let start = out.len();
                    self.fixed(template, cells, row, special, repeat, &mut out)?;
                    before.clear();
                    if special.is_empty() {
                        before.push(start..out.len());
                    }
                }
                Layout::Delimited { separator, .. } => {
                    self.delimited(*separator as u8, row, special, &mut before, &mut out)?
                }
            }
        }
        Ok(out)
    }

    /// A row of fixed cells: a copy of the row before (or of the template) in which what changed is printed anew.
    fn fixed(
        &self,
        template: &[u8],
        fields: &[(u32, u32)],
        row: usize,
        special: &[(u32, u16, u32)],
        repeat: Option<Range<usize>>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        let again = repeat.is_some();
        match repeat {
            Some(range) => out.extend_from_within(range),
            None => out.extend_from_slice(template),
        }
        let end = out.len();
        for (i, (at, length)) in fields.iter().enumerate() {
            let cell_special = special.iter().find(|(_, column, _)| *column as usize == i);
            if again && cell_special.is_none() && self.columns[i].repeats(row) {
                continue;
            }
            self.cell(i, row, cell_special, out)?;
            if out.len() - end != *length as usize {
                return Err(self.unprintable(i, row));
            }
            let to = start + *at as usize;
            out.copy_within(end.., to);
            out.truncate(end);
        }
        Ok(())
    }

    fn delimited(
        &self,
        separator: u8,
        row: usize,
        special: &[(u32, u16, u32)],
        before: &mut Vec<Range<usize>>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let first = before.is_empty();
        for i in 0..self.columns.len() {
            if i > 0 {
                out.push(separator);
            }
            let start = out.len();
            let cell_special = special.iter().find(|(_, column, _)| *column as usize == i);
            let old = before.get(i).cloned().filter(|old| !first && !old.is_empty());
            match old.filter(|_| cell_special.is_none() && self.columns[i].repeats(row)) {
                Some(range) => out.extend_from_within(range),
                None => self.cell(i, row, cell_special, out)?,
            }
            // An escaped cell says nothing about the next one, though their values be equal.
            let now = if cell_special.is_some() { 0..0 } else { start..out.len() };
            match before.get_mut(i) {
                Some(slot) => *slot = now,
                None => before.push(now),
            }
        }
        out.push(b'\n');
        Ok(())
    }

    #[inline]
    fn cell(&self, i: usize, row: usize, special: Option<&(u32, u16, u32)>, out: &mut Vec<u8>) -> Result<()> {
        if let Some((_, _, text)) = special {
            out.extend_from_slice(self.escapes.texts.get(*text as usize).ok_or_else(|| self.unprintable(i, row))?);
            return Ok(());
        }
        let printed = self.format.columns[i].print(&self.columns[i], row, self.format.separator(), out);
        if printed { Ok(()) } else { Err(self.unprintable(i, row)) }
    }

    fn unprintable(&self, column: usize, row: usize) -> Error {
        let name = &self.format.columns[column].name;
        let message = format!("row {row} of column {name:?} holds a value that its print format has no room for");
        Error::new(ErrorKind::Corrupt, message).hint("the column was changed since the table was packed")
    }
}
