//! Escapes: cells that are printed differently from their column's style, and lines that are not rows.

use std::collections::HashMap;

use icecore_grid::{Error, ErrorKind, Result};

/// The escapes of a stretch of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Escapes {
    /// Number of rows in the stretch.
    pub rows: u32,
    /// Number of missing bytes of the last row's line end.
    pub missing: u8,
    /// Distinct texts of cells.
    pub texts: Vec<Vec<u8>>,
    /// (row, column, index of the text), sorted by row and column.
    pub cells: Vec<(u32, u16, u32)>,
    /// (the row that it precedes, its bytes), in order.
    pub lines: Vec<(u32, Vec<u8>)>,
}

/// Texts and their indexes while escapes are collected.
#[derive(Default)]
pub(crate) struct Gather {
    pub escapes: Escapes,
    known: HashMap<Vec<u8>, u32>,
}

impl Gather {
    pub fn text(&mut self, cell: &[u8]) -> u32 {
        if let Some(id) = self.known.get(cell) {
            return *id;
        }
        let id = self.escapes.texts.len() as u32;
        self.escapes.texts.push(cell.to_vec());
        self.known.insert(cell.to_vec(), id);
        id
    }

    /// Appends the escapes of the following rows.
    pub fn append(&mut self, other: Escapes) {
        let (rows, texts) = (self.escapes.rows, other.texts);
        for (row, column, text) in other.cells {
            let id = self.text(texts.get(text as usize).map_or(&[][..], Vec::as_slice));
            self.escapes.cells.push((rows + row, column, id));
        }
        self.escapes.lines.extend(other.lines.into_iter().map(|(row, line)| (rows + row, line)));
        self.escapes.rows += other.rows;
        self.escapes.missing = other.missing;
    }
}

fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

struct Reader<'a> {
    rest: &'a [u8],
}

fn bad(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the escapes of a text table are damaged: {what}"))
        .hint("icecore verify --deep names the damaged objects")
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..63).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or_else(|| bad("a number is cut off"))?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(bad("a number is too long"))
    }

    fn small(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| bad("a number is too large"))
    }

    /// A count of items that take at least one byte each.
    fn count(&mut self) -> Result<usize> {
        let count = self.number()? as usize;
        if count > self.rest.len() { Err(bad("it counts more than it holds")) } else { Ok(count) }
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| bad("a text is cut off"))?;
        self.rest = rest;
        Ok(bytes)
    }
}

impl Escapes {
    /// The stored form, see `docs/format.md`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(u64::from(self.rows), &mut out);
        put(u64::from(self.missing), &mut out);
        put(self.texts.len() as u64, &mut out);
        for text in &self.texts {
            put(text.len() as u64, &mut out);
            out.extend_from_slice(text);
        }
        let mut by_column = self.cells.clone();
        by_column.sort_by_key(|(row, column, _)| (*column, *row));
        let runs: Vec<&[(u32, u16, u32)]> = by_column.chunk_by(|a, b| a.1 == b.1).collect();
        put(runs.len() as u64, &mut out);
        for run in runs {
            put(u64::from(run.first().map_or(0, |c| c.1)), &mut out);
            put(run.len() as u64, &mut out);
            let mut before = 0;
            for (row, _, _) in run {
                put(u64::from(row - before), &mut out);
                before = *row;
            }
            run.iter().for_each(|(_, _, text)| put(u64::from(*text), &mut out));
        }
        put(self.lines.len() as u64, &mut out);
        let mut before = 0;
        for (row, line) in &self.lines {
            put(u64::from(row - before), &mut out);
            before = *row;
            put(line.len() as u64, &mut out);
            out.extend_from_slice(line);
        }
        out
    }

    /// Reads the first escapes of `stored`, and returns the number of bytes that they take.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode(stored: &[u8]) -> Result<(Escapes, usize)> {
        let mut reader = Reader { rest: stored };
        let rows = reader.small()?;
        let missing = u8::try_from(reader.number()?).map_err(|_| bad("a number is too large"))?;
        let count = reader.count()?;
        let texts = (0..count).map(|_| reader.bytes().map(<[u8]>::to_vec)).collect::<Result<Vec<_>>>()?;
        let mut cells = Vec::new();
        for _ in 0..reader.count()? {
            column(&mut reader, rows, texts.len(), &mut cells)?;
        }
        cells.sort_unstable();
        let mut lines = Vec::new();
        let mut row = 0u32;
        for _ in 0..reader.count()? {
            row = row.checked_add(reader.small()?).filter(|r| *r <= rows).ok_or_else(|| bad("a line after the end"))?;
            lines.push((row, reader.bytes()?.to_vec()));
        }
        let escapes = Escapes { rows, missing, texts, cells, lines };
        Ok((escapes, stored.len() - reader.rest.len()))
    }
}

fn column(reader: &mut Reader, rows: u32, texts: usize, cells: &mut Vec<(u32, u16, u32)>) -> Result<()> {
    let column = u16::try_from(reader.number()?).map_err(|_| bad("a column is too large"))?;
    let count = reader.count()?;
    let first = cells.len();
    let mut row = 0u32;
    for _ in 0..count {
        row = row.checked_add(reader.small()?).filter(|r| *r < rows).ok_or_else(|| bad("a row after the end"))?;
        cells.push((row, column, 0));
    }
    for cell in cells.iter_mut().skip(first) {
        cell.2 = reader.small()?;
        if cell.2 as usize >= texts {
            return Err(bad("a text that is not there"));
        }
    }
    Ok(())
}
