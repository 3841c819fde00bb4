//! The numbers of keys.

use icecore_grid::{Error, ErrorKind, Result};

/// The number of the next key after so many.
///
/// # Errors
/// `unsupported` for more than 2³² keys.
pub(super) fn next(keys: usize) -> Result<u32> {
    u32::try_from(keys).ok().filter(|key| *key != u32::MAX).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "there are more than 2³² keys")
            .hint("reduce fewer rows, or by fewer columns")
    })
}
