//! The part of the table of contents that lists events.

use icecore_grid::Result;

use crate::cursor::Cursor;

/// Names and numbers of the events; version 4 names each event.
pub(crate) fn events(cursor: &mut Cursor) -> Result<Vec<(String, u32)>> {
    let n = cursor.count(2)?;
    let names = (0..n).map(|_| cursor.string()).collect::<Result<Vec<String>>>()?;
    if cursor.format.version < 6 {
        cursor.take(n * 16)?; // seconds, nanoseconds, position
        return Ok(names.into_iter().map(|name| (name, 1)).collect());
    }
    let counts = (0..n).map(|_| cursor.u32()).collect::<Result<Vec<u32>>>()?;
    let mut total = counts.iter().map(|c| u64::from(*c)).sum();
    if cursor.format.version >= 8 {
        total = match cursor.u32()? {
            u32::MAX => 0,
            total => u64::from(total),
        };
    }
    let total = cursor.fits(total, 20)?;
    cursor.take(total * 20)?; // seconds, nanoseconds, amplitude, position
    Ok(names.into_iter().zip(counts).collect())
}
