//! Constructors of codec errors: damaged data, wrong length, invalid configuration.

use icecore_grid::{Error, ErrorKind};

use crate::extension::Extension;

/// Data that its codec could not have written.
pub(crate) fn corrupt(codec: &str, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{codec}: {}", what.into())).hint(
        "the stored bytes are damaged or were written with other codecs; `icecore verify --deep` finds all such chunks",
    )
}

/// Data that decodes to another length than the chunk's shape and type require.
pub(crate) fn wrong_length(codec: &str, found: impl std::fmt::Display, expected: usize) -> Error {
    corrupt(codec, format!("decodes to {found} bytes, expected {expected}"))
}

/// A header with an impossible decoded length; nothing is allocated for it.
pub(crate) fn overstated(codec: &str, len: impl std::fmt::Display, stored: usize) -> Error {
    corrupt(codec, format!("the header claims {len} bytes from {stored} stored"))
}

/// A value of the configuration outside what the codec defines.
pub(crate) fn bad_config(ext: &Extension, key: &str, allowed: &str) -> Error {
    let found = ext.get(key).map_or("nothing".to_string(), |v| v.to_string().chars().take(60).collect());
    Error::new(ErrorKind::Format, format!("codec {}: {key} is {found}, allowed: {allowed}", ext.name))
        .hint("give one of those, as NAME:LEVEL or in the codec's configuration")
}
