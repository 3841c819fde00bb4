//! How to read: one plain struct with defaults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icecore_grid::{Error, ErrorKind, Result};

use super::Precision;
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
    /// How precise floating-point numbers must be.
    pub precision: Precision,
    /// Set it to end the read early, with `interrupted`.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl ReadOptions {
    /// `interrupted` once the read was cancelled.
    pub(crate) fn go_on(&self) -> Result<()> {
        match &self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorKind::Interrupted, "the read was interrupted"))
            }
            _ => Ok(()),
        }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { memory: 128 << 20, concurrency: 64, cache: true, wrap: None, precision: Precision::Exact, cancel: None }
    }
}
