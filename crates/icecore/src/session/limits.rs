//! Limits of a session.

use crate::read::ReadOptions;

/// Limits of a session's caches and reads.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Arrays whose reference tables stay open.
    pub arrays: usize,
    /// Target size of a block of a selection, in bytes of decoded elements.
    pub block: u64,
    /// Maximum size of a block in bytes, if the larger block avoids decoding chunks twice.
    pub largest_block: u64,
    /// Bytes of fetched data in flight per read.
    pub fetched: u64,
    /// Requests to remote stores in flight per read.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { arrays: 4096, block: 4 << 20, largest_block: 64 << 20, fetched: 64 << 20, concurrency: 64 }
    }
}

impl Limits {
    pub(super) fn options(&self) -> ReadOptions {
        ReadOptions { memory: self.fetched, concurrency: self.concurrency, ..ReadOptions::default() }
    }
}
