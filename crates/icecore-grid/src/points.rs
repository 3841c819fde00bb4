//! Axes that are indexed together: points grouped by the chunk they are in.

use std::sync::Arc;

use crate::chunk_grid::ChunkGrid;
use crate::error::{Error, ErrorKind, Result};
use crate::pick::Joint;
use crate::run::Scatter;

/// The chunks that hold the points, in C order of the joint axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Grid of the joint axes alone.
    grid: ChunkGrid,
    groups: Vec<Group>,
    table: Arc<Scatter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    /// Flat number of the chunk in `grid`.
    chunk: u64,
    /// First entry of the table.
    lo: usize,
}

impl Groups {
    pub fn new(grid: &ChunkGrid, joint: &Joint) -> Result<Self> {
        let grid = ChunkGrid { axes: joint.axes.iter().map(|&axis| grid.axes[axis].clone()).collect() };
        let count = joint.columns.first().map_or(0, Vec::len);
        let too_many = || {
            Error::new(ErrorKind::Memory, format!("not enough memory to plan {count} points"))
                .hint("read fewer points at a time")
        };
        let rank = joint.axes.len();
        let (mut order, mut index, mut dst) = (Vec::new(), Vec::new(), Vec::new());
        let entries = count.checked_mul(rank).ok_or_else(too_many)?;
        if order
            .try_reserve_exact(count)
            .and(index.try_reserve_exact(entries))
            .and(dst.try_reserve_exact(count))
            .is_err()
        {
            return Err(too_many());
        }
        order.extend((0..count).map(|point| (chunk_of(&grid, joint, point), point)));
        if !order.is_sorted() {
            order.sort_unstable();
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut starts = vec![0; rank];
        for (lo, &(chunk, point)) in order.iter().enumerate() {
            if groups.last().is_none_or(|group| group.chunk != chunk) {
                groups.push(Group { chunk, lo });
                chunk_start(&grid, chunk, &mut starts);
            }
            index.extend(joint.columns.iter().zip(&starts).map(|(column, &start)| column[point] - start));
            dst.push(point as u64 * joint.dst_step);
        }
        let table = Arc::new(Scatter { axes: joint.axes.clone(), index, dst });
        Ok(Self { grid, groups, table })
    }

    pub fn len(&self) -> u64 {
        self.groups.len() as u64
    }

    pub fn axes(&self) -> &[usize] {
        &self.table.axes
    }

    pub fn table(&self) -> &Arc<Scatter> {
        &self.table
    }

    /// First entry and number of entries of the k-th group.
    pub fn window(&self, k: u64) -> (usize, usize) {
        let k = k as usize;
        let lo = self.groups[k].lo;
        let hi = self.groups.get(k + 1).map_or(self.table.dst.len(), |next| next.lo);
        (lo, hi - lo)
    }

    /// For each joint axis: the axis, the chunk's coordinate and its stored length.
    pub fn chunk(&self, k: u64, mut each: impl FnMut(usize, u64, u64)) {
        let mut rest = self.groups[k as usize].chunk;
        for (&axis, of) in self.table.axes.iter().zip(&self.grid.axes).rev() {
            let count = of.count().max(1);
            let at = rest % count;
            rest /= count;
            each(axis, at, of.extent(at).1);
        }
    }
}

fn chunk_of(grid: &ChunkGrid, joint: &Joint, point: usize) -> u64 {
    let axes = grid.axes.iter().zip(&joint.columns);
    axes.fold(0, |flat, (axis, column)| flat * axis.count() + axis.find(column[point]).0)
}

/// First element of a chunk, given by its flat number.
fn chunk_start(grid: &ChunkGrid, flat: u64, starts: &mut [u64]) {
    let mut rest = flat;
    for (start, axis) in starts.iter_mut().zip(&grid.axes).rev() {
        let count = axis.count().max(1);
        *start = axis.extent(rest % count).0;
        rest /= count;
    }
}
