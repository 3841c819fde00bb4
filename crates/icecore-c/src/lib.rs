//! The C interface of icecore (`include/icecore.h`): checks the arguments, and passes them to the engine.

mod arguments;
mod document;
mod error;
mod handle;
mod places;
mod writing;

use std::ffi::{c_char, c_int, c_void};

use icecore::grid::{Region, Result};

use arguments::{MAX_RANK, buffer, data, lengths, optional, rank, text};
use document::Declared;
use error::{caught, invalid, status};
use handle::{Handle, read_box};

/// # Safety
/// Null, or a handle that is not closed.
unsafe fn of<'a>(repo: *const Handle) -> Result<&'a Handle> {
    // SAFETY: as this function's.
    unsafe { repo.as_ref() }.ok_or_else(|| invalid("the handle is NULL"))
}

/// # Safety
/// As the header says; this holds for all functions: strings end with a zero byte, lists have `rank` numbers, buffers
/// their number of bytes, and handles are open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_open(
    address: *const c_char,
    mode: *const c_char,
    version: *const c_char,
) -> *mut Handle {
    let open = || {
        // SAFETY: strings, as the header says.
        let (address, mode, version) =
            unsafe { (text("address", address)?, text("mode", mode)?, optional("version", version)?) };
        Handle::open(address, mode, version)
    };
    caught(open).map_or(std::ptr::null_mut(), |handle| Box::into_raw(Box::new(handle)))
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_array(
    repo: *const Handle,
    path: *const c_char,
    dtype: *const c_char,
    axes: c_int,
    shape: *const i64,
    chunks: *const i64,
    dims: *const c_char,
    codecs: *const c_char,
) -> c_int {
    status(|| {
        let axes = rank(axes)?;
        // SAFETY: strings and `axes` numbers, as the header says.
        let declared = unsafe {
            Declared {
                path: text("path", path)?,
                dtype: text("dtype", dtype)?,
                shape: lengths("shape", shape, axes)?,
                chunks: lengths("chunks", chunks, axes)?,
                dims: optional("dims", dims)?,
                codecs: optional("codecs", codecs)?,
            }
        };
        // SAFETY: an open handle, as the header says.
        unsafe { of(repo) }?.changes()?.declare(&declared)
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_attributes(repo: *const Handle, path: *const c_char, json: *const c_char) -> c_int {
    status(|| {
        // SAFETY: strings, as the header says.
        let (path, json) = unsafe { (text("path", path)?, text("json", json)?) };
        let attributes: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(json).map_err(|e| invalid(format!("{path}: not a JSON object: {e}")))?;
        // SAFETY: an open handle, as the header says.
        unsafe { of(repo) }?.changes()?.attributes(path, &attributes.into())
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_write(
    repo: *const Handle,
    path: *const c_char,
    start: *const i64,
    shape: *const i64,
    block: *const c_void,
    bytes: usize,
) -> c_int {
    status(|| {
        // SAFETY: an open handle and strings, as the header says.
        let (handle, path) = unsafe { (of(repo)?, text("path", path)?) };
        let mut changes = handle.changes()?;
        let axes = changes.rank(path)?;
        // SAFETY: as many numbers as the array has axes, and that many bytes, as the header says.
        let (start, shape, block) = unsafe {
            (lengths("start", start, axes)?, lengths("shape", shape, axes)?, data("data", block.cast(), bytes)?)
        };
        changes.write(path, Region { start, shape }, block.to_vec())
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_commit(repo: *const Handle, message: *const c_char) -> c_int {
    status(|| {
        // SAFETY: an open handle and a string, as the header says.
        let (handle, message) = unsafe { (of(repo)?, text("message", message)?) };
        handle.changes()?.commit(message)
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_shape(
    repo: *const Handle,
    path: *const c_char,
    axes: *mut c_int,
    shape: *mut i64,
) -> c_int {
    status(|| {
        // SAFETY: an open handle and a string, as the header says.
        let (handle, path) = unsafe { (of(repo)?, text("path", path)?) };
        let view = handle.array(path)?;
        let stored = &view.meta().shape;
        if axes.is_null() || shape.is_null() {
            return Err(invalid("rank or shape is NULL"));
        }
        if stored.len() > MAX_RANK {
            return Err(invalid(format!("{path} has {} axes, more than {MAX_RANK}", stored.len())));
        }
        // SAFETY: `rank` is one number and `shape` has room for MAX_RANK, as the header says.
        let shape = unsafe {
            *axes = stored.len() as c_int; // at most MAX_RANK
            std::slice::from_raw_parts_mut(shape, stored.len())
        };
        shape.iter_mut().zip(stored).for_each(|(out, n)| *out = i64::try_from(*n).unwrap_or(i64::MAX));
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_read(
    repo: *const Handle,
    path: *const c_char,
    start: *const i64,
    shape: *const i64,
    out: *mut c_void,
    bytes: usize,
) -> c_int {
    status(|| {
        // SAFETY: an open handle and a string, as the header says.
        let (handle, path) = unsafe { (of(repo)?, text("path", path)?) };
        let view = handle.array(path)?;
        let axes = view.meta().shape.len();
        // SAFETY: as many numbers as the array has axes, and a buffer of that size, as the header says.
        let (start, shape, out) = unsafe {
            (lengths("start", start, axes)?, lengths("shape", shape, axes)?, buffer("data", out.cast(), bytes)?)
        };
        read_box(&view, &Region { start, shape }, out)
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_take(repo: *const Handle, message: *mut *mut c_void, bytes: *mut usize) -> c_int {
    status(|| {
        if message.is_null() || bytes.is_null() {
            return Err(invalid("message or bytes is NULL"));
        }
        // SAFETY: an open handle, as the header says.
        let taken = unsafe { of(repo) }?.changes()?.take()?.into_boxed_slice();
        // SAFETY: not null, and writable as the header says.
        unsafe {
            *bytes = taken.len();
            *message = Box::into_raw(taken).cast();
        }
        Ok(())
    })
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_merge(repo: *const Handle, message: *const c_void, bytes: usize) -> c_int {
    status(|| {
        // SAFETY: an open handle and that many bytes, as the header says.
        let (handle, message) = unsafe { (of(repo)?, data("message", message.cast(), bytes)?) };
        handle.changes()?.merge(message)
    })
}

/// # Safety
/// Null, or a message of `icecore_take` with its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_free(message: *mut c_void, bytes: usize) {
    if !message.is_null() {
        // SAFETY: a boxed slice of this length, made by `icecore_take`.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(message.cast::<u8>(), bytes)) });
    }
}

/// # Safety
/// Null, or a handle that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn icecore_close(repo: *mut Handle) {
    if !repo.is_null() {
        // SAFETY: made by `icecore_open`, and closed once.
        let handle = unsafe { Box::from_raw(repo) };
        let _discarded = caught(|| {
            drop(handle);
            Ok(())
        });
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn icecore_error() -> *const c_char {
    error::last()
}
