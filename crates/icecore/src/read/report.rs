//! Cost of a read, as counts.

/// Counts of one read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests made, shard indexes included.
    pub requests: u64,
    /// Bytes that came back.
    pub bytes_fetched: u64,
    /// The largest relative error of a number that was read; 0: every bit is right.
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
