//! Interface of chunks whose numbers can be read with reduced precision.

use icecore_grid::Result;

/// A chunk in planes, most significant first. Normal numbers (each part of a complex one) that are read from the first
/// planes alone have a known relative error; zero, subnormal numbers, infinities and NaN are always exact, bit for bit.
pub trait Planes {
    /// Number of planes, at least 2.
    fn count(&self) -> usize;

    /// Maximum relative error if only the first `planes` planes are read; 0 for all of them.
    fn bound(&self, planes: usize) -> f64;

    /// The smallest number of planes that holds the `bytes` most significant bytes of each number.
    fn for_bytes(&self, bytes: usize) -> usize;

    /// Bytes at the front of a stored chunk that [`Planes::prefix_len`] needs.
    fn head_len(&self) -> u64;

    /// Bytes of a stored chunk up to the end of its first `planes` planes. `chunk` is the length of the whole stored
    /// chunk.
    ///
    /// Errors: `Corrupt` for a table that is damaged or does not match the chunk.
    fn prefix_len(&self, head: &[u8], planes: usize, chunk: u64) -> Result<u64>;

    /// The smallest number of planes with a relative error of at most `rtol`.
    fn for_rtol(&self, rtol: f64) -> usize {
        (1..self.count()).find(|planes| self.bound(*planes) <= rtol).unwrap_or(self.count())
    }
}
