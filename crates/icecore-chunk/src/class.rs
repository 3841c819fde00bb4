//! How dear a codec chain is.

/// What a chain costs, as far as its kind alone says: which of them are tried at all, and which the goal `speed` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Decodes near memory speed and encodes at hundreds of MB/s.
    Fast,
    /// Encodes at tens to hundreds of MB/s.
    Usual,
    /// Encodes at a few MB/s, or decodes slowly: for archives.
    Slow,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Fast => "fast",
            Class::Usual => "usual",
            Class::Slow => "slow",
        }
    }
}
