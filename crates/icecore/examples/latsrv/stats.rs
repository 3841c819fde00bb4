//! Counts of requests and bytes, so that tests state their budgets in them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
pub struct Stats {
    requests: AtomicU64,
    heads: AtomicU64,
    bytes: AtomicU64,
    failed: AtomicU64,
    active: AtomicU64,
    peak: AtomicU64,
    open: AtomicU64,
    connections: AtomicU64,
}

impl Stats {
    /// Counts a new connection; returns the number of open connections, including this one.
    pub fn connected(&self) -> u64 {
        self.connections.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed) + 1
    }

    pub fn disconnected(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    /// Counts a request; returns its number, from 1. It is in flight until `Flight` is dropped.
    pub fn begin(&self, head: bool) -> (u64, Flight<'_>) {
        self.peak.fetch_max(self.active.fetch_add(1, Relaxed) + 1, Relaxed);
        self.heads.fetch_add(u64::from(head), Relaxed);
        (self.requests.fetch_add(1, Relaxed) + 1, Flight(self))
    }

    pub fn sent(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// `peak` is the largest number of requests in flight at once; `bytes` counts bodies only.
    pub fn json(&self) -> String {
        let of = |n: &AtomicU64| n.load(Relaxed);
        format!(
            "{{\"requests\": {}, \"heads\": {}, \"bytes\": {}, \"peak\": {}, \"connections\": {}, \"failed\": {}}}",
            of(&self.requests),
            of(&self.heads),
            of(&self.bytes),
            of(&self.peak),
            of(&self.connections),
            of(&self.failed)
        )
    }

    pub fn reset(&self) {
        for n in [&self.requests, &self.heads, &self.bytes, &self.peak, &self.connections, &self.failed] {
            n.store(0, Relaxed);
        }
    }
}

/// A request in flight.
pub struct Flight<'a>(&'a Stats);

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Relaxed);
    }
}
