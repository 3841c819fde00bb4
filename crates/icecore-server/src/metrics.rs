//! Counters of the service, in Prometheus's text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Method, route and status of responses.
type Kind = (String, String, u16);

#[derive(Default)]
pub(crate) struct Metrics {
    /// Number of responses of a kind, and total seconds until they began.
    answers: Mutex<BTreeMap<Kind, (u64, f64)>>,
    pub in_flight: AtomicI64,
    pub blocks: AtomicU64,
    pub value_bytes: AtomicU64,
    pub fetched_bytes: AtomicU64,
    pub chunks: AtomicU64,
    pub read_micros: AtomicU64,
    pub broken_streams: AtomicU64,
    pub refused: AtomicU64,
}

impl Metrics {
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = answers.entry((method.to_owned(), route.to_owned(), status)).or_default();
        *entry = (entry.0 + 1, entry.1 + took.as_secs_f64());
    }

    pub fn text(&self, open_domains: usize) -> String {
        let mut out = String::new();
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        out.push_str("# TYPE icecore_requests_total counter\n");
        for ((method, route, status), (count, _)) in &answers {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(out, "icecore_requests_total{{{labels}}} {count}");
        }
        out.push_str("# TYPE icecore_request_seconds_total counter\n");
        for ((method, route, status), (_, seconds)) in &answers {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(out, "icecore_request_seconds_total{{{labels}}} {seconds}");
        }
        let cache = icecore::read::cache_info();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let values = [
            ("requests_in_flight", "gauge", self.in_flight.load(Ordering::Relaxed) as f64),
            ("requests_refused_total", "counter", load(&self.refused)),
            ("domains_open", "gauge", open_domains as f64),
            ("value_blocks_total", "counter", load(&self.blocks)),
            ("value_bytes_total", "counter", load(&self.value_bytes)),
            ("value_streams_broken_total", "counter", load(&self.broken_streams)),
            ("source_bytes_total", "counter", load(&self.fetched_bytes)),
            ("chunks_decoded_total", "counter", load(&self.chunks)),
            ("read_seconds_total", "counter", load(&self.read_micros) / 1e6),
            ("chunk_cache_bytes", "gauge", cache.bytes as f64),
            ("chunk_cache_hits_total", "counter", cache.hits as f64),
            ("chunk_cache_misses_total", "counter", cache.misses as f64),
        ];
        for (name, kind, value) in values {
            let _ = writeln!(out, "# TYPE icecore_{name} {kind}\nicecore_{name} {value}");
        }
        out
    }
}
