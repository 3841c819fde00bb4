//! Layout planner: shapes of chunks and shards from the array's shape and its expected reads.

use crate::access::{Pattern, blocks_touched, default_patterns, lengths, planned_shape};
use crate::error::{Error, ErrorKind, Result};
use crate::local_search::local_search;

/// Input of the planner.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutGoal {
    /// The array's shape; an axis of length 0 is treated as one that will grow.
    pub shape: Vec<u64>,
    /// True if rows will be appended along the first axis: reads of the whole axis then touch many chunks.
    pub grows: bool,
    /// Bytes per element.
    pub itemsize: u64,
    /// Minimum and maximum raw bytes of an inner chunk.
    pub inner_bytes: (u64, u64),
    /// Maximum stored bytes of a shard, unless a single inner chunk is larger.
    pub shard_bytes: u64,
    /// Compression ratio (raw bytes per stored byte) if known: the raw size of a shard grows by it (ρ of PStore's Eq.
    /// 5).
    pub ratio: f64,
    /// Expected reads. If empty, maps and time series are equally likely.
    pub patterns: Vec<Pattern>,
    /// Chunk shape of the source, if any: packing is faster if shards align with it.
    pub source_chunk: Option<Vec<u64>>,
    /// The inner chunk, if it is fixed already; then only the shard is planned.
    pub chunk: Option<Vec<u64>>,
}

impl LayoutGoal {
    /// Defaults: inner chunks of 64 KiB to 1 MiB, shards of up to 32 MiB, nothing known about reads or source.
    #[must_use]
    pub fn new(shape: Vec<u64>, itemsize: u64) -> Self {
        let (inner_bytes, shard_bytes) = ((64 << 10, 1 << 20), 32 << 20);
        let (patterns, source_chunk, chunk) = (vec![], None, None);
        Self { shape, grows: false, itemsize, inner_bytes, shard_bytes, ratio: 1.0, patterns, source_chunk, chunk }
    }

    fn check(&self) -> Result<()> {
        let invalid = |message: String, hint: &str| Err(Error::new(ErrorKind::Invalid, message).hint(hint));
        let (min, max) = self.inner_bytes;
        if min > max {
            return invalid(format!("chunks of at least {min} and at most {max} bytes"), "swap the two");
        }
        if !(self.ratio >= 1.0 && self.ratio.is_finite()) {
            return invalid(format!("a compression ratio of {}", self.ratio), "raw bytes per stored byte: 1 or more");
        }
        let rank = self.shape.len();
        let extents = self.patterns.iter().map(|pattern| pattern.extent.len());
        let chunks = [&self.source_chunk, &self.chunk].into_iter().flatten().map(Vec::len);
        let given = extents.chain(chunks).find(|&given| given != rank);
        if let Some(given) = given {
            return invalid(
                format!("an access pattern or chunk has {given} axes, the array has {rank}"),
                "give one extent per axis",
            );
        }
        if self.chunk.as_ref().is_some_and(|chunk| chunk.contains(&0)) {
            return invalid(format!("a chunk of {:?} elements", self.chunk), "use lengths of 1 or more");
        }
        if let Some(bad) = self.patterns.iter().find(|of| !(of.probability >= 0.0 && of.probability.is_finite())) {
            return invalid(
                format!("an access pattern has probability {}", bad.probability),
                "use numbers from 0 to 1",
            );
        }
        Ok(())
    }
}

/// The planned shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutPlan {
    /// Shape of an inner chunk: the unit of decoding.
    pub chunk: Vec<u64>,
    /// Shape of a shard, the unit of storage: a multiple of `chunk` on every axis.
    pub shard: Vec<u64>,
}

