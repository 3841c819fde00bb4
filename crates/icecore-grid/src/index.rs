//! Index of one axis, before it is applied to an array's shape.

/// One entry of a selection, as in NumPy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Index {
    /// One element; negative counts from the end. The axis disappears from the result.
    At(i64),
    /// `start:stop:step` with Python's defaults and clipping; any step but 0.
    Slice {
        /// First element.
        start: Option<i64>,
        /// End, excluded.
        stop: Option<i64>,
        /// Distance between elements; negative runs backwards.
        step: Option<i64>,
    },
    /// An n-d array of positions, in C order; negative ones count from the end.
    List {
        /// Shape of the array.
        shape: Vec<u64>,
        /// Its elements.
        values: Vec<i64>,
    },
    /// An n-d boolean array that covers n axes; true selects an element.
    Mask {
        /// Shape of the array, equal to that of the axes it covers.
        shape: Vec<u64>,
        /// Its elements in C order.
        values: Vec<bool>,
    },
    /// Ellipsis: all of each axis that no other entry covers.
    Ellipsis,
}

impl Index {
    /// `:`, the whole axis.
    pub const ALL: Self = Self::Slice { start: None, stop: None, step: None };

    /// A one-dimensional list.
    #[must_use]
    pub fn list(values: Vec<i64>) -> Self {
        Self::List { shape: vec![values.len() as u64], values }
    }

    /// A one-dimensional mask.
    #[must_use]
    pub fn mask(values: Vec<bool>) -> Self {
        Self::Mask { shape: vec![values.len() as u64], values }
    }
}

/// Meaning of several lists in one selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Lists are broadcast together and indexed in parallel; the result axes are in the positions that NumPy gives
    /// them.
    #[default]
    Numpy,
    /// Each list selects along its own axis, independently (outer indexing).
    Orthogonal,
}
