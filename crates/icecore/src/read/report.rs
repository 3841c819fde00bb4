//! What a read cost, as counts.

/// What a read did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests made, shard indexes included.
    pub requests: u64,
    /// Bytes that came back.
    pub bytes_fetched: u64,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes_fetched += other.bytes_fetched;
    }
}
