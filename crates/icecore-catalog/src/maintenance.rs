//! Maintenance of a repository: checks, repair, garbage collection, expiration, removal.

pub(crate) mod audit;
pub(crate) mod expire;
pub(crate) mod gc;
pub(crate) mod held;
pub(crate) mod mend;
pub(crate) mod remove;
