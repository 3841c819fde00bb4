//! Access patterns and their cost for a given division into blocks.

/// A kind of read: boxes of a shape, anywhere in the array.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Shape of the box in elements; longer than the array means all of an axis.
    pub extent: Vec<u64>,
    /// Relative frequency of the pattern.
    pub probability: f64,
}

/// Length that the planner assumes for an axis of length 0, which will be appended to.
const GROWING: u64 = 4096;

/// The array's shape as the planner sees it: growing axes are long enough to fill a shard of so many elements.
pub(crate) fn planned_shape(shape: &[u64], shard: u64) -> Vec<u64> {
    let fixed = shape.iter().filter(|&&len| len > 0).fold(1_u64, |product, &len| product.saturating_mul(len));
    let growing = GROWING.max(shard.div_ceil(fixed));
    shape.iter().map(|&len| if len == 0 { growing } else { len }).collect()
}

/// Default access pattern: maps over the last two axes, and lines along the other axes together, equally often (rows
/// and columns in a 2-D array). The chunk's size fixes the product of the two chunk counts, so their sum is smallest if
/// both are equal: neither maps nor time series suffer. A rare box with the array's proportions determines the division
/// between the map's two axes. A 1-D array is read in stretches of one `block`, the approximate number of elements of a
/// chunk.
pub(crate) fn default_patterns(shape: &[u64], block: f64) -> Vec<Pattern> {
    let rank = shape.len();
    if rank <= 1 {
        return vec![Pattern { extent: vec![(block as u64).max(1); rank], probability: 1.0 }];
    }
    let mapped = if rank == 2 { 1 } else { 2 };
    let (lines, mut map) = (rank - mapped, vec![1; rank]);
    map[lines..].copy_from_slice(&shape[lines..]);
    let line = |axis: usize| {
        let mut extent = vec![1; rank];
        extent[axis] = shape[axis];
        Pattern { extent, probability: 0.4 / lines as f64 }
    };
    let mut patterns: Vec<Pattern> = (0..lines).map(line).collect();
    patterns.push(Pattern { extent: map, probability: 0.4 });
    patterns.push(Pattern { extent: typical_box(shape, block), probability: 0.2 });
    patterns
}

/// A box with the array's proportions that takes a quarter as many chunks as a well-placed map or line would.
fn typical_box(shape: &[u64], block: f64) -> Vec<u64> {
    let blocks = shape.iter().map(|&len| len as f64).product::<f64>() / block.max(1.0);
    let share = (blocks.sqrt() / 4.0).max(1.0) / blocks.max(1.0);
    let scale = share.powf(1.0 / shape.len() as f64);
    shape.iter().map(|&len| ((len as f64 * scale) as u64).clamp(1, len)).collect()
}

/// Expected number of blocks that the reads of all patterns touch: PStore's Eq. 1, Σ Pᵢ Π ((sᵢⱼ − 1)/cⱼ + 1).
pub(crate) fn blocks_touched(patterns: &[Pattern], shape: &[u64], block: &[u64]) -> f64 {
    patterns.iter().map(|pattern| pattern.probability * touched(&pattern.extent, shape, block)).sum()
}

/// Expected number of blocks that a box at a random position touches: Π ((sⱼ − 1)/cⱼ + 1), each factor capped by the
/// number of blocks on its axis, because a box as long as the axis can only start at 0.
#[must_use]
pub fn touched(extent: &[u64], shape: &[u64], block: &[u64]) -> f64 {
    let axes = extent.iter().zip(shape).zip(block);
    axes.map(|((&extent, &len), &block)| {
        let extent = extent.clamp(1, len.max(1));
        let crossed = (extent - 1) as f64 / block.max(1) as f64 + 1.0;
        crossed.min(len.div_ceil(block.max(1)) as f64)
    })
    .product()
}

/// Candidate block lengths for an axis: those that divide it into a few equal blocks (little waste at the edge), powers
/// of two, and multiples and fractions of the source's chunk length. Ascending, from 1 to `len`.
pub(crate) fn lengths(len: u64, source: Option<u64>) -> Vec<u64> {
    let mut out = vec![1, len];
    let mut parts = 1_u64;
    while parts < len {
        out.push(len.div_ceil(parts));
        parts = if parts < 12 { parts + 1 } else { parts.saturating_add(parts / 6) };
    }
    out.extend((0..63).map(|bit| 1_u64 << bit).filter(|&power| power < len));
    if let Some(source) = source.filter(|&source| source > 0) {
        out.extend([1, 2, 3, 4, 6, 8, 16].map(|k| source.saturating_mul(k)));
        out.extend([2, 3, 4, 5, 6, 7, 8, 16].into_iter().filter(|&k| source.is_multiple_of(k)).map(|k| source / k));
    }
    out.retain(|&length| length >= 1 && length <= len);
    out.sort_unstable();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_blocks() {
        let pattern = |extent: &[u64]| [Pattern { extent: extent.to_vec(), probability: 1.0 }];
        let touched = |extent: &[u64]| blocks_touched(&pattern(extent), &[100, 100], &[10, 25]);
        assert!((touched(&[1, 1]) - 1.0).abs() < 1e-12);
        assert!((touched(&[100, 1]) - 10.0).abs() < 1e-12);
        assert!((touched(&[1, u64::MAX]) - 4.0).abs() < 1e-12);
        assert!((touched(&[11, 1]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn balances_maps_and_lines() {
        let patterns = default_patterns(&[240, 35, 138, 195], 65536.0);
        let extents: Vec<_> = patterns.iter().map(|pattern| pattern.extent.clone()).collect();
        assert_eq!(extents[..3], [vec![240, 1, 1, 1], vec![1, 35, 1, 1], vec![1, 1, 138, 195]]);
        let [t, z, y, x] = extents[3][..] else { panic!("four axes") };
        assert!(t > z && x > y && y > z && t * z * y * x > 65536);
        assert_eq!(default_patterns(&[10, 20], 1.0).len(), 3);
    }

    #[test]
    fn lists_lengths_that_waste_little() {
        let list = lengths(138, Some(23));
        for length in [1, 23, 46, 69, 138, 64] {
            assert!(list.contains(&length), "{length}");
        }
        assert!(lengths(u64::MAX, Some(u64::MAX)).len() < 500);
        assert_eq!(lengths(1, None), [1]);
    }
}
