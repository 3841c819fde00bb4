//! A batch of a scan: some rows of the chosen columns.

use std::sync::Arc;

/// Elements of one column.
#[derive(Debug, Default)]
pub struct Elements {
    /// Native order; views into `blobs` for strings of variable length.
    pub bytes: Vec<u8>,
    pub blobs: Vec<Arc<[u8]>>,
}

/// Rows in the table's order; columns in the requested order.
#[derive(Debug, Default)]
pub struct Batch {
    pub rows: usize,
    pub columns: Vec<Elements>,
}
