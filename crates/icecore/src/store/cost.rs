//! Cost of a request to a store, so that the coalescer knows which gaps are cheaper to read than to skip.

use icecore_grid::Merge;

/// Running estimate of `seconds = latency + bytes / bandwidth` of one request, refined by every request that is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    latency: f64,
    bandwidth: f64,
    // Exponentially weighted moments of (bytes, seconds): a straight line is fitted through them.
    weight: f64,
    sum_n: f64,
    sum_t: f64,
    sum_nn: f64,
    sum_nt: f64,
}

/// Requests overlap, so an additional one costs only this part of a full latency.
const OVERLAP: f64 = 8.0;
const FORGET: f64 = 0.98;

impl Cost {
    /// A page-cached file: a system call and a copy.
    pub const LOCAL: Self = Self::preset(8e-6, 2e9);
    /// A remote object store or web server.
    pub const REMOTE: Self = Self::preset(0.03, 1e8);

    const fn preset(latency: f64, bandwidth: f64) -> Self {
        Self { latency, bandwidth, weight: 0.0, sum_n: 0.0, sum_t: 0.0, sum_nn: 0.0, sum_nt: 0.0 }
    }

    /// Seconds to the first byte.
    pub fn latency(&self) -> f64 {
        self.latency
    }

    /// Bytes per second of one connection.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// Adds a completed request to the estimate.
    pub fn observe(&mut self, bytes: u64, seconds: f64) {
        let n = bytes as f64;
        self.weight = self.weight * FORGET + 1.0;
        self.sum_n = self.sum_n * FORGET + n;
        self.sum_t = self.sum_t * FORGET + seconds;
        self.sum_nn = self.sum_nn * FORGET + n * n;
        self.sum_nt = self.sum_nt * FORGET + n * seconds;
        if self.weight < 8.0 {
            return;
        }
        let spread = self.weight * self.sum_nn - self.sum_n * self.sum_n;
        let slope = if spread > 1e-3 * self.sum_n * self.sum_n {
            (self.weight * self.sum_nt - self.sum_n * self.sum_t) / spread
        } else {
            1.0 / self.bandwidth
        };
        let slope = slope.clamp(1e-10, 1e-5);
        self.bandwidth = 1.0 / slope;
        self.latency = ((self.sum_t - slope * self.sum_n) / self.weight).clamp(1e-5, 5.0);
    }

    /// How to merge spans on this store.
    ///
    /// A gap is read if that takes less time than its share of a request: `gap ≤ latency × bandwidth / OVERLAP`.
    pub fn merge(&self) -> Merge {
        let gap = (self.latency * self.bandwidth / OVERLAP) as u64;
        if self.latency < 1e-3 {
            // A local read is one unit of work for a thread: large enough to hide the call, small enough for the cache.
            return Merge { gap: gap.clamp(4 << 10, 64 << 10), max_request: 1 << 20, split: 256 << 10 };
        }
        Merge { gap: gap.clamp(64 << 10, 1 << 20), max_request: 8 << 20, split: 2 << 20 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_latency_and_bandwidth() {
        let mut cost = Cost::REMOTE;
        for i in 0..200u64 {
            let bytes = 10_000 * (1 + i % 50);
            cost.observe(bytes, 0.005 + bytes as f64 / 5e7);
        }
        assert!((cost.latency() - 0.005).abs() < 5e-4, "{cost:?}");
        assert!((cost.bandwidth() / 5e7 - 1.0).abs() < 0.1, "{cost:?}");
    }

    #[test]
    fn equal_sizes_change_the_latency_alone() {
        let mut cost = Cost::REMOTE;
        for _ in 0..100 {
            cost.observe(100_000, 0.2);
        }
        assert_eq!(cost.bandwidth(), 1e8);
        assert!((cost.latency() - 0.199).abs() < 1e-3);
    }

    #[test]
    fn slower_stores_merge_wider_gaps() {
        assert!(Cost::REMOTE.merge().gap > Cost::LOCAL.merge().gap);
        assert!(Cost::REMOTE.merge().max_request >= Cost::REMOTE.merge().split);
    }
}
