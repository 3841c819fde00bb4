//! table: append blocks of a table's rows, column by column, to its arrays.

use icecore_chunk::crc32c;
use icecore_grid::{Error, ErrorKind, Result};
use icecore_text::{NO_UNSIGNED, View};

use super::data::Data;
use super::pipeline::Writing;
use super::rows::Rows;

/// The columns of a growing table.
pub struct TableRows {
    columns: Vec<Column>,
}

struct Column {
    rows: Rows,
    /// The CRC-32C of the appended elements.
    sum: u32,
}

impl TableRows {
    /// A table of these columns.
    #[must_use]
    pub fn new(columns: Vec<Rows>) -> Self {
        Self { columns: columns.into_iter().map(|rows| Column { rows, sum: 0 }).collect() }
    }

    /// Appends a block to all columns; returns for each column whether any of its integers is the null value.
    ///
    /// # Errors
    /// `internal` if the columns, or the sizes of their elements, do not match; the errors of [`Rows::send_full`].
    pub fn append(&mut self, writing: &Writing, block: &[View<'_>]) -> Result<Vec<bool>> {
        if block.len() != self.columns.len() {
            let message = format!("a block of {} columns for a table of {}", block.len(), self.columns.len());
            return Err(Error::new(ErrorKind::Internal, message));
        }
        self.columns.iter_mut().zip(block).map(|(column, values)| column.append(writing, *values)).collect()
    }

    /// Appends elements of one column, in the form of its array.
    ///
    /// # Errors
    /// As [`TableRows::append`].
    pub fn append_elements(&mut self, writing: &Writing, column: usize, elements: &Data) -> Result<()> {
        let Some(column) = self.columns.get_mut(column) else {
            return Err(Error::new(ErrorKind::Internal, format!("a table without a column of number {column}")));
        };
        let values = match elements {
            Data::Fixed(bytes) => View::Text { width: column.rows.width(), bytes: (**bytes).as_ref() },
            Data::Variable { blob, ends } => View::Strings { from: 0, ends, bytes: blob },
        };
        column.append(writing, values).map(|_| ())
    }

    /// For each column, the CRC-32C of the elements appended since the last call.
    pub fn sums(&mut self) -> Vec<u32> {
        self.columns.iter_mut().map(|column| std::mem::take(&mut column.sum)).collect()
    }

    /// Flushes the rest; the arrays must have their new length before the chunks are registered.
    ///
    /// # Errors
    /// As [`Rows::finish`].
    pub fn finish(&mut self, writing: &Writing) -> Result<()> {
        self.columns.iter_mut().try_for_each(|column| column.rows.finish(writing))
    }
}

impl Column {
    /// Whether any of the values is the null value.
    fn append(&mut self, writing: &Writing, values: View<'_>) -> Result<bool> {
        let (mut at, mut blank, unsigned) = (0, false, self.rows.unsigned());
        while at < values.len() {
            let count = self.rows.room().min(values.len() - at);
            if let (View::Strings { .. }, Some((ends, blob))) = (values, self.rows.strings()) {
                for row in at..at + count {
                    let text = values.text(row);
                    blob.extend_from_slice(text);
                    ends.push(blob.len());
                    self.sum = string_sum(self.sum, text);
                }
            } else {
                let width = self.rows.width();
                let waiting = self.rows.waiting();
                let before = waiting.len();
                let least = values.put(at..at + count, width, waiting)?;
                blank |= match (values, unsigned) {
                    (View::Int(values), true) => values[at..at + count].contains(&NO_UNSIGNED.cast_signed()),
                    _ => least,
                };
                self.sum = crc32c(self.sum, &waiting[before..]);
            }
            at += count;
            self.rows.send_full(writing)?;
        }
        Ok(blank)
    }
}

/// The CRC-32C of strings including their lengths, continued from `before`.
pub(crate) fn string_sum(before: u32, text: &[u8]) -> u32 {
    crc32c(crc32c(before, &(text.len() as u64).to_le_bytes()), text)
}
