//! The error type of the workspace.

use std::borrow::Cow;
use std::fmt;

use crate::redact::redact;

/// `std::result::Result` with icecore's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error with a kind for programs and a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind; the same code is used on the command line and in Python.
    pub kind: ErrorKind,
    /// What is wrong: the object, got and expected.
    pub message: String,
    /// What to do next; may be empty.
    pub hint: String,
}

impl Error {
    /// An error without a hint. Secrets of the addresses in the message are hidden.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: without_secrets(message.into()), hint: String::new() }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = without_secrets(hint.into());
        self
    }
}

fn without_secrets(text: String) -> String {
    let redacted = match redact(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(redacted) => Some(redacted),
    };
    redacted.unwrap_or(text)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The documented, closed list of error kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A repository, version, node or file that is named does not exist.
    NotFound,
    /// The object to create already exists.
    Exists,
    /// A selection does not fit the array it is applied to, or its text cannot be read.
    Selection,
    /// Two things that must agree (shapes, lengths, attributes) do not.
    Mismatch,
    /// A data type that is unknown or not supported by the operation.
    Dtype,
    /// A codec that is unknown, misconfigured or rejects its input.
    Codec,
    /// Stored bytes contradict their metadata or their checksum.
    Corrupt,
    /// A linked file has changed since it was linked.
    SourceChanged,
    /// A linked file does not exist any more.
    SourceMissing,
    /// A link points outside the prefixes that the reader allows.
    LinkNotAllowed,
    /// Another writer committed in between.
    Conflict,
    /// A write to a read-only object.
    ReadOnly,
    /// The operating system or the store denied access.
    Permission,
    /// A local read or write failed.
    Io,
    /// A request to a remote store failed.
    Network,
    /// A file or document is not in the format it should be in.
    Format,
    /// Valid, but not supported by icecore.
    Unsupported,
    /// More memory would be needed than is allowed or possible.
    Memory,
    /// An invalid argument.
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
