//! A table: arrays of equal length, with one or several values per row.

use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Result};
use icecore_where::{ColumnType, Expression, Filter};
use once_cell::race::OnceBox;

use super::column::Column;
use super::zones::{self, Zones};
use crate::read::ReadOptions;

/// Columns of equal length.
pub struct Table {
    columns: Vec<Column>,
    rows: u64,
    /// Set without a lock, because a forked child could inherit a locked lock.
    zones: Vec<OnceBox<Option<Arc<Zones>>>>,
}

impl Table {
    /// # Errors
    /// `mismatch` if an array is not a column of one or several values per row, or if lengths differ; `invalid` without
    /// columns.
    pub fn new(columns: Vec<Column>) -> Result<Self> {
        let mut rows = None;
        for column in &columns {
            let shape = &column.view.meta().shape;
            let length = match (shape.as_slice(), column.item) {
                ([length], None) => length,
                ([length, items], item) if item.unwrap_or(0) < *items => length,
                (_, item) => {
                    let item = item.map_or_else(String::new, |item| format!(", which has no item {item}"));
                    let message = format!(
                        "{} has shape {shape:?}{item}; a table's column has one value or some a row",
                        column.view.path()
                    );
                    return Err(Error::new(ErrorKind::Mismatch, message));
                }
            };
            match rows {
                None => rows = Some(*length),
                Some(rows) if rows != *length => {
                    let first = columns.first().map_or("", |c| c.view.path());
                    let message = format!("{} has {length} rows, {first} has {rows}", column.view.path());
                    return Err(Error::new(ErrorKind::Mismatch, message));
                }
                Some(_) => {}
            }
        }
        let rows = rows.ok_or_else(|| Error::new(ErrorKind::Invalid, "a table without columns"))?;
        let zones = columns.iter().map(|_| OnceBox::new()).collect();
        Ok(Self { columns, rows, zones })
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn column(&self, number: usize) -> Result<&Column> {
        self.columns.get(number).ok_or_else(|| {
            Error::new(ErrorKind::Internal, format!("column {number} of a table of {} columns", self.columns.len()))
        })
    }

    /// The summary of a column, if one exists and is not outdated; loaded once.
    pub(crate) fn zones(&self, number: usize, options: &ReadOptions) -> Result<Option<Arc<Zones>>> {
        let Some(slot) = self.zones.get(number) else { return Ok(None) };
        if let Some(zones) = slot.get() {
            return Ok(zones.clone());
        }
        let zones = zones::load(self.column(number)?, options)?.map(Arc::new);
        Ok(slot.get_or_init(|| Box::new(zones)).clone())
    }

    /// A where-clause on this table's columns.
    ///
    /// # Errors
    /// See [`icecore_where::filter`].
    pub fn filter(&self, clause: &str) -> Result<Filter> {
        let filter = icecore_where::filter(clause, &self.types())?;
        self.single(&filter.columns)?;
        Ok(filter)
    }

    /// An expression of this table's columns.
    ///
    /// # Errors
    /// See [`icecore_where::expression`].
    pub fn expression(&self, text: &str) -> Result<Expression> {
        let expression = icecore_where::expression(text, &self.types())?;
        self.single(&expression.columns)?;
        Ok(expression)
    }

    fn types(&self) -> Vec<ColumnType> {
        let of = |c: &Column| ColumnType { name: c.name.clone(), dtype: c.dtype().clone(), epoch: c.epoch };
        self.columns.iter().map(of).collect()
    }

    /// Rejects columns of several values per row.
    fn single(&self, columns: &[usize]) -> Result<()> {
        match columns.iter().filter_map(|c| self.columns.get(*c)).find(|c| c.width() != 1) {
            None => Ok(()),
            Some(c) => Err(Error::new(ErrorKind::Dtype, format!("{} has {} values per row", c.name, c.width()))
                .hint(format!("name one of them: {}[0]", c.name))),
        }
    }
}
