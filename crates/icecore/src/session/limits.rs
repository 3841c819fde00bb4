//! Limits of a session.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::read::ReadOptions;

/// How much a session may keep and a read may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Arrays whose reference tables stay open.
    pub arrays: usize,
    /// Bytes of decoded elements that one block of a selection aims at.
    pub block: u64,
    /// Bytes that a block may have where it saves decoding chunks twice.
    pub largest_block: u64,
    /// Bytes of fetched data in flight, a read.
    pub fetched: u64,
    /// Requests to remote stores in flight, a read.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { arrays: 4096, block: 4 << 20, largest_block: 64 << 20, fetched: 64 << 20, concurrency: 64 }
    }
}

impl Limits {
    pub(super) fn options(&self, cancel: Option<Arc<AtomicBool>>) -> ReadOptions {
        ReadOptions { memory: self.fetched, concurrency: self.concurrency, cancel, ..ReadOptions::default() }
    }
}
