//! The limit on elements that a request holds in memory.

use icecore::grid::{Error, ErrorKind, Result};

/// # Errors
/// `memory` for elements that are more than a request may hold in memory.
pub(crate) fn check_size(count: u64, size: usize, most: u64) -> Result<()> {
    let bytes = count.saturating_mul(size as u64);
    if bytes <= most {
        return Ok(());
    }
    let message = format!("{count} elements take {bytes} bytes; at most {most} are handled at once");
    Err(Error::new(ErrorKind::Memory, message).hint("select fewer elements at a time"))
}
