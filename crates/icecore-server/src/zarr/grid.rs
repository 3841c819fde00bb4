//! Chunk grid of a served array.

use icecore::grid::Axis;
use icecore::read::ArrayView;

/// Maximum bytes of a chunk; larger ones are divided.
const LARGEST: u64 = 16 << 20;

/// Shape of the served chunks: the array's own, divided along the leading axes if they are large.
pub(super) fn chunk_shape(view: &ArrayView) -> Vec<u64> {
    let axes = view.grid().axes.iter();
    let own = axes.map(|axis| match axis {
        Axis::Regular { chunk, len } => (*chunk).min((*len).max(1)),
        // Chunks of different lengths: regular ones of their average length.
        Axis::Rectilinear { len, .. } => len.div_ceil(axis.count().max(1)).max(1),
    });
    divided(own.collect(), view.meta().dtype.size() as u64)
}

fn divided(mut shape: Vec<u64>, itemsize: u64) -> Vec<u64> {
    let bytes = |shape: &[u64]| shape.iter().fold(itemsize.max(1), |all, n| all.saturating_mul(*n));
    for axis in 0..shape.len() {
        let whole = bytes(&shape);
        if let Some(length) = shape.get_mut(axis).filter(|_| whole > LARGEST) {
            let row = (whole / *length).max(1);
            *length = (LARGEST / row).clamp(1, *length);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_chunks_are_divided() {
        assert_eq!(divided(vec![10, 10], 8), [10, 10]);
        assert_eq!(divided(vec![1 << 30], 4), [4 << 20]);
        assert_eq!(divided(vec![100, 1 << 20, 16], 8), [1, 1 << 17, 16]);
        assert_eq!(divided(vec![], 8), [0_u64; 0]);
    }
}