/// Chooses the shapes with the least expected cost of a read: PStore's Eq. 1 (chunks touched) under Eq. 5 (bounds on a
/// chunk's size). The cost of a chunk is its bytes plus a fixed share for its request and decoding. Chunks that divide
/// the axes evenly are preferred, as are shards that align with the source's chunks. Takes at most a few milliseconds.
///
/// # Errors
/// `invalid`: contradictory bounds, ranks that differ, or invalid probabilities.
pub fn plan_layout(goal: &LayoutGoal) -> Result<LayoutPlan> {
    goal.check()?;
    let itemsize = goal.itemsize.max(1);
    // An f64 represents every size that fits in memory exactly; larger sizes saturate.
    let shard = ((goal.shard_bytes as f64 * goal.ratio) as u64 / itemsize).max(1);
    let shape = planned_shape(&goal.shape, shard.max(goal.inner_bytes.1 / itemsize));
    let (min, max) = goal.inner_bytes;
    let (min, max) = (min.max(itemsize) / itemsize, max.max(itemsize) / itemsize);
    let stated = goal.patterns.iter().any(|pattern| pattern.probability > 0.0);
    // Touching a chunk on a local disk takes as long as decoding about 36 kB (bench/pstore_layout.py), so for stated
    // reads the smallest allowed size is best. For guessed reads the geometric mean of the bounds leaves room for other
    // reads and stores.
    let overhead = if stated { min as f64 } else { (min as f64 * max as f64).sqrt() };
    let patterns = if stated { goal.patterns.clone() } else { default_patterns(&shape, overhead) };
    let planner = Planner { goal, shape: &shape, patterns, overhead };
    // An array that fits into one chunk is one chunk, unless reads are stated.
    let whole = if stated { min } else { max };
    let chunk = match &goal.chunk {
        Some(chunk) => chunk.clone(),
        None if volume(&shape) <= u128::from(whole) && !goal.shape.contains(&0) && !(goal.grows && stated) => {
            shape.clone()
        }
        None => planner.chunk(min, max),
    };
    let shard = planner.shard(&chunk, shard);
    Ok(LayoutPlan { chunk, shard })
}

/// Elements of a block.
fn volume(block: &[u64]) -> u128 {
    block.iter().fold(1, |product: u128, &len| product.saturating_mul(u128::from(len)))
}

struct Planner<'a> {
    goal: &'a LayoutGoal,
    shape: &'a [u64],
    patterns: Vec<Pattern>,
    /// In elements.
    overhead: f64,
}

impl Planner<'_> {
    fn source(&self, axis: usize) -> Option<u64> {
        self.goal.source_chunk.as_ref().map(|chunk| chunk[axis])
    }

    /// Chooses the inner chunk, of `min` to `max` elements.
    fn chunk(&self, min: u64, max: u64) -> Vec<u64> {
        let candidates: Vec<Vec<u64>> =
            self.shape.iter().enumerate().map(|(axis, &len)| lengths(len, self.source(axis))).collect();
        let cost = |chunk: &[u64]| {
            let size: f64 = chunk.iter().map(|&len| len as f64).product();
            let outside = beyond(size, max as f64).max(beyond(min as f64, size));
            let cost = blocks_touched(&self.patterns, self.shape, chunk) * (size + self.overhead);
            cost * outside.powi(4) * self.padding(chunk) * self.order(chunk) * self.misfit(chunk, 0.1)
        };
        let mut chunk = local_search(&candidates, self.patterns.len(), cost);
        shrink(&mut chunk, &vec![1; self.shape.len()], max);
        grow(&mut chunk, self.shape, min, cost);
        chunk
    }

    /// Chooses the shard: as many chunks as fit `most` elements, arranged so that a read touches few shards.
    fn shard(&self, chunk: &[u64], most: u64) -> Vec<u64> {
        let candidates: Vec<Vec<u64>> = (0..chunk.len()).map(|axis| self.shard_lengths(axis, chunk[axis])).collect();
        let most = u128::from(most).max(volume(chunk));
        let mut shard = local_search(&candidates, self.patterns.len(), |shard| {
            let size: f64 = shard.iter().map(|&len| len as f64).product();
            let outside = beyond(size, most as f64);
            let cost = blocks_touched(&self.patterns, self.shape, shard);
            // Unused room costs little in a shard, so it only breaks ties.
            cost * outside.powi(4) * self.padding(shard).powf(0.1) * self.order(shard) * self.misfit(shard, 0.25)
        });
        shrink(&mut shard, chunk, u64::try_from(most).unwrap_or(u64::MAX));
        shard
    }

    /// Candidate multiples of the chunk, up to the first that covers the axis, including those that align with the
    /// source.
    fn shard_lengths(&self, axis: usize, chunk: u64) -> Vec<u64> {
        let whole = self.shape[axis].div_ceil(chunk);
        let mut counts = lengths(whole, None);
        if let Some(source) = self.source(axis).filter(|&source| source > 0) {
            let step = source / gcd(source, chunk);
            counts
                .extend([1, 2, 3, 4, 6, 8, 12, 16].map(|k| step.saturating_mul(k)).into_iter().filter(|&n| n <= whole));
            counts.sort_unstable();
            counts.dedup();
        }
        counts.into_iter().map(|count| count.saturating_mul(chunk)).collect()
    }

    /// Ratio of stored elements to elements of the array; a growing axis has no edge.
    fn padding(&self, block: &[u64]) -> f64 {
        let axes = self.goal.shape.iter().zip(block).filter(|(len, _)| **len > 0);
        axes.map(|(&len, &block)| len.div_ceil(block) as f64 * block as f64 / len as f64).product()
    }

    /// Breaks ties in favour of dividing the leading axes: blocks are then longer runs of a C-order array.
    fn order(&self, block: &[u64]) -> f64 {
        let divided =
            |(at, (&len, &block)): (usize, (&u64, &u64))| (at + 1) as f64 * (len as f64 / block as f64).log2();
        1.0 + 1e-4 * self.shape.iter().zip(block).enumerate().map(divided).sum::<f64>().max(0.0)
    }

    /// Cost of the axes that do not align with the source's chunks, `price` each.
    fn misfit(&self, block: &[u64], price: f64) -> f64 {
        let fits = |(axis, (&block, &len)): (usize, (&u64, &u64))| match self.source(axis) {
            Some(source) if source > 0 => block >= len || block.is_multiple_of(source) || source.is_multiple_of(block),
            _ => true,
        };
        let misfits = block.iter().zip(self.shape).enumerate().filter(|&at| !fits(at)).count();
        1.0 + price * misfits as f64
    }
}

