//! Cost class of a codec chain.

/// Cost of a chain by its kind. It decides which chains are measured, and which chains the goal `speed` may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostClass {
    /// Decodes near memory speed and encodes at hundreds of MB/s.
    Fast,
    /// Encodes at tens to hundreds of MB/s.
    Usual,
    /// Encodes at a few MB/s, or decodes slowly: for archives.
    Slow,
}

impl CostClass {
    pub fn name(self) -> &'static str {
        match self {
            CostClass::Fast => "fast",
            CostClass::Usual => "usual",
            CostClass::Slow => "slow",
        }
    }
}
