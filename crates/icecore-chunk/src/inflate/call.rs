//! State of one call: positions, and the reason for its end.

/// Positions in the input and the output.
pub(super) struct Place<'a> {
    pub input: &'a [u8],
    pub from: usize,
    pub out: &'a mut [u8],
    pub at: usize,
}

/// Reason why decoding stops.
pub(super) enum Pause {
    /// More input is needed.
    Input,
    /// The output is full, or the stream has ended.
    Output,
    /// The input is not a valid stream.
    Bad(&'static str),
}
