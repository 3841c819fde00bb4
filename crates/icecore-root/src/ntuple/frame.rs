//! Frames: records and lists with a stored length, so that newer writers can extend them.

use icecore_grid::Result;

use super::envelope::Link;
use crate::cursor::{Cursor, corrupt, unsupported};

/// A string after a length of 4 bytes.
pub(super) fn string(cursor: &mut Cursor) -> Result<String> {
    let len = cursor.u32_le()? as usize;
    Ok(String::from_utf8_lossy(cursor.take(len)?).into_owned())
}

/// The bytes of a record.
pub(super) fn record<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let len = cursor.i64_le()?;
    let rest = usize::try_from(len).ok().and_then(|len| len.checked_sub(8));
    cursor.take(rest.ok_or_else(|| corrupt(format!("a record of {len} bytes")))?)
}

/// Reads a list's items: `read` receives a cursor over the list's bytes. Returns its results and the start of the
/// list's trailer.
pub(super) fn list_of<'a, T>(
    cursor: &mut Cursor<'a>,
    mut read: impl FnMut(&mut Cursor<'a>) -> Result<T>,
) -> Result<(Vec<T>, Cursor<'a>)> {
    let len = cursor.i64_le()?;
    let rest = len.checked_neg().and_then(|len| usize::try_from(len).ok()).and_then(|len| len.checked_sub(8));
    let mut inner = Cursor::new(cursor.take(rest.ok_or_else(|| corrupt(format!("a list of {len} bytes")))?)?);
    let count = inner.u32_le()? as usize;
    // Each item takes at least 8 bytes.
    if count > inner.left() / 8 {
        return Err(corrupt(format!("a list of {count} items in {} bytes", inner.left())));
    }
    let items = (0..count).map(|_| read(&mut inner)).collect::<Result<_>>()?;
    Ok((items, inner))
}

pub(super) fn list<'a, T>(cursor: &mut Cursor<'a>, read: impl FnMut(&mut Cursor<'a>) -> Result<T>) -> Result<Vec<T>> {
    list_of(cursor, read).map(|(items, _)| items)
}

/// Feature flags: a set bit names a feature that readers must support. None is supported.
pub(super) fn feature_flags(cursor: &mut Cursor) -> Result<()> {
    const MORE: u64 = 1 << 63;
    for word in 0.. {
        let flags = cursor.u64_le()?;
        if flags & !MORE != 0 {
            let bit = (flags & !MORE).trailing_zeros() + 63 * word;
            return Err(unsupported(format!("feature flag {bit} is not known")));
        }
        if flags & MORE == 0 {
            break;
        }
    }
    Ok(())
}

/// A locator: offset and length in this file.
pub(super) fn locator(cursor: &mut Cursor) -> Result<(u64, u64)> {
    let size = cursor.i32_le()?;
    if size >= 0 {
        return Ok((cursor.u64_le()?, size as u64));
    }
    match size.unsigned_abs() >> 24 {
        1 => {
            let len = cursor.u64_le()?;
            Ok((cursor.u64_le()?, len))
        }
        kind => Err(unsupported(format!("a locator of type {kind} (object stores such as DAOS)"))),
    }
}

/// A locator after the decoded length.
pub(super) fn link(cursor: &mut Cursor) -> Result<Link> {
    let len = cursor.u64_le()?;
    let (offset, stored) = locator(cursor)?;
    Ok(Link { offset, stored, len })
}
