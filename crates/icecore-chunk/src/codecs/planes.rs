//! Interface of chunks whose numbers can be read with reduced precision.

use icecore_grid::Result;

/// A chunk in planes, most significant first. Normal numbers (each part of a complex one) that are read from the first planes
/// alone have a known relative error; zero, subnormal numbers, infinities and NaN always come back bit for bit.
pub trait Planes {
    /// How many there are, at least 2.
    fn count(&self) -> usize;

    /// The largest relative error when only the first `planes` planes are read; 0 for all of them.
    fn bound(&self, planes: usize) -> f64;

    /// The fewest planes that hold the `bytes` most significant bytes of each number.
    fn for_bytes(&self, bytes: usize) -> usize;

    /// Bytes in front of a stored chunk that [`Planes::prefix_len`] wants to see.
    fn head_len(&self) -> u64;

    /// Bytes of a stored chunk up to the end of its first `planes` planes. `chunk` is what the chunk takes in all.
    ///
    /// Errors: `Corrupt` for a table that is damaged or does not fit the chunk.
    fn prefix_len(&self, head: &[u8], planes: usize, chunk: u64) -> Result<u64>;

    /// The fewest planes with a relative error of at most `rtol`.
    fn for_rtol(&self, rtol: f64) -> usize {
        (1..self.count()).find(|planes| self.bound(*planes) <= rtol).unwrap_or(self.count())
    }
}
