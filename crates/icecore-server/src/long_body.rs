//! Bodies of writes that are too long for memory: received into a temporary file without a name, and written to the
//! dataset in pieces.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use axum::http::{HeaderMap, Method, header};
use icecore::grid::{Error, ErrorKind, Result};

use crate::app::Shared;

/// A received body. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LongBody {
    file: Arc<File>,
    pub length: u64,
}

impl LongBody {
    /// The length of a request's body that goes to a file: elements as bytes, of a known length, up to the operator's limit.
    pub fn length_of(app: &Shared, method: &Method, route: &str, headers: &HeaderMap, in_memory: usize) -> Option<u64> {
        let is_write = *method == Method::PUT && route == "/datasets/{id}/value" && app.config.writable;
        let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        if !is_write || !kind.starts_with(b"application/octet-stream") {
            return None;
        }
        let length: u64 = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
        (length > in_memory as u64 && length <= app.config.limits.written).then_some(length)
    }

    /// A file for a body.
    ///
    /// # Errors
    /// `io`.
    pub fn create(length: u64) -> Result<Self> {
        Ok(Self { file: Arc::new(tempfile::tempfile().map_err(failed)?), length })
    }

    /// Writes the next bytes. Blocks.
    ///
    /// # Errors
    /// `io`.
    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        (&*self.file).write_all(bytes).map_err(failed)
    }

    /// `count` bytes from `start` on. Blocks.
    ///
    /// # Errors
    /// `io`.
    pub fn bytes(&self, start: u64, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.file.read_exact_at(&mut bytes, start).map_err(failed)?;
        Ok(bytes)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the temporary file of a request: {error}"))
        .hint("free space in the service's directory for temporary files, or write parts of the dataset")
}
