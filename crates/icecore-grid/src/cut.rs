//! Cuts: the chunks that a selection touches, and the part of each that it needs.

use crate::chunk_grid::ChunkGrid;
use crate::copy::Copy;
use crate::error::{Error, ErrorKind, Result};
use crate::hits::{Hits, Taken};
use crate::points::Groups;
use crate::selection::Selection;

/// All cuts of a selection, stored as one list of chunks for each axis; the cuts are the Cartesian product of these
/// lists. The size of the plan therefore does not depend on the number of chunks. The cuts are in C order of their
/// chunks, except for lists on separated axes. Every element of the output belongs to exactly one cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuts {
    factors: Vec<Factor>,
    /// For each axis the factor that it belongs to.
    factor_of: Vec<usize>,
    /// For each axis the distance in flat chunk numbers between neighbours.
    chunk_strides: Vec<u64>,
    len: usize,
}

/// One factor of the Cartesian product.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Factor {
    source: Source,
    /// Number of chunks (or groups) hit.
    len: u64,
    /// Product of the lengths of the factors after this one.
    below: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Axis(Hits),
    Joint(Groups),
}

/// The part of one chunk that a selection needs. The default is an empty buffer for [`Cuts::cut_into`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// The chunk's coordinates in the grid.
    pub chunk: Vec<u64>,
    /// Its full stored shape.
    pub shape: Vec<u64>,
    /// Source and destination of the elements.
    pub copy: Copy,
    /// Number of elements wanted, at least 1.
    pub elements: u64,
}

impl Cuts {
    /// Plans a selection over a grid of the same shape.
    ///
    /// # Errors
    /// `mismatch`: the selection was resolved for another shape; `memory`: too many cuts or points.
    pub fn new(selection: &Selection, grid: &ChunkGrid) -> Result<Self> {
        let shape = grid.shape();
        if selection.shape() != shape {
            let message = format!("the selection is for shape {:?}, the array has shape {shape:?}", selection.shape());
            return Err(Error::new(ErrorKind::Mismatch, message).hint("resolve the selection again for this array"));
        }
        let mut cuts = Self { factors: vec![], factor_of: vec![0; shape.len()], chunk_strides: vec![], len: 0 };
        if selection.out_len() == 0 {
            return Ok(cuts);
        }
        for (axis, pick) in selection.picks().iter().enumerate() {
            let source = match (pick, selection.joint()) {
                (Some(pick), _) => Source::Axis(Hits::new(axis, &grid.axes[axis], pick)),
                (None, Some(joint)) if joint.axes.first() == Some(&axis) => Source::Joint(Groups::new(grid, joint)?),
                (None, _) => continue,
            };
            let owner = cuts.factors.len();
            match &source {
                Source::Axis(_) => cuts.factor_of[axis] = owner,
                Source::Joint(groups) => groups.axes().iter().for_each(|&axis| cuts.factor_of[axis] = owner),
            }
            cuts.factors.push(Factor { len: source.len(), source, below: 1 });
        }
        cuts.chunk_strides = chunk_strides(grid);
        cuts.len = cuts.multiply().ok_or_else(|| {
            Error::new(
                ErrorKind::Memory,
                format!("a selection of shape {:?} hits too many chunks", selection.out_shape()),
            )
            .hint("select less at a time")
        })?;
        Ok(cuts)
    }

    /// Sets `below` in each factor and returns the number of cuts.
    fn multiply(&mut self) -> Option<usize> {
        let mut product = 1_u64;
        for factor in self.factors.iter_mut().rev() {
            factor.below = product;
            product = product.checked_mul(factor.len)?;
        }
        usize::try_from(product).ok()
    }

    /// Number of chunks hit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The i-th cut.
    ///
    /// # Panics
    /// Like a slice: where `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn get(&self, i: usize) -> Cut {
        let mut cut = Cut::default();
        self.cut_into(i, &mut cut);
        cut
    }

    /// Writes the i-th cut into an existing one, whose buffers are reused.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn cut_into(&self, i: usize, cut: &mut Cut) {
        let i = self.checked(i);
        let rank = self.factor_of.len();
        cut.chunk.resize(rank, 0);
        cut.shape.resize(rank, 0);
        cut.copy.reset(rank);
        cut.elements = 1;
        for factor in &self.factors {
            if let Source::Joint(groups) = &factor.source {
                groups.chunk(factor.at(i), |axis, chunk, full| (cut.chunk[axis], cut.shape[axis]) = (chunk, full));
            }
        }
        self.add_axes(i, cut);
    }

    /// Adds the axes' loops, innermost first. A joint run is placed at the first of its axes, when the strides of all
    /// of them are known.
    fn add_axes(&self, i: u64, cut: &mut Cut) {
        for axis in (0..self.factor_of.len()).rev() {
            let factor = &self.factors[self.factor_of[axis]];
            match &factor.source {
                Source::Axis(hits) => {
                    let hit = hits.get(factor.at(i));
                    (cut.chunk[axis], cut.shape[axis]) = (hit.chunk, hit.full);
                    cut.elements *= hit.n;
                    cut.copy.next_axis(axis, hit.full);
                    match (hit.taken, hits.table()) {
                        (Taken::Step { src, src_step, dst, dst_step }, _) => {
                            cut.copy.push_step(axis, hit.n, (src, src_step), (dst, dst_step));
                        }
                        (Taken::Scatter { lo }, Some(table)) => cut.copy.push_scatter(table, lo, hit.n as usize),
                        (Taken::Scatter { .. }, None) => {}
                    }
                }
                Source::Joint(groups) => {
                    cut.copy.next_axis(axis, cut.shape[axis]);
                    if groups.axes().first() == Some(&axis) {
                        let (lo, n) = groups.window(factor.at(i));
                        cut.elements *= n as u64;
                        cut.copy.push_scatter(groups.table(), lo, n);
                    }
                }
            }
        }
    }

    /// Flat number, in the grid, of the i-th cut's chunk; cheaper than the cut.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    #[must_use]
    pub fn chunk_flat(&self, i: usize) -> u64 {
        let i = self.checked(i);
        let mut flat = 0_u64;
        for axis in 0..self.factor_of.len() {
            let factor = &self.factors[self.factor_of[axis]];
            if let Source::Axis(hits) = &factor.source {
                flat += hits.get(factor.at(i)).chunk * self.chunk_strides[axis];
            }
        }
        for factor in &self.factors {
            if let Source::Joint(groups) = &factor.source {
                groups.chunk(factor.at(i), |axis, chunk, _| flat += chunk * self.chunk_strides[axis]);
            }
        }
        flat
    }

    fn checked(&self, i: usize) -> u64 {
        assert!(i < self.len, "cut {i} of {}", self.len);
        i as u64
    }
}

impl Source {
    fn len(&self) -> u64 {
        match self {
            Self::Axis(hits) => hits.len(),
            Self::Joint(groups) => groups.len(),
        }
    }
}

impl Factor {
    /// Converts the index of a cut to this factor's index.
    #[inline]
    fn at(&self, i: u64) -> u64 {
        if self.len == 1 { 0 } else { i / self.below % self.len }
    }
}

fn chunk_strides(grid: &ChunkGrid) -> Vec<u64> {
    let mut strides = vec![1; grid.axes.len()];
    let mut product = 1_u64;
    for (stride, axis) in strides.iter_mut().zip(&grid.axes).rev() {
        *stride = product;
        product = product.saturating_mul(axis.count());
    }
    strides
}
