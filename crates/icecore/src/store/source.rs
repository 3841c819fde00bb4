//! One object, local or remote.

use std::sync::Arc;

use super::{LocalFile, RangeGet};

/// One object that can be read by byte range.
#[derive(Clone)]
pub enum Source {
    /// Read by the decoding threads themselves: a system call is cheaper than passing bytes between threads.
    Local(Arc<LocalFile>),
    /// Fetched ahead of the decoding threads, many requests at a time.
    Remote(Arc<dyn RangeGet>),
}

impl Source {
    /// Name for messages: a path or a URL.
    pub fn name(&self) -> &str {
        match self {
            Self::Local(file) => file.name(),
            Self::Remote(object) => object.name(),
        }
    }
}
