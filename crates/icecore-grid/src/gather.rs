//! Order in which a pack reads its source: boxes of whole shards.

use crate::access::lengths;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{gcd, shrink};
use crate::local_search::local_search;
use crate::region::Region;

/// Largest number of boxes.
const MAX_REGIONS: u64 = 1 << 22;

/// Stored chunks of a regular grid. Elements outside them have the fill value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Where in the array the grid begins.
    pub origin: Vec<u64>,
    /// Elements that the grid covers, and elements of a chunk, along each axis.
    pub shape: Vec<u64>,
    pub chunk: Vec<u64>,
    /// Flat indexes (C order over the grid).
    pub chunks: Vec<u64>,
}

/// Divides an array into boxes of whole shards, each within `budget_bytes` of raw data unless it is a single shard.
/// Source chunks that overlap two boxes are decoded twice, so the division minimises their number, and boxes that share
/// such chunks are consecutive. Together the boxes cover the array exactly once; boxes at its edge are clipped. With
/// `held` (the stored chunks of the source), boxes without a stored chunk are left out.
///
/// # Errors
/// `invalid`: ranks differ or a length is 0; `memory`: too many boxes.
pub fn gather_regions(
    shape: &[u64],
    shard: &[u64],
    source_chunk: Option<&[u64]>,
    itemsize: u64,
    budget_bytes: u64,
    held: Option<&Held>,
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
    // Axes along which neighbouring boxes share source chunks vary fastest; the others are in C order.
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by_key(|&axis| straddled(shape[axis], block[axis], source[axis]) > 0);
    let grid = Boxes { shape, block: &block, counts: &counts, order: &order };
    match held {
        Some(held) => grid.touched(held),
        None => grid.all(),
    }
}

