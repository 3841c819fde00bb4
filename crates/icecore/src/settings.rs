//! Settings from environment variables.

use std::env::{VarError, var};

use icecore_grid::{Error, ErrorKind, Result};

pub(crate) const THREADS: &str = "ICECORE_THREADS";
pub(crate) const CACHE: &str = "ICECORE_CACHE";
pub(crate) const RESULT_POOL: &str = "ICECORE_RESULT_POOL";

/// Each variable, its accepted values, and an example.
const NUMBERS: [(&str, &str, &str); 3] = [
    (THREADS, "a number of threads (0: all cores)", "4"),
    (CACHE, "a number of bytes (0: none)", "16777216"),
    (RESULT_POOL, "a number of bytes (0: none)", "268435456"),
];
const PORTABLE: &str = "ICECORE_PORTABLE";
const DURABILITY: &str = "ICECORE_DURABILITY";

/// The number in a variable; `None` if it is unset or invalid, which [`check_environment`] reports.
pub(crate) fn number(name: &str) -> Option<usize> {
    var(name).ok().and_then(|text| text.trim().parse().ok())
}

/// Rejects invalid values at start-up: later there would be no caller to receive the error.
///
/// # Errors
/// `invalid`, with the variable's name, its value and the accepted values.
pub fn check_environment() -> Result<()> {
    let is_number = |text: &str| text.parse::<usize>().is_ok();
    for (name, takes, example) in NUMBERS {
        check(name, takes, example, is_number)?;
    }
    check(PORTABLE, "0 or 1", "1", |text| matches!(text, "0" | "1"))?;
    check(DURABILITY, "full or none", "none", |text| matches!(text, "full" | "none"))
}

fn check(name: &str, takes: &str, example: &str, is_good: impl Fn(&str) -> bool) -> Result<()> {
    let value = match var(name) {
        Err(VarError::NotPresent) => return Ok(()),
        Ok(value) => value,
        Err(VarError::NotUnicode(value)) => value.to_string_lossy().into_owned(),
    };
    if value.trim().is_empty() || is_good(value.trim()) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, format!("the environment variable {name} is {value:?}: expected {takes}"))
        .hint(format!("export {name}={example}, or unset it")))
}
