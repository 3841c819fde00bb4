//! Options of a read: one plain struct with defaults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icecore_grid::{Error, ErrorKind, Result};

use super::Precision;
use crate::cancel;
use crate::store::Wrap;

/// Options of a read.
#[derive(Clone)]
pub struct ReadOptions {
    /// Maximum bytes of fetched data in flight; a single larger request is still made alone.
    pub memory: u64,
    /// Maximum number of requests to remote stores in flight.
    pub concurrency: usize,
    /// Whether to cache decoded chunks that were needed in part.
    pub cache: bool,
    /// Wraps every source: for the counters and faults of tests.
    pub wrap: Option<Wrap>,
    /// Required precision of floating-point numbers.
    pub precision: Precision,
    /// When set, the read ends early with `interrupted`; by default the flag of the thread's work.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl ReadOptions {
    /// `interrupted` if the read was cancelled.
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
        Self {
            memory: 128 << 20,
            concurrency: 64,
            cache: true,
            wrap: None,
            precision: Precision::Exact,
            cancel: cancel::current(),
        }
    }
}
