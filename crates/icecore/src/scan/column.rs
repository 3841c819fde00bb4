//! A column of a table: an array and the interpretation of its elements.

use std::sync::Arc;

use icecore_chunk::DType;
use icecore_grid::{Axis, Index};

use crate::read::ArrayView;

/// A column and its null values.
pub struct Column {
    pub name: String,
    pub view: Arc<ArrayView>,
    /// Elements that mean "no value" (`_FillValue`, `missing_value`), in native order; NaN and not-a-time always do.
    pub nulls: Vec<Vec<u8>>,
    /// See [`ColumnType`].
    pub epoch: Option<(f64, f64)>,
    /// For an array with a second axis: the index of the element to take from each row.
    pub item: Option<u64>,
}

impl Column {
    pub fn new(name: String, view: Arc<ArrayView>, nulls: Vec<Vec<u8>>, epoch: Option<(f64, f64)>) -> Self {
        Self { name, view, nulls, epoch, item: None }
    }

    /// One element of each row of an array with a second axis.
    #[must_use]
    pub fn of(self, item: Option<u64>) -> Self {
        Self { item, ..self }
    }

    /// Elements per row.
    pub(crate) fn width(&self) -> u64 {
        if self.item.is_some() { 1 } else { self.view.meta().shape.get(1).copied().unwrap_or(1) }
    }

    /// Bytes per row.
    pub(crate) fn row_size(&self) -> usize {
        self.dtype().size().saturating_mul(usize::try_from(self.width()).unwrap_or(usize::MAX))
    }

    /// A selection of this column's rows.
    pub(crate) fn indexes(&self, rows: Index) -> Vec<Index> {
        let item = self.item.map(|item| Index::At(item as i64)); // below 2⁶³, as all lengths
        std::iter::once(rows).chain(item).collect()
    }

    pub(crate) fn dtype(&self) -> &DType {
        &self.view.meta().dtype
    }

    pub(crate) fn is_time(&self) -> bool {
        matches!(self.dtype(), DType::DateTime64 { .. } | DType::TimeDelta64 { .. })
    }

    /// Rows of the largest chunk.
    pub(crate) fn chunk_rows(&self) -> u64 {
        match self.view.grid().axes.first() {
            Some(Axis::Regular { chunk, .. }) => *chunk,
            Some(Axis::Rectilinear { bounds, .. }) => {
                bounds.iter().zip(bounds.iter().skip(1)).map(|(a, b)| b - a).max().unwrap_or(1)
            }
            None => 1,
        }
    }
}
