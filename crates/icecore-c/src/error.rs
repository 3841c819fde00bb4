//! Errors for C: a status, and a text for each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use icecore::grid::{Error, ErrorKind, Result};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the work of a function of the interface; an error becomes this thread's text.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
    result.map_err(|error| keep(&error)).ok()
}

/// The status of a function without a result: 0, or -1.
pub fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    caught(work).map_or(-1, |()| 0)
}

/// The text of this thread's last error.
pub fn last() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

pub fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

fn keep(error: &Error) {
    let mut text = format!("error[{}]: {}", error.kind, error.message);
    if !error.hint.is_empty() {
        text.push_str("\n  try: ");
        text.push_str(&error.hint);
    }
    LAST.with(|last| last.replace(CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()));
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Error::new(ErrorKind::Internal, format!("icecore failed: {said}"))
}
