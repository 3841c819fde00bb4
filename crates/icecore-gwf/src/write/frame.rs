//! Fields of a frame's header.

/// One frame: times in GPS nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameFields {
    /// Name of the experiment.
    pub name: String,
    pub run: i32,
    pub number: u32,
    pub quality: u32,
    pub start_ns: i64,
    pub duration_ns: i64,
    /// TAI - UTC in seconds.
    pub leap: u16,
}

impl FrameFields {
    pub(crate) fn seconds(&self) -> u32 {
        self.start_ns.div_euclid(1_000_000_000) as u32
    }

    pub(crate) fn nanoseconds(&self) -> u32 {
        self.start_ns.rem_euclid(1_000_000_000) as u32
    }

    pub(crate) fn dt(&self) -> f64 {
        self.duration_ns as f64 / 1e9
    }
}
