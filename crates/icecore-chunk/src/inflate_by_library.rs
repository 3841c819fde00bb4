//! Streaming DEFLATE (RFC 1951) by zlib-rs: replaces our decoder if the feature `own-deflate` is off.

use flate2::{Decompress, FlushDecompress, Status};
use icecore_grid::Result;

use crate::errors::corrupt;

/// One stream, with input and output in pieces of any length.
pub struct Inflate {
    stream: Decompress,
    ended: bool,
}

impl Default for Inflate {
    fn default() -> Self {
        Inflate { stream: Decompress::new(false), ended: false }
    }
}

impl Inflate {
    /// Whether the stream has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Decodes until `input` is used up, `out` is full or the stream ends; returns bytes read and bytes written.
    ///
    /// # Errors
    /// `corrupt` if the input is not a DEFLATE stream.
    pub fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize)> {
        let (mut read, mut written) = (0, 0);
        while !self.ended {
            let before = (self.stream.total_in(), self.stream.total_out());
            let status = self
                .stream
                .decompress(&input[read..], &mut out[written..], FlushDecompress::None)
                .map_err(|e| corrupt("deflate", e.to_string()))?;
            let step = (self.stream.total_in() - before.0, self.stream.total_out() - before.1);
            read += step.0 as usize;
            written += step.1 as usize;
            self.ended = status == Status::StreamEnd;
            if step == (0, 0) {
                break;
            }
        }
        Ok((read, written))
    }
}
