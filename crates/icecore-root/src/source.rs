//! Reads whose lengths come from the file: checked against its length before memory is allocated.

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use crate::cursor::corrupt;

/// Reads `len` bytes at `offset`; the range is checked against the source before memory is allocated.
pub(crate) fn read_at(source: &dyn ReadAt, offset: u64, len: u64) -> Result<Vec<u8>> {
    let end = offset.checked_add(len).filter(|end| *end <= source.len());
    if end.is_none() {
        return Err(corrupt(format!(
            "{len} bytes at offset {offset} reach beyond the end of the file ({} bytes)",
            source.len()
        )));
    }
    let len = usize::try_from(len).map_err(|_| corrupt(format!("{len} bytes do not fit into memory")))?;
    let mut out = Vec::new();
    out.try_reserve_exact(len)
        .map_err(|_| Error::new(ErrorKind::Memory, format!("no memory for {len} bytes at offset {offset}")))?;
    out.resize(len, 0);
    source.read_at(offset, &mut out)?;
    Ok(out)
}