/// The box, a multiple of the shard on each axis, with the fewest repeated decodes of the source; among equals the
/// largest.
fn choose_box(shape: &[u64], shard: &[u64], source: &[u64], budget: u64) -> Vec<u64> {
    let axes = || shape.iter().zip(shard).zip(source);
    let candidates: Vec<Vec<u64>> = axes()
        .map(|((&len, &shard), &source)| {
            let whole = len.div_ceil(shard);
            // The length of a source chunk in shards: its multiples and fractions align with the source.
            let counts = lengths(whole, Some(source.div_ceil(shard)));
            counts.into_iter().map(|count| count.saturating_mul(shard)).collect()
        })
        .collect();
    let mut block = local_search(&candidates, 1, |block| {
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

/// Number of source chunks along an axis that box boundaries cut, counted once per cut.
fn straddled(len: u64, block: u64, source: u64) -> u64 {
    let inner = len.div_ceil(block) - 1;
    // Box boundaries at multiples of both lengths cut no chunk.
    inner - inner / (source / gcd(source, block))
}

/// A grid of equal boxes over an array, and the order in which they are visited: the last axis in `order` varies
/// fastest.
struct Boxes<'a> {
    shape: &'a [u64],
    block: &'a [u64],
    counts: &'a [u64],
    order: &'a [usize],
}

impl Boxes<'_> {
    fn all(&self) -> Result<Vec<Region>> {
        let total = self.counts.iter().fold(1_u64, |product, &n| product.saturating_mul(n));
        if total > MAX_REGIONS {
            return Err(self.too_many(total));
        }
        let last: Vec<u64> = self.counts.iter().map(|n| n - 1).collect();
        let mut out = Vec::new();
        self.each(&vec![0; self.shape.len()], &last, |at| out.push(self.region(at)));
        Ok(out)
    }

    /// The boxes that overlap a stored chunk, in the order of the walk.
    fn touched(&self, held: &Held) -> Result<Vec<Region>> {
        let rank = self.shape.len();
        if [&held.origin, &held.shape, &held.chunk].iter().any(|of| of.len() != rank) || held.chunk.contains(&0) {
            let message = format!("chunks {:?} of {:?} for an array of shape {:?}", held.chunk, held.shape, self.shape);
            return Err(Error::new(ErrorKind::Invalid, message).hint("give one length of at least 1 per axis"));
        }
        let mut ranks = Vec::new();
        let mut room = MAX_REGIONS as usize;
        for chunk in &held.chunks {
            let Some((first, last)) = self.span(held, *chunk) else { continue };
            let count = first.iter().zip(&last).fold(1_u64, |product, (a, b)| product.saturating_mul(b - a + 1));
            if count > MAX_REGIONS {
                return Err(self.too_many(count));
            }
            self.each(&first, &last, |at| ranks.push(self.rank(at)));
            if ranks.len() > room {
                ranks.sort_unstable();
                ranks.dedup();
                if ranks.len() as u64 > MAX_REGIONS {
                    return Err(self.too_many(ranks.len() as u64));
                }
                room = ranks.len() + MAX_REGIONS as usize;
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        match ranks.len() as u64 {
            count if count > MAX_REGIONS => Err(self.too_many(count)),
            _ => Ok(ranks.into_iter().map(|rank| self.region(&self.at(rank))).collect()),
        }
    }

    /// The first and the last box along each axis that overlap a chunk; None if the chunk is outside the array.
    fn span(&self, held: &Held, chunk: u64) -> Option<(Vec<u64>, Vec<u64>)> {
        let (mut rest, rank) = (chunk, self.shape.len());
        let (mut first, mut last) = (vec![0; rank], vec![0; rank]);
        for axis in (0..rank).rev() {
            let count = held.shape[axis].div_ceil(held.chunk[axis]).max(1);
            let start = (rest % count).checked_mul(held.chunk[axis])?;
            rest /= count;
            let end = held.shape[axis].min(start.saturating_add(held.chunk[axis]));
            let clip = |at: u64| held.origin[axis].saturating_add(at).min(self.shape[axis]);
            let (start, end) = (clip(start), clip(end));
            if start >= end {
                return None;
            }
            (first[axis], last[axis]) = (start / self.block[axis], (end - 1) / self.block[axis]);
        }
        (rest == 0).then_some((first, last))
    }

    /// Calls `visit` for each box from `first` to `last` along each axis.
    fn each(&self, first: &[u64], last: &[u64], mut call: impl FnMut(&[u64])) {
        let mut at = first.to_vec();
        loop {
            call(&at);
            let turned = self.order.iter().rev().find(|&&axis| {
                let is_last = at[axis] == last[axis];
                at[axis] = if is_last { first[axis] } else { at[axis] + 1 };
                !is_last
            });
            if turned.is_none() {
                return;
            }
        }
    }

    /// A box's number in the walk.
    fn rank(&self, at: &[u64]) -> u128 {
        self.order.iter().fold(0, |rank, &axis| rank * u128::from(self.counts[axis]) + u128::from(at[axis]))
    }

    fn at(&self, mut rank: u128) -> Vec<u64> {
        let mut at = vec![0; self.shape.len()];
        for &axis in self.order.iter().rev() {
            let count = u128::from(self.counts[axis]);
            at[axis] = (rank % count) as u64; // below a count that is a u64
            rank /= count;
        }
        at
    }

    fn region(&self, at: &[u64]) -> Region {
        let start: Vec<u64> = at.iter().zip(self.block).map(|(&at, &block)| at * block).collect();
        let ends = start.iter().zip(self.block).zip(self.shape).map(|((&start, &block), &len)| block.min(len - start));
        Region { shape: ends.collect(), start }
    }

    fn too_many(&self, count: u64) -> Error {
        let (shape, block) = (self.shape, self.block);
        Error::new(ErrorKind::Memory, format!("an array of shape {shape:?} in {count} pieces of {block:?}"))
            .hint("use larger shards or a larger memory budget")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_up_with_the_source_where_the_budget_allows() {
        // Shards of 4 rows against source chunks of 6 rows: boxes of 12 rows cut none.
        let regions = gather_regions(&[48, 100], &[4, 100], Some(&[6, 50]), 8, 12 * 100 * 8, None).unwrap();
        assert_eq!(regions.len(), 4);
        assert!(regions.iter().all(|region| region.shape == [12, 100]));
    }

    #[test]
    fn without_a_source_the_boxes_are_as_large_as_the_budget() {
        let regions = gather_regions(&[64, 64], &[8, 8], None, 1, 1024, None).unwrap();
        assert_eq!(regions.len(), 4);
        assert!(regions.iter().all(|region| region.shape == [16, 64]), "{regions:?}");
    }

    #[test]
    fn one_shard_at_least() {
        let regions = gather_regions(&[10, 10], &[5, 10], Some(&[10, 1]), 8, 1, None).unwrap();
        assert_eq!(regions.len(), 2);
        assert_eq!(gather_regions(&[], &[], None, 8, 1, None).unwrap().len(), 1);
        assert!(gather_regions(&[0, 5], &[1, 1], None, 8, 1, None).unwrap().is_empty());
    }

    #[test]
    fn neighbours_that_share_source_chunks_follow_one_another() {
        // Every boundary along axis 0 cuts a source chunk, none along axis 1 does.
        let regions = gather_regions(&[8, 8], &[2, 4], Some(&[8, 4]), 1, 8, None).unwrap();
        assert_eq!(regions[1].start, [2, 0]);
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        assert_eq!(gather_regions(&[5], &[0], None, 1, 1, None).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(gather_regions(&[5], &[1, 1], None, 1, 1, None).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(gather_regions(&[5], &[1], Some(&[]), 1, 1, None).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(gather_regions(&[1 << 60], &[1], None, 1, 1, None).unwrap_err().kind, ErrorKind::Memory);
    }

    /// A chunk here and there: exactly the boxes of the whole walk that meet one of them, in its order.
    #[test]
    fn only_boxes_that_hold_something() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let shape = vec![1 + next(30), 1 + next(30)];
            let chunk = vec![1 + next(9), 1 + next(9)];
            let origin = vec![next(5), next(5)];
            let inner: Vec<u64> = shape.iter().zip(&origin).map(|(n, o)| n.saturating_sub(*o)).collect();
            let grid: Vec<u64> = inner.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
            let cells = grid[0] * grid[1];
            let chunks: Vec<u64> = (0..next(4)).filter(|_| cells > 0).map(|_| next(cells.max(1))).collect();
            let held =
                Held { origin: origin.clone(), shape: inner.clone(), chunk: chunk.clone(), chunks: chunks.clone() };
            let (shard, budget) = ([1 + next(6), 1 + next(6)], 1 + next(100));
            let all = gather_regions(&shape, &shard, Some(&chunk), 1, budget, None).unwrap();
            let some = gather_regions(&shape, &shard, Some(&chunk), 1, budget, Some(&held)).unwrap();
            let meets = |of: &Region| {
                chunks.iter().any(|flat| {
                    [flat / grid[1], flat % grid[1]].into_iter().enumerate().all(|(axis, at)| {
                        let start = origin[axis] + at * chunk[axis];
                        let end = origin[axis] + ((at + 1) * chunk[axis]).min(inner[axis]);
                        start < of.end()[axis] && of.start[axis] < end
                    })
                })
            };
            let expected: Vec<Region> = all.into_iter().filter(meets).collect();
            assert_eq!(some, expected);
        }
    }

    #[test]
    fn empty_boxes_cost_nothing() {
        let shape = [1 << 40, 1 << 20];
        let held =
            Held { origin: vec![0, 0], shape: shape.into(), chunk: vec![1 << 10, 1 << 10], chunks: vec![1 << 39, 5] };
        let found = gather_regions(&shape, &[1 << 12, 1 << 12], None, 8, 1 << 28, Some(&held)).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[1].start[0] <= 1 << 39 && found[1].end()[0] > 1 << 39);
        assert_eq!(gather_regions(&shape, &[1, 1], None, 8, 1, None).unwrap_err().kind, ErrorKind::Memory);
        let beyond = Held { chunks: vec![u64::MAX], ..held.clone() };
        assert!(gather_regions(&shape, &[1 << 12, 1 << 12], None, 8, 1, Some(&beyond)).unwrap().is_empty());
        let flat = Held { chunk: vec![1], ..held };
        assert_eq!(gather_regions(&shape, &[1, 1], None, 8, 1, Some(&flat)).unwrap_err().kind, ErrorKind::Invalid);
    }
}
