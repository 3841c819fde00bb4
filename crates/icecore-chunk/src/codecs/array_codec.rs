//! What an array→bytes codec of our own can do.

use std::fmt::Debug;
use std::ops::Range;

use icecore_grid::Result;

use crate::scratch::Scratch;

/// An array→bytes codec of fixed-length elements, for one data type.
pub(crate) trait ArrayCodec: Debug + Send + Sync {
    /// Fills `out`: exactly the chunk of `shape`, C order, native byte order. Only the bytes of `wanted` (whole elements,
    /// a range of `out`) must be right on return. Data of any other length or with any other flaw is `Corrupt`.
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()>;

    /// The encoded bytes of `raw`: exactly the chunk of `shape`, C order, native byte order.
    fn encode(&self, raw: &[u8], shape: &[u64], scratch: &mut Scratch) -> Result<Vec<u8>>;
}
