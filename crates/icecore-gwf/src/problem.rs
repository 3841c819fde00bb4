//! A fault in a file that does not prevent reading the rest.

use icecore_grid::{Error, ErrorKind};

/// One fault: message, channel and position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: ErrorKind,
    /// Empty if the fault concerns the file as a whole.
    pub channel: String,
    /// Byte offset of the structure concerned.
    pub offset: u64,
    pub message: String,
}

impl Problem {
    pub(crate) fn new(error: &Error, channel: &str, offset: u64) -> Problem {
        Problem { kind: error.kind, channel: channel.to_string(), offset, message: error.message.clone() }
    }
}

pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
        .hint("the frame file is damaged or incomplete: compare it with the original, or read it with FrCheck")
}
