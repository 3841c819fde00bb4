//! Cost of a read, as counts.

/// Counts of one read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Number of requests, including those for shard indexes.
    pub requests: u64,
    /// Number of bytes received.
    pub bytes_fetched: u64,
    /// Maximum relative error of a number in the result; 0: exact.
    pub rtol_bound: f64,
    /// Chunks that were decoded.
    pub chunks: u64,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes_fetched += other.bytes_fetched;
        self.rtol_bound = self.rtol_bound.max(other.rtol_bound);
        self.chunks += other.chunks;
    }
}
