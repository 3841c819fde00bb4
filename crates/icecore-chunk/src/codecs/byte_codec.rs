//! Trait of bytes→bytes codecs.

use std::fmt::Debug;
use std::ops::Range;

use icecore_grid::Result;

use crate::buffer::Buffer;
use crate::contexts::DeflateStream;
use crate::scratch::Scratch;

/// A bytes→bytes codec.
///
/// Decoders receive an output of exactly the decoded length and reject data of any other length (`corrupt`).
pub(crate) trait BytesCodec: Debug + Send + Sync {
    /// The encoded length, for codecs where the decoded length determines it.
    fn encoded_len(&self, _decoded: usize) -> Option<usize> {
        None
    }

    /// Fills `out`. Only the bytes of `wanted` (a range of `out`) must be correct on return.
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()>;

    /// Decodes data of unknown length (at most `cap` bytes); returns the length.
    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize>;

    /// Calls back with the decoded bytes (`len` in all) block by block while they are in the cache. Each block comes
    /// with its start and is still shuffled (as by `shuffle`, for elements of `size`). Blocks outside `wanted` are
    /// skipped. Returns false if the data is not shuffled like that.
    fn shuffled_blocks(
        &self,
        _input: &[u8],
        _len: usize,
        _size: usize,
        _wanted: Range<usize>,
        _scratch: &mut Scratch,
        _see: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<bool> {
        Ok(false)
    }

    /// Whether the encoded form is a DEFLATE stream.
    fn is_deflate(&self) -> bool {
        false
    }

    /// That stream, if its framing is valid.
    fn deflated<'a>(&self, _input: &'a [u8]) -> Option<DeflateStream<'a>> {
        None
    }

    /// Whether the encoded form may depend on [`MinMatch`](crate::MinMatch).
    fn uses_min_match(&self) -> bool {
        false
    }

    /// Appends the encoded bytes to `out`.
    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()>;

    /// Replaces `out` by the encoded bytes. If their length is known, the old contents need not be cleared first.
    fn encode_over(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        out.clear();
        self.encode(input, out, scratch)
    }
}
