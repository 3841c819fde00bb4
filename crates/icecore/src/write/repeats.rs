//! repeats: which repetitions zstd shall look for in a shard, tried on some of its chunks.

use icecore_chunk::Repeats;
use icecore_grid::Result;
use rayon::prelude::*;

use super::buffers::Lent;

/// One chunk in so many is tried, and no more than [`MOST`]: a shard takes an eighth more time at most.
const EVERY: u64 = 16;
const MOST: u64 = 4;

/// What suits chunks that lie evenly among the `total` of a shard, of which `encoded` gives one: five bytes, which are read
/// faster, unless four save more than a hundredth. Depends on the shard's data alone, so that the same data become the same bytes.
pub(crate) fn suited(total: u64, encoded: impl Fn(u64, Repeats) -> Result<Option<Lent>> + Sync) -> Result<Repeats> {
    let tried = (total / EVERY).min(MOST);
    let bytes = |repeats| -> Result<usize> {
        let each = (0..tried).into_par_iter().map(|nth| {
            let chunk = encoded(total / (2 * tried) * (2 * nth + 1), repeats)?;
            Ok(chunk.map_or(0, |chunk| chunk.len()))
        });
        each.sum()
    };
    let (four, five) = rayon::join(|| bytes(Repeats::Four), || bytes(Repeats::Five));
    Ok(match (four?, five?) {
        // Nothing was tried, or all of it is fill value.
        (0, 0) => Repeats::Usual,
        (four, five) if 100 * four < 99 * five => Repeats::Four,
        _ => Repeats::Five,
    })
}
