//! The print format of a table: the layout of rows, and the columns.

use icecore_grid::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::cells::{ends, inside};
use crate::frame::is_false;
use crate::style::column::Column;

const MAX_COLUMNS: usize = 1 << 15;
const MAX_CELLS: usize = 1 << 16;
const MAX_ROW: usize = 1 << 24;

/// Layout of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Layout {
    /// All rows have the length of `template`, including the line end. Cells (start, length) replace parts of it: first
    /// the cells of columns, possibly inside an earlier one, then cells of varying bytes without a column.
    Fixed {
        #[serde(with = "bytes")]
        template: Vec<u8>,
        cells: Vec<(u32, u32)>,
        /// Spaces at the end of a row are not printed, except those recorded in an escape of the cell after all others.
        #[serde(default, skip_serializing_if = "is_false")]
        trimmed: bool,
        /// Of trimmed rows whose cells are counted in characters: the stretches of the template, each with its number of
        /// characters and of bytes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        characters: Vec<(u32, u32)>,
    },
    /// Cells with one separator between them (a blank: a run of blanks), a line feed after the last. With `quotes`,
    /// separators between double quotes are part of the cell; with `multiline`, line feeds too.
    Delimited { separator: char, quotes: bool, multiline: bool },
}

/// A table's print format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    pub layout: Layout,
    pub columns: Vec<Column>,
}

impl Format {
    /// Parses a format and checks it for consistency.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn parse(json: &str) -> Result<Format> {
        let format: Format =
            serde_json::from_str(json).map_err(|e| Error::new(ErrorKind::Corrupt, format!("no print format: {e}")))?;
        format.check()?;
        Ok(format)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        self.columns.iter().try_for_each(Column::check)?;
        if self.columns.is_empty() || self.columns.len() > MAX_COLUMNS {
            let message = format!("a print format of {} columns, not of 1 to {MAX_COLUMNS}", self.columns.len());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        match &self.layout {
            Layout::Delimited { separator, .. } if separator.is_ascii() && !matches!(separator, '\n' | '"') => Ok(()),
            Layout::Delimited { separator, .. } => {
                Err(Error::new(ErrorKind::Corrupt, format!("{separator:?} can't separate cells")))
            }
            Layout::Fixed { template, cells, trimmed, characters } => {
                let body = template.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |n| n + 1);
                let room = characters.iter().map(|(_, bytes)| *bytes as usize).sum::<usize>();
                let sound = *trimmed && room == body && characters.iter().all(|(count, bytes)| count <= bytes);
                if !characters.is_empty() && !sound {
                    let message = format!("stretches of {room} bytes for rows of {body}");
                    return Err(Error::new(ErrorKind::Corrupt, message));
                }
                if *trimmed && (template.last() != Some(&b'\n') || cells.len() >= usize::from(u16::MAX)) {
                    let message = "rows without spaces at their ends need line ends, and fewer cells".to_owned();
                    return Err(Error::new(ErrorKind::Corrupt, message));
                }
                self.check_cells(template.len(), cells)
            }
        }
    }

    fn check_cells(&self, row: usize, cells: &[(u32, u32)]) -> Result<()> {
        let end = cells.iter().map(|cell| ends(*cell).1).max().unwrap_or(0);
        let free = inside(cells).get(self.columns.len()..).is_some_and(|inside| !inside.contains(&true));
        if free && end <= row && row <= MAX_ROW && cells.len() <= MAX_CELLS {
            return Ok(());
        }
        let message =
            format!("{} cells up to byte {end} for {} columns in rows of {row} bytes", cells.len(), self.columns.len());
        Err(Error::new(ErrorKind::Corrupt, message).hint("bytes without a column must not overlap a column"))
    }

    pub(crate) fn separator(&self) -> u8 {
        match &self.layout {
            Layout::Delimited { separator, .. } => *separator as u8,
            Layout::Fixed { .. } => b',',
        }
    }
}
