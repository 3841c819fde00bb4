//! The order in which a pack reads its source: boxes of whole shards.

use crate::access::lengths;
use crate::climb::climb;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{gcd, shrink};
use crate::region::Region;

/// Most boxes that are written down.
const MAX_REGIONS: u64 = 1 << 22;

/// Divides an array into boxes of whole shards, each within `budget_bytes` of raw data where it has more than one shard,
/// such that chunks of the source that straddle two boxes, which have to be decoded twice, are few. Boxes that
/// share such chunks follow one another. Together the boxes cover the array exactly once; those at its edge are clipped.
///
/// # Errors
/// `invalid`: ranks differ or a length is 0; `memory`: more boxes than anyone could work through.
pub fn gather_regions(
    shape: &[u64],
    shard: &[u64],
    source_chunk: Option<&[u64]>,
    itemsize: u64,
    budget_bytes: u64,
) -> Result<Vec<Region>> {
    let rank = shape.len();
    for (what, given) in [("shard", Some(shard)), ("source chunk", source_chunk)] {
        let Some(given) = given else { continue };
        if given.len() != rank || given.contains(&0) {
            let message = format!("a {what} of shape {given:?} for an array of shape {shape:?}");
            return Err(Error::new(ErrorKind::Invalid, message).hint("give one length of at least 1 per axis"));
        }
    }
    if shape.contains(&0) {
        return Ok(vec![]);
    }
    let budget = (budget_bytes / itemsize.max(1)).max(1);
    let source = source_chunk.unwrap_or(shape);
    let block = choose_box(shape, shard, source, budget);
    let counts: Vec<u64> = shape.iter().zip(&block).map(|(&len, &block)| len.div_ceil(block)).collect();
    let total = counts.iter().fold(1_u64, |product, &n| product.saturating_mul(n));
    if total > MAX_REGIONS {
        return Err(Error::new(
            ErrorKind::Memory,
            format!("an array of shape {shape:?} in {total} pieces of {block:?}"),
        )
        .hint("use larger shards or a larger memory budget"));
    }
    // Axes along which neighbouring boxes share source chunks turn fastest; otherwise C order.
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by_key(|&axis| straddled(shape[axis], block[axis], source[axis]) > 0);
    Ok(walk(shape, &block, &counts, &order))
}

/// The box, a multiple of the shard on each axis, that decodes the source least; among equals the largest.
fn choose_box(shape: &[u64], shard: &[u64], source: &[u64], budget: u64) -> Vec<u64> {
    let axes = || shape.iter().zip(shard).zip(source);
    let candidates: Vec<Vec<u64>> = axes()
        .map(|((&len, &shard), &source)| {
            let whole = len.div_ceil(shard);
            // In units of shards; a source chunk is so many of them that the two line up.
            let counts = lengths(whole, Some(source.div_ceil(shard)));
            counts.into_iter().map(|count| count.saturating_mul(shard)).collect()
        })
        .collect();
    let mut block = climb(&candidates, 1, |block| {
        let size: f64 = block.iter().zip(shape).map(|(&block, &len)| block.min(len) as f64).product();
        let outside = (size / budget as f64).max(1.0);
        let (mut decoded, mut divided) = (1.0, 0.0);
        for (axis, ((&len, _), &source)) in axes().enumerate() {
            let chunks = len.div_ceil(source) as f64;
            decoded *= (chunks + straddled(len, block[axis], source) as f64) / chunks;
            divided += (1.0 + axis as f64) * (len as f64 / block[axis].min(len) as f64).log2();
        }
        decoded * outside.powi(4) * (1.0 + 1e-3 * divided)
    });
    shrink(&mut block, shard, budget);
    block
}

/// Number of source chunks along an axis that are cut by a boundary between boxes, counted once per cut.
fn straddled(len: u64, block: u64, source: u64) -> u64 {
    let inner = len.div_ceil(block) - 1;
    // Every so many boundaries one falls between two source chunks.
    inner - inner / (source / gcd(source, block))
}

fn walk(shape: &[u64], block: &[u64], counts: &[u64], order: &[usize]) -> Vec<Region> {
    let mut at = vec![0_u64; shape.len()];
    let mut out = Vec::new();
    loop {
        let start: Vec<u64> = at.iter().zip(block).map(|(&at, &block)| at * block).collect();
        let ends = start.iter().zip(block).zip(shape).map(|((&start, &block), &len)| block.min(len - start));
        let shape = ends.collect();
        out.push(Region { start, shape });
        let turned = order.iter().rev().find(|&&axis| {
            at[axis] = (at[axis] + 1) % counts[axis];
            at[axis] > 0
        });
        if turned.is_none() {
            return out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_up_with_the_source_where_the_budget_allows() {
        // Shards of 4 rows against source chunks of 6 rows: boxes of 12 rows cut none.
        let regions = gather_regions(&[48, 100], &[4, 100], Some(&[6, 50]), 8, 12 * 100 * 8).unwrap();
        assert_eq!(regions.len(), 4);
        assert!(regions.iter().all(|region| region.shape == [12, 100]));
    }

    #[test]
    fn without_a_source_the_boxes_are_as_large_as_the_budget() {
        let regions = gather_regions(&[64, 64], &[8, 8], None, 1, 1024).unwrap();
        assert_eq!(regions.len(), 4);
        assert!(regions.iter().all(|region| region.shape == [16, 64]), "{regions:?}");
    }

    #[test]
    fn one_shard_at_least() {
        let regions = gather_regions(&[10, 10], &[5, 10], Some(&[10, 1]), 8, 1).unwrap();
        assert_eq!(regions.len(), 2);
        assert_eq!(gather_regions(&[], &[], None, 8, 1).unwrap().len(), 1);
        assert!(gather_regions(&[0, 5], &[1, 1], None, 8, 1).unwrap().is_empty());
    }

    #[test]
    fn neighbours_that_share_source_chunks_follow_one_another() {
        // Every boundary along axis 0 cuts a source chunk, none along axis 1 does.
        let regions = gather_regions(&[8, 8], &[2, 4], Some(&[8, 4]), 1, 8).unwrap();
        assert_eq!(regions[1].start, [2, 0]);
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        assert_eq!(gather_regions(&[5], &[0], None, 1, 1).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(gather_regions(&[5], &[1, 1], None, 1, 1).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(gather_regions(&[5], &[1], Some(&[]), 1, 1).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(gather_regions(&[1 << 60], &[1], None, 1, 1).unwrap_err().kind, ErrorKind::Memory);
    }
}
