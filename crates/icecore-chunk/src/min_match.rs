//! Minimum match length of zstd.

/// How many bytes a repetition has at least. zstd's level 3 takes five, but four in chunks up to 16 KiB and of 128 to 256 KiB,
/// and which of them gives fewer bytes depends on the data: of floats with noise, four are mostly one value that happens to be
/// the same as one far before, which takes as many bits to be told as its bytes do, and time to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinMatch {
    /// As the level has it.
    #[default]
    Usual,
    /// Four bytes.
    Four,
    /// Five bytes: fewer repetitions, which takes less time to read.
    Five,
}

impl MinMatch {
    /// What zstd's parameter `minMatch` is set to; 0 is the level's own.
    pub(crate) fn value(self) -> i32 {
        match self {
            MinMatch::Usual => 0,
            MinMatch::Four => 4,
            MinMatch::Five => 5,
        }
    }
}
