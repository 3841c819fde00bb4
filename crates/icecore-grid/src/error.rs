//! The one error type of the workspace.

use std::fmt;

/// `std::result::Result` with icecore's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, in a form that a program can branch on and a person can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The family; the same code on the command line, in Python and here.
    pub kind: ErrorKind,
    /// What is wrong, with the facts on both sides and the name of the thing.
    pub message: String,
    /// What to try next; empty where there is nothing sensible to say.
    pub hint: String,
}

impl Error {
    /// An error without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: String::new() }
    }

    /// The same error, saying what to try next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The documented, closed list of error families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A repository, version, node or file that is named does not exist.
    NotFound,
    /// What should be created is there already.
    Exists,
    /// A selection does not fit the array it is applied to, or its text cannot be read.
    Selection,
    /// Two things that must agree (shapes, lengths, attributes) do not.
    Mismatch,
    /// A data type that is unknown, or that does not suit the operation.
    Dtype,
    /// A codec that is unknown, misconfigured or refuses its input.
    Codec,
    /// Stored bytes contradict their metadata or their checksum.
    Corrupt,
    /// A linked file is no longer the one that was linked.
    SourceChanged,
    /// A linked file is gone.
    SourceMissing,
    /// A link points outside the prefixes that the reader allows.
    LinkNotAllowed,
    /// Someone else committed in between.
    Conflict,
    /// A write to something that can only be read.
    ReadOnly,
    /// The operating system or the store refused access.
    Permission,
    /// A local read or write failed.
    Io,
    /// A request to a remote store failed.
    Network,
    /// A file or document is not in the format it should be in.
    Format,
    /// Valid, but not something icecore does.
    Unsupported,
    /// More memory would be needed than is allowed or possible.
    Memory,
    /// An argument that makes no sense by itself.
    Invalid,
    /// The user stopped the operation.
    Interrupted,
    /// A bug in icecore.
    Internal,
}

impl ErrorKind {
    /// The code that users see: `error[source-changed]`, and `.kind` in Python.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Exists => "exists",
            Self::Selection => "selection",
            Self::Mismatch => "mismatch",
            Self::Dtype => "dtype",
            Self::Codec => "codec",
            Self::Corrupt => "corrupt",
            Self::SourceChanged => "source-changed",
            Self::SourceMissing => "source-missing",
            Self::LinkNotAllowed => "link-not-allowed",
            Self::Conflict => "conflict",
            Self::ReadOnly => "read-only",
            Self::Permission => "permission",
            Self::Io => "io",
            Self::Network => "network",
            Self::Format => "format",
            Self::Unsupported => "unsupported",
            Self::Memory => "memory",
            Self::Invalid => "invalid",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_the_message_and_keeps_the_hint_apart() {
        let error = Error::new(ErrorKind::SourceChanged, "x.h5: 10 bytes, was 12").hint("link it again");
        assert_eq!(error.to_string(), "x.h5: 10 bytes, was 12");
        assert_eq!(error.hint, "link it again");
        assert_eq!(error.kind.to_string(), "source-changed");
    }
}
