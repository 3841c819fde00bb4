//! Divide a selection into consecutive blocks in C order, so that a large result can be streamed.
//!
//! A block has one index on the leading axes, a run on one axis, and all of the other axes. Its run ends at a chunk
//! boundary if the limit allows: a chunk that two blocks share is decoded twice.

use icecore_grid::{Axis, ChunkGrid};

use super::limits::Limits;
use super::picks::{Pick, Picks};

impl Picks {
    /// The blocks, of about `limits.block` bytes each.
    pub fn blocks<'a>(
        &'a self,
        grid: &ChunkGrid,
        itemsize: usize,
        limits: &Limits,
    ) -> impl Iterator<Item = Picks> + Send + 'a + use<'a> {
        let (axis, run, count) = self.divided(grid, itemsize, limits);
        (0..count).map(move |number| self.block(axis, run, number))
    }

    /// The same blocks, from a selection that is no longer needed.
    pub fn into_blocks(
        self,
        grid: &ChunkGrid,
        itemsize: usize,
        limits: &Limits,
    ) -> impl Iterator<Item = Picks> + Send + use<> {
        let (axis, run, count) = self.divided(grid, itemsize, limits);
        (0..count).map(move |number| self.block(axis, run, number))
    }

    /// The axis along which blocks are runs, the length of a run, and the number of blocks.
    fn divided(&self, grid: &ChunkGrid, itemsize: usize, limits: &Limits) -> (usize, u64, u64) {
        let out = self.out_shape();
        let mut bytes = itemsize.max(1) as u64;
        let mut axis = out.len();
        // All axes after it fit completely into a block.
        while axis > 0 {
            let whole = bytes.saturating_mul(out.get(axis - 1).copied().unwrap_or(1));
            if whole > limits.block {
                break;
            }
            bytes = whole;
            axis -= 1;
        }
        let (axis, run) = match axis {
            0 => (0, out.first().copied().unwrap_or(1).max(1)),
            axis => run(self, grid, axis - 1, bytes, limits),
        };
        let leading = out.iter().take(axis).fold(1_u64, |all, n| all.saturating_mul(*n));
        let along = out.get(axis).copied().unwrap_or(1);
        (axis, run, if self.is_empty() { 0 } else { leading.saturating_mul(along.div_ceil(run)) })
    }

    fn block(&self, axis: usize, run: u64, number: u64) -> Picks {
        let Some(along) = self.axes.get(axis).map(Pick::count) else { return self.clone() };
        let runs = along.div_ceil(run);
        let (mut rest, first) = (number / runs, number % runs * run);
        // Backwards, so that lists of leading axes are not copied whole for each block.
        let mut axes: Vec<Pick> = self.axes.iter().skip(axis + 1).rev().cloned().collect();
        axes.extend(self.axes.get(axis).map(|whole| whole.part(first, run.min(along - first))));
        for whole in self.axes.iter().take(axis).rev() {
            let count = whole.count().max(1);
            axes.push(whole.part(rest % count, 1));
            rest /= count;
        }
        axes.reverse();
        Picks { shape: self.shape.clone(), axes, reduced: self.reduced.clone() }
    }
}

/// The axis and the length of a run: whole chunks if they fit into the largest block. If a chunk is longer than one
/// along a leading axis, the run is along that axis.
fn run(picks: &Picks, grid: &ChunkGrid, axis: usize, bytes: u64, limits: &Limits) -> (usize, u64) {
    let mut row = bytes;
    let mut best = (axis, (limits.block / bytes.max(1)).max(1));
    for at in (0..=axis).rev() {
        let chunk = thickness(picks, grid, at);
        let thick = row.saturating_mul(chunk);
        if thick <= limits.largest_block {
            let chunks = (limits.block / thick.max(1)).max(1);
            if at == axis || chunk > 1 {
                best = (at, chunks * chunk);
            }
        }
        row = row.saturating_mul(picks.axes.get(at).map_or(1, Pick::count));
        if row > limits.largest_block {
            break;
        }
    }
    best
}

/// Elements of the selection in one chunk along an axis.
fn thickness(picks: &Picks, grid: &ChunkGrid, axis: usize) -> u64 {
    let chunk = match grid.axes.get(axis) {
        Some(Axis::Regular { chunk, .. }) => *chunk,
        Some(Axis::Rectilinear { bounds, .. }) => bounds.get(1).copied().unwrap_or(1),
        None => 1,
    };
    match picks.axes.get(axis) {
        Some(Pick::Range { step, count, .. }) => chunk.div_ceil((*step).max(1)).clamp(1, (*count).max(1)),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(shape: &[u64], chunks: &[u64], block: u64, largest_block: u64) -> Vec<Picks> {
        let limits = Limits { block, largest_block, ..Limits::default() };
        let all = Picks::all(shape);
        all.blocks(&ChunkGrid::regular(shape, chunks).unwrap(), 4, &limits).collect()
    }

    fn shapes(blocks: &[Picks]) -> Vec<Vec<u64>> {
        blocks.iter().map(Picks::out_shape).collect()
    }

    #[test]
    fn runs_end_where_chunks_end() {
        assert_eq!(shapes(&blocks(&[10, 8], &[3, 8], 100, 1000)), [vec![3, 8], vec![3, 8], vec![3, 8], vec![1, 8]]);
        assert_eq!(shapes(&blocks(&[10, 8], &[3, 8], 200, 1000)), [vec![6, 8], vec![4, 8]]);
        assert_eq!(shapes(&blocks(&[10, 8], &[3, 8], 10_000, 10_000)), [vec![10, 8]]);
    }

    #[test]
    fn a_row_larger_than_a_block_is_divided() {
        assert_eq!(shapes(&blocks(&[2, 100], &[1, 10], 80, 80)).len(), 10);
        // Chunks of two rows: both rows go into one block if the limit allows.
        assert_eq!(shapes(&blocks(&[4, 100], &[2, 100], 80, 1000)), [vec![2, 100], vec![2, 100]]);
    }

    #[test]
    fn blocks_cover_everything_in_order() {
        let shape = [3_u64, 5, 7];
        for (block, largest) in [(4, 4), (30, 60), (100, 400), (300, 300), (10_000, 10_000)] {
            let mut seen = Vec::new();
            for picks in blocks(&shape, &[2, 2, 3], block, largest) {
                let ranges: Vec<Vec<u64>> = picks
                    .axes
                    .iter()
                    .map(|pick| match pick {
                        Pick::Range { start, step, count } => (0..*count).map(|i| start + i * step).collect(),
                        Pick::List(values) => values.clone(),
                    })
                    .collect();
                for &i in &ranges[0] {
                    for &j in &ranges[1] {
                        seen.extend(ranges[2].iter().map(|k| (i * 5 + j) * 7 + k));
                    }
                }
            }
            assert_eq!(seen, (0..105).collect::<Vec<_>>(), "{block} {largest}");
        }
    }

    #[test]
    fn nothing_selected_and_scalars() {
        assert_eq!(blocks(&[0, 5], &[1, 5], 100, 100).len(), 0);
        assert_eq!(blocks(&[], &[], 100, 100).len(), 1);
    }
}
