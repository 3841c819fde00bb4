//! When a request is late: the time to the first byte of a store's recent requests, and how often a late one was repeated.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use icecore_catalog::PerProcess;

const RECENT: usize = 64;
/// Requests before any is called late.
const KNOWN: usize = 20;
/// Of this many requests at most one is repeated.
const SHARE: u64 = 20;
/// Added to twice the 95th percentile: differences of a few milliseconds do not justify another request.
const MARGIN: f64 = 0.02;

/// The process's stores by host.
fn known() -> MutexGuard<'static, HashMap<String, FirstBytes>> {
    static KNOWN_STORES: PerProcess<Mutex<HashMap<String, FirstBytes>>> = PerProcess::new();
    KNOWN_STORES.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long to wait for the first byte of an object before the request is repeated; None: as long as it takes.
pub(super) fn patience(name: &str) -> Option<Duration> {
    known().get(host(name)).and_then(FirstBytes::patience)
}

/// Adds the time to the first byte of a request.
pub(super) fn note_first_byte(name: &str, seconds: f64) {
    known().entry(host(name).to_owned()).or_default().note(seconds);
}

/// Counts a repeated request; false if too many were.
pub(super) fn may_repeat(name: &str) -> bool {
    known().entry(host(name).to_owned()).or_default().repeat()
}

/// `scheme://host` of a URL; other strings unchanged.
pub(super) fn host(url: &str) -> &str {
    let start = url.find("://").map_or(0, |i| i + 3);
    let end = url.get(start..).and_then(|rest| rest.find('/')).map_or(url.len(), |i| start + i);
    url.get(..end).unwrap_or(url)
}

/// Times to the first byte of one store.
#[derive(Debug, Default)]
struct FirstBytes {
    recent: Vec<f64>,
    next: usize,
    asked: u64,
    repeated: u64,
}

impl FirstBytes {
    /// Adds the seconds that a request waited.
    pub fn note(&mut self, seconds: f64) {
        self.asked += 1;
        match self.recent.get_mut(self.next) {
            Some(oldest) => *oldest = seconds,
            None => self.recent.push(seconds),
        }
        self.next = (self.next + 1) % RECENT;
    }

    /// How long to wait before a request is repeated; None if it is not to be repeated.
    pub fn patience(&self) -> Option<Duration> {
        if self.recent.len() < KNOWN || self.repeated * SHARE >= self.asked {
            return None;
        }
        let mut sorted = self.recent.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let late = sorted.get(sorted.len() * 95 / 100)?;
        Duration::try_from_secs_f64(2.0 * late + MARGIN).ok()
    }

    /// Counts a repeated request; false if too many were.
    pub fn repeat(&mut self) -> bool {
        let may = self.repeated * SHARE < self.asked;
        self.repeated += u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_far_beyond_the_usual() {
        let mut times = FirstBytes::default();
        for _ in 0..KNOWN - 1 {
            times.note(0.03);
            assert_eq!(times.patience(), None);
        }
        times.note(0.03);
        assert_eq!(times.patience(), Some(Duration::from_millis(80)));
        for _ in 0..RECENT {
            times.note(0.1);
        }
        assert_eq!(times.patience(), Some(Duration::from_millis(220)), "old times are forgotten");
    }

    #[test]
    fn few_requests_are_repeated() {
        let mut times = FirstBytes::default();
        (0..40).for_each(|_| times.note(0.01));
        assert!(times.repeat() && times.repeat() && !times.repeat());
        assert_eq!(times.patience(), None);
    }

    #[test]
    fn hosts() {
        assert_eq!(host("http://a:1/b/c"), "http://a:1");
        assert_eq!(host("s3://bucket"), "s3://bucket");
    }
}
