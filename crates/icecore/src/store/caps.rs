//! The longest range that a server answers: some send less than was asked for, and say so in `Content-Range`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use icecore_catalog::{PerProcess, causes};

use super::stragglers::host;

/// A server that sends less than this at a time is refused: a read would take thousands of requests.
const LEAST: u64 = 64 << 10;

/// The longest range by host, of this process.
fn known() -> MutexGuard<'static, HashMap<String, u64>> {
    static CAPS: PerProcess<Mutex<HashMap<String, u64>>> = PerProcess::new();
    CAPS.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest range that the server of an object answers, if it has shown one.
pub(super) fn cap(name: &str) -> Option<u64> {
    known().get(host(name)).copied()
}

/// Learns from the response to a request for `wanted`; true if it was the beginning of that range.
pub(super) fn learn(name: &str, wanted: &Range<u64>, error: &object_store::Error) -> bool {
    let Some(sent) = sent(&causes(error), wanted) else { return false };
    let mut known = known();
    let cap = known.entry(host(name).to_owned()).or_insert(sent);
    *cap = sent.min(*cap);
    true
}

/// The number of bytes sent, if they are the beginning of the range and not too few.
fn sent(message: &str, wanted: &Range<u64>) -> Option<u64> {
    let (_, told) =
        message.split_once(&format!("Requested {}..{}, got {}..", wanted.start, wanted.end, wanted.start))?;
    let digits = told.find(|c: char| !c.is_ascii_digit()).unwrap_or(told.len());
    let end: u64 = told.get(..digits)?.parse().ok()?;
    let sent = end.checked_sub(wanted.start)?;
    (end < wanted.end && sent >= LEAST).then_some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_the_range_counts() {
        let of = |got: &str| sent(&format!("Generic HTTP error: Requested 1000..901000, got {got}"), &(1000..901_000));
        assert_eq!(of("1000..101000"), Some(100_000));
        assert_eq!(of("1000..101000: more"), Some(100_000));
        assert_eq!(of("2000..101000"), None);
        assert_eq!(of("1000..901000"), None);
        assert_eq!(of("1000..2000"), None);
        assert_eq!(of("1000.."), None);
    }
}
