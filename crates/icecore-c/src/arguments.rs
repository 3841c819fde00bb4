//! Arguments from C as Rust values.

use std::ffi::{CStr, c_char, c_int};

use icecore::grid::Result;

use crate::error::invalid;

/// Most axes of an array, as `ICECORE_MAX_RANK`.
pub const MAX_RANK: usize = 32;

/// A text that must be given.
///
/// # Safety
/// Null, or a string that ends with a zero byte.
pub unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str> {
    // SAFETY: as this function's.
    unsafe { optional(name, pointer) }?.ok_or_else(|| invalid(format!("{name} is NULL")))
}

/// A text, or None for a null pointer.
///
/// # Safety
/// As for [`text`].
pub unsafe fn optional<'a>(name: &str, pointer: *const c_char) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and a string that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map(Some).map_err(|_| invalid(format!("{name} is not valid UTF-8")))
}

/// Lengths or indexes of `rank` axes.
///
/// # Safety
/// Null, or `rank` integers.
pub unsafe fn lengths(name: &str, pointer: *const i64, rank: usize) -> Result<Vec<u64>> {
    if pointer.is_null() && rank > 0 {
        return Err(invalid(format!("{name} is NULL")));
    }
    // SAFETY: that many integers.
    let given = if rank == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, rank) } };
    let negative = |n: &i64| invalid(format!("{name} has a negative number: {n}"));
    given.iter().map(|n| u64::try_from(*n).map_err(|_| negative(n))).collect()
}

/// A number of axes.
pub fn rank(given: c_int) -> Result<usize> {
    let rank = usize::try_from(given).ok().filter(|rank| *rank <= MAX_RANK);
    rank.ok_or_else(|| invalid(format!("an array has 0 to {MAX_RANK} axes (got {given})")))
}

/// Bytes that the caller passes.
///
/// # Safety
/// Null, or this many bytes that stay unchanged during the call.
pub unsafe fn data<'a>(name: &str, pointer: *const u8, bytes: usize) -> Result<&'a [u8]> {
    match (pointer.is_null(), bytes) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(invalid(format!("{name} is NULL"))),
        // SAFETY: as this function's.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(pointer, bytes) }),
    }
}

/// A buffer of the caller.
///
/// # Safety
/// Null, or this many bytes for this call alone.
pub unsafe fn buffer<'a>(name: &str, pointer: *mut u8, bytes: usize) -> Result<&'a mut [u8]> {
    match (pointer.is_null(), bytes) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(invalid(format!("{name} is NULL"))),
        // SAFETY: as this function's.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(pointer, bytes) }),
    }
}
