//! What every bytes→bytes codec can do.

use std::fmt::Debug;
use std::ops::Range;

use icecore_grid::Result;

use crate::buffer::Buffer;
use crate::scratch::Scratch;

/// A bytes→bytes codec.
///
/// Decoders are given an output of exactly the decoded length and refuse (`Corrupt`) data of any other length.
pub(crate) trait BytesCodec: Debug + Send + Sync {
    /// The encoded length, for codecs where the decoded length alone decides it.
    fn encoded_len(&self, _decoded: usize) -> Option<usize> {
        None
    }

    /// Fills `out`. Only the bytes of `wanted` (a range of `out`) must be right on return.
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()>;

    /// Decodes where the length is not known beforehand (at most `cap` bytes); returns the length.
    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize>;

    /// Replaces `out` by the encoded bytes.
    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()>;
}
