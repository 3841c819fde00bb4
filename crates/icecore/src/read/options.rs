//! How to read: one plain struct with defaults.

use crate::store::Wrap;

/// Options of a read.
#[derive(Clone)]
pub struct ReadOptions {
    /// Bytes of fetched data that may be in flight at once; a single larger request still goes through alone.
    pub memory: u64,
    /// Requests to remote stores that may be in flight at once.
    pub concurrency: usize,
    /// Keep decoded chunks that were needed in part.
    pub cache: bool,
    /// Put in front of every source: counts and faults of the tests.
    pub wrap: Option<Wrap>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { memory: 64 << 20, concurrency: 64, cache: true, wrap: None }
    }
}