/// Ratio of a size to its limit, 1 below the limit. The first step above counts double: a block that has to be cut or
/// lengthened afterwards is no longer the optimum that was found.
fn beyond(size: f64, most: f64) -> f64 {
    if size > most { 2.0 * size / most } else { 1.0 }
}

/// Greatest common divisor.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Shrinks a block of whole units to at most `most` elements, if it has more than one unit. The search respects the
/// limit, but its candidates are coarse.
pub(crate) fn shrink(block: &mut [u64], unit: &[u64], most: u64) {
    while volume(block) > u128::from(most) {
        let Some(axis) =
            (0..block.len()).filter(|&axis| block[axis] > unit[axis]).max_by_key(|&axis| block[axis] / unit[axis])
        else {
            return;
        };
        let others = volume(&block[..axis]).saturating_mul(volume(&block[axis + 1..]));
        let fits = u128::from(most) / others.max(1) / u128::from(unit[axis]);
        let fits = u64::try_from(fits).unwrap_or(u64::MAX).max(1).saturating_mul(unit[axis]);
        block[axis] = fits.min(block[axis] - unit[axis]);
    }
}

/// Lengthens a chunk along the cheapest axis until it holds `min` elements or the whole array. Among equal axes the
/// last one is lengthened.
fn grow(chunk: &mut [u64], shape: &[u64], min: u64, cost: impl Fn(&[u64]) -> f64) {
    while volume(chunk) < u128::from(min) {
        let longer = |axis: usize| {
            let others = volume(&chunk[..axis]).saturating_mul(volume(&chunk[axis + 1..])).max(1);
            let wanted = u64::try_from(u128::from(min).div_ceil(others)).unwrap_or(u64::MAX).min(shape[axis]);
            let mut longer = chunk.to_vec();
            longer[axis] = wanted;
            (wanted > chunk[axis]).then_some(longer)
        };
        let options = (0..chunk.len()).rev().filter_map(longer);
        let Some(best) = options.min_by(|a, b| cost(a).total_cmp(&cost(b))) else { return };
        chunk.copy_from_slice(&best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(block: &[u64], itemsize: u64) -> u64 {
        block.iter().product::<u64>() * itemsize
    }

    #[test]
    fn balances_maps_and_time_series() {
        let plan = plan_layout(&LayoutGoal::new(vec![8760, 721, 1440], 4)).unwrap();
        let c = &plan.chunk;
        let maps = (721_f64 / c[1] as f64).ceil() * (1440_f64 / c[2] as f64).ceil();
        let series = (8760_f64 / c[0] as f64).ceil();
        assert!(maps / series < 3.0 && series / maps < 3.0, "{plan:?}: {maps} {series}");
        assert!((64 << 10..=1 << 20).contains(&bytes(c, 4)), "{plan:?}");
        let shard = bytes(&plan.shard, 4);
        assert!((8 << 20..=32 << 20).contains(&shard), "{plan:?}");
    }

    #[test]
    fn small_arrays_are_one_chunk() {
        for shape in [vec![], vec![1], vec![138, 195], vec![7, 3, 11]] {
            let plan = plan_layout(&LayoutGoal::new(shape.clone(), 8)).unwrap();
            assert_eq!((&plan.chunk, &plan.shard), (&shape, &shape));
        }
    }

    #[test]
    fn shards_hold_as_much_more_as_compression_saves() {
        let plain = plan_layout(&LayoutGoal::new(vec![240, 35, 138, 195], 4)).unwrap();
        let chunk = Some(plain.chunk.clone());
        let goal = LayoutGoal { chunk, ratio: 4.0, ..LayoutGoal::new(vec![240, 35, 138, 195], 4) };
        let packed = plan_layout(&goal).unwrap();
        assert_eq!(plain.chunk, packed.chunk);
        assert!(packed.shard.iter().zip(&packed.chunk).all(|(s, c)| s.is_multiple_of(*c)), "{packed:?}");
        let (small, large) = (bytes(&plain.shard, 4), bytes(&packed.shard, 4));
        assert!(large >= 2 * small && large <= 128 << 20, "{small} {large}");
    }

    #[test]
    fn follows_stated_patterns() {
        let mut goal = LayoutGoal::new(vec![2000, 2000, 100], 4);
        goal.patterns = vec![Pattern { extent: vec![2000, 1, 1], probability: 1.0 }];
        let along = plan_layout(&goal).unwrap().chunk;
        assert!(along[0] == 2000, "{along:?}");
        goal.patterns = vec![Pattern { extent: vec![1, 2000, 100], probability: 1.0 }];
        let across = plan_layout(&goal).unwrap().chunk;
        assert!(across[0] == 1, "{across:?}");
    }

    #[test]
    fn a_small_array_is_chunked_for_reads_that_are_stated() {
        let small = LayoutGoal::new(vec![64, 64, 64], 4);
        assert_eq!(plan_layout(&small).unwrap().chunk, small.shape);
        for extent in [vec![64, 1, 64], vec![1, 64, 64]] {
            let goal =
                LayoutGoal { patterns: vec![Pattern { extent: extent.clone(), probability: 1.0 }], ..small.clone() };
            let plan = plan_layout(&goal).unwrap();
            assert_eq!((bytes(&plan.chunk, 4), &plan.shard), (64 << 10, &small.shape), "{extent:?}");
        }
    }

    #[test]
    fn shards_line_up_with_the_source() {
        for source in [[24, 350, 450], [1, 233, 300], [37, 70, 90], [100, 64, 64], [7, 100, 130]] {
            let mut goal = LayoutGoal::new(vec![10_000, 700, 900], 4);
            goal.source_chunk = Some(source.to_vec());
            let plan = plan_layout(&goal).unwrap();
            for ((shard, source), len) in plan.shard.iter().zip(source).zip(&goal.shape) {
                let fits = shard.is_multiple_of(source) || source.is_multiple_of(*shard) || shard >= len;
                assert!(fits, "{plan:?} against {source:?}");
            }
        }
    }

    #[test]
    fn narrow_bounds_are_met() {
        let goal = LayoutGoal { inner_bytes: (85_000, 85_100), ..LayoutGoal::new(vec![1_000_003], 1) };
        let chunk = plan_layout(&goal).unwrap().chunk[0];
        assert!((85_000..=85_100).contains(&chunk), "{chunk}");
    }

    #[test]
    fn an_axis_that_will_grow_gets_room() {
        let plan = plan_layout(&LayoutGoal::new(vec![0, 138, 195], 4)).unwrap();
        assert!(plan.chunk[0] > 1 && bytes(&plan.chunk, 4) <= 1 << 20, "{plan:?}");
        assert!(bytes(&plan_layout(&LayoutGoal::new(vec![0], 8)).unwrap().chunk, 8) > 1024);
    }

    #[test]
    fn little_of_what_grows_is_not_one_chunk_for_all_reads() {
        let series = vec![Pattern { extent: vec![u64::MAX, 1, 1], probability: 1.0 }];
        let goal = LayoutGoal { grows: true, patterns: series, ..LayoutGoal::new(vec![4, 200, 300], 4) };
        let chunk = plan_layout(&goal).unwrap().chunk;
        assert!(chunk[0] == 4 && bytes(&chunk, 4) < 100 << 10, "{chunk:?}");
        let guessed = LayoutGoal { patterns: vec![], ..goal };
        assert_eq!(plan_layout(&guessed).unwrap().chunk, [4, 200, 300]);
    }

    #[test]
    fn refuses_what_contradicts_itself() {
        let goal = || LayoutGoal::new(vec![10, 10], 4);
        let pattern = |extent, probability| vec![Pattern { extent, probability }];
        for bad in [
            LayoutGoal { inner_bytes: (2, 1), ..goal() },
            LayoutGoal { patterns: pattern(vec![1], 1.0), ..goal() },
            LayoutGoal { patterns: pattern(vec![1, 1], f64::NAN), ..goal() },
            LayoutGoal { patterns: pattern(vec![1, 1], -1.0), ..goal() },
            LayoutGoal { source_chunk: Some(vec![1]), ..goal() },
            LayoutGoal { chunk: Some(vec![1]), ..goal() },
            LayoutGoal { chunk: Some(vec![1, 0]), ..goal() },
            LayoutGoal { ratio: 0.5, ..goal() },
            LayoutGoal { ratio: f64::NAN, ..goal() },
        ] {
            assert_eq!(plan_layout(&bad).unwrap_err().kind, ErrorKind::Invalid);
        }
    }
}
