//! Trait of our array→bytes codecs.

use std::fmt::Debug;
use std::ops::Range;

use icecore_grid::Result;

use super::planes::Planes;
use crate::scratch::Scratch;

/// An array→bytes codec of fixed-length elements, for one data type.
pub(crate) trait ArrayCodec: Debug + Send + Sync {
    /// Fills `out`: exactly the chunk of `shape`, C order, native byte order. Only the bytes of `wanted` (whole
    /// elements, a range of `out`) must be correct on return. Damaged data, or data of another length, is `Corrupt`.
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()>;

    /// Appends to `out` the encoded bytes of `raw`: exactly the chunk of `shape`, C order, native byte order.
    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()>;

    /// As `decode`, from at most the first `planes` planes (see [`Planes`]); `stored` may end after them.
    /// Codecs without planes decode everything.
    fn decode_top(
        &self,
        stored: &[u8],
        _planes: usize,
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode(stored, shape, wanted, out, scratch)
    }

    /// As `decode`, where only the bytes of these ranges must be right.
    fn decode_parts(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: &[Range<usize>],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let start = wanted.iter().map(|range| range.start).min().unwrap_or(0);
        let end = wanted.iter().map(|range| range.end).max().unwrap_or(0);
        self.decode(stored, shape, start..end, out, scratch)
    }

    /// Whether few ranges take much less time than the chunk.
    fn has_parts(&self) -> bool {
        false
    }

    /// The bytes of an encoded chunk that may be a chunk of another array.
    fn contained(&self, _stored: &[u8]) -> Option<Range<usize>> {
        None
    }

    /// The codec, if its first planes can be read alone.
    fn planes(&self) -> Option<&dyn Planes> {
        None
    }
}
