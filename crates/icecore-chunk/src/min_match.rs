//! Minimum match length of zstd.

/// Minimum match length. zstd's level 3 uses five bytes, but four in chunks up to 16 KiB and of 128 to 256 KiB. Which one
/// compresses better depends on the data. In noisy floats, matches of four bytes are mostly accidental: encoding their distance
/// takes as many bits as the bytes themselves, and decoding them takes time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinMatch {
    /// The level's default.
    #[default]
    Usual,
    /// Four bytes.
    Four,
    /// Five bytes: fewer matches, which decode faster.
    Five,
}

impl MinMatch {
    /// Value of zstd's parameter `minMatch`; 0 is the level's default.
    pub(crate) fn value(self) -> i32 {
        match self {
            MinMatch::Usual => 0,
            MinMatch::Four => 4,
            MinMatch::Five => 5,
        }
    }
}
