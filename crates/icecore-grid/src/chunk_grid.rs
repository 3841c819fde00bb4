//! Division of an array into chunks, per axis: regular, or rectilinear (listed lengths).

use crate::error::{Error, ErrorKind, Result};
use crate::region::Region;

/// One axis of a chunk grid. Lengths and bounds are in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// Equal chunks. The last one is stored at full length even where the array ends inside it.
    Regular {
        /// Length of the array along the axis.
        len: u64,
        /// Length of each chunk, at least 1.
        chunk: u64,
    },
    /// Chunks between listed bounds.
    Rectilinear {
        /// Length of the array along the axis.
        len: u64,
        /// Strictly ascending from 0; only the last one may reach or pass `len`.
        bounds: Vec<u64>,
    },
}

impl Axis {
    /// Length of the array along this axis.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Regular { len, .. } | Self::Rectilinear { len, .. } => *len,
        }
    }

    /// True if the array has no elements along this axis.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of chunks that hold at least one element of the array.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Regular { len, chunk } => len.div_ceil((*chunk).max(1)),
            Self::Rectilinear { bounds, .. } => bounds.len().saturating_sub(1) as u64,
        }
    }

    /// The chunk that holds element `index`: its number, its first element and its full stored length.
    /// An index past the array gives the last chunk of a rectilinear axis.
    #[must_use]
    pub fn find(&self, index: u64) -> (u64, u64, u64) {
        let chunk = match self {
            Self::Regular { chunk, .. } => index / (*chunk).max(1),
            Self::Rectilinear { bounds, .. } => {
                let after = bounds.partition_point(|&bound| bound <= index);
                after.saturating_sub(1).min(bounds.len().saturating_sub(2)) as u64
            }
        };
        let (start, full) = self.extent(chunk);
        (chunk, start, full)
    }

    /// First element and full stored length of a chunk; (`len`, 0) for a number past the last chunk.
    #[must_use]
    pub fn extent(&self, chunk: u64) -> (u64, u64) {
        match self {
            Self::Regular { chunk: size, .. } => (chunk.saturating_mul(*size), *size),
            Self::Rectilinear { len, bounds } => {
                let at = usize::try_from(chunk).unwrap_or(usize::MAX);
                match (bounds.get(at), bounds.get(at.saturating_add(1))) {
                    (Some(&start), Some(&end)) => (start, end.saturating_sub(start)),
                    _ => (*len, 0),
                }
            }
        }
    }

    /// The longest chunk of the axis, 1 for an axis without chunks.
    fn longest(&self) -> u64 {
        match self {
            Self::Regular { chunk, .. } => *chunk,
            Self::Rectilinear { bounds, .. } => {
                bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(1)
            }
        }
    }
}

/// The chunk grid of an array: one [`Axis`] per dimension. A 0-d array has one chunk of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkGrid {
    /// The axes in the array's order. Read-only: planning and copying rely on what the constructors check.
    pub axes: Vec<Axis>,
}

impl ChunkGrid {
    /// Equal chunks. On an axis of length 0 a chunk length of 0 is accepted and treated as 1.
    ///
    /// # Errors
    /// `invalid`: ranks differ, a chunk length is 0, or a chunk has more elements than can be addressed.
    pub fn regular(shape: &[u64], chunk: &[u64]) -> Result<Self> {
        same_rank(shape, chunk.len(), "chunk shape")?;
        let mut axes = Vec::with_capacity(shape.len());
        for (axis, (&len, &chunk)) in shape.iter().zip(chunk).enumerate() {
            if chunk == 0 && len > 0 {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    format!("axis {axis} of length {len} has chunks of length 0"),
                )
                .hint("every chunk length must be at least 1"));
            }
            axes.push(Axis::Regular { len, chunk: chunk.max(1) });
        }
        Self { axes }.checked()
    }

    /// Listed chunk lengths, one list per axis. Chunks that begin at or after the array's end are left out.
    ///
    /// # Errors
    /// `invalid`: ranks differ, a length is 0, the lengths of an axis do not reach its end, or a chunk is too large.
    pub fn rectilinear(shape: &[u64], lengths: Vec<Vec<u64>>) -> Result<Self> {
        let runs = lengths.into_iter().map(|axis| axis.into_iter().map(|length| (length, 1)).collect());
        Self::rectilinear_runs(shape, runs.collect())
    }

    /// As [`rectilinear`](Self::rectilinear), run-length encoded: pairs of (chunk length, how many times).
    /// Large run counts are safe: at most [`MAX_BOUNDS`] bounds are stored, and an axis of equal chunks becomes
    /// [`Axis::Regular`].
    ///
    /// # Errors
    /// As `rectilinear`; also `unsupported` where an axis has more than [`MAX_BOUNDS`] unequal chunks.
    pub fn rectilinear_runs(shape: &[u64], runs: Vec<Vec<(u64, u64)>>) -> Result<Self> {
        same_rank(shape, runs.len(), "list of chunk lengths")?;
        let axes = shape.iter().zip(&runs).enumerate().map(|(axis, (&len, runs))| listed_axis(axis, len, runs));
        Self { axes: axes.collect::<Result<_>>()? }.checked()
    }

    /// The array's shape.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(Axis::len).collect()
    }

    /// Number of chunks per axis.
    #[must_use]
    pub fn counts(&self) -> Vec<u64> {
        self.axes.iter().map(Axis::count).collect()
    }

    /// Number of chunks.
    ///
    /// # Errors
    /// `invalid` where it does not fit 64 bits.
    pub fn len(&self) -> Result<u64> {
        let counts = self.counts();
        if counts.contains(&0) {
            return Ok(0);
        }
        counts.iter().try_fold(1_u64, |product, &n| product.checked_mul(n)).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("a grid of {counts:?} chunks cannot be numbered in 64 bits"))
                .hint("use larger chunks")
        })
    }

    /// True if the array has no elements, and so no chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(Axis::is_empty)
    }

    /// Number of a chunk in C order. `coords` must be inside the grid.
    #[must_use]
    pub fn flat(&self, coords: &[u64]) -> u64 {
        self.axes.iter().zip(coords).fold(0_u64, |flat, (axis, &at)| flat.wrapping_mul(axis.count()).wrapping_add(at))
    }

    /// The inverse of [`flat`](Self::flat).
    #[must_use]
    pub fn coords(&self, flat: u64) -> Vec<u64> {
        let mut coords = vec![0; self.axes.len()];
        let mut rest = flat;
        for (at, axis) in coords.iter_mut().zip(&self.axes).rev() {
            let count = axis.count().max(1);
            *at = rest % count;
            rest /= count;
        }
        coords
    }

    /// Whether `coords` is a chunk of this grid.
    #[must_use]
    pub fn contains(&self, coords: &[u64]) -> bool {
        coords.len() == self.axes.len() && self.axes.iter().zip(coords).all(|(axis, &at)| at < axis.count())
    }

    /// Shape of a chunk as it is stored: full at the edge of a regular axis, as listed on a rectilinear one.
    #[must_use]
    pub fn chunk_shape(&self, coords: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(coords).map(|(axis, &at)| axis.extent(at).1).collect()
    }

    /// The part of the array that a chunk covers, clipped to the array.
    #[must_use]
    pub fn region(&self, coords: &[u64]) -> Region {
        let extents = self.axes.iter().zip(coords).map(|(axis, &at)| {
            let (start, full) = axis.extent(at);
            let start = start.min(axis.len());
            (start, full.min(axis.len() - start))
        });
        let (start, shape) = extents.unzip();
        Region { start, shape }
    }

    /// Rejects grids with chunks too large to address, so that later arithmetic on strides cannot overflow.
    fn checked(self) -> Result<Self> {
        let longest: Vec<u64> = self.axes.iter().map(Axis::longest).collect();
        let elements = longest.iter().try_fold(1_u64, |product, &n| product.checked_mul(n));
        if elements.is_none_or(|n| n > MAX_CHUNK_ELEMENTS) {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("a chunk of shape {longest:?} is too large to address"),
            )
            .hint("use smaller chunks"));
        }
        self.len()?;
        Ok(self)
    }
}

/// Largest number of elements of a chunk. A larger chunk could not be decoded in memory anyway.
const MAX_CHUNK_ELEMENTS: u64 = 1 << 62;

/// Largest number of stored bounds of one rectilinear axis (128 MiB).
const MAX_BOUNDS: usize = 1 << 24;

fn same_rank(shape: &[u64], rank: usize, what: &str) -> Result<()> {
    if shape.len() == rank {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, format!("the array has {} axes, the {what} has {rank}", shape.len()))
        .hint("give one entry per axis"))
}

/// One axis from its runs of chunk lengths, cut off at the array's end.
fn listed_axis(axis: usize, len: u64, runs: &[(u64, u64)]) -> Result<Axis> {
    if runs.iter().any(|&(length, _)| length == 0) {
        return Err(Error::new(ErrorKind::Invalid, format!("axis {axis} lists a chunk of length 0"))
            .hint("every chunk length must be at least 1"));
    }
    if let Some(chunk) = equal_chunks(len, runs) {
        return Ok(Axis::Regular { len, chunk });
    }
    let mut bounds = vec![0_u64];
    let mut end = 0_u64;
    for &(length, times) in runs {
        let wanted = times.min(len.saturating_sub(end).div_ceil(length));
        if wanted > (MAX_BOUNDS - bounds.len()) as u64 {
            return Err(Error::new(ErrorKind::Unsupported, format!("axis {axis} lists more than {MAX_BOUNDS} chunks"))
                .hint("use larger chunks, or a regular grid"));
        }
        for _ in 0..wanted {
            end = end.saturating_add(length);
            bounds.push(end);
        }
    }
    if end < len {
        return Err(Error::new(ErrorKind::Invalid, format!("axis {axis} has {len} elements, its chunks cover {end}"))
            .hint("the chunk lengths must add up to the array's length or more"));
    }
    Ok(Axis::Rectilinear { len, bounds })
}

/// The common length if all relevant chunks are equal and cover the axis.
fn equal_chunks(len: u64, runs: &[(u64, u64)]) -> Option<u64> {
    let &(chunk, _) = runs.first()?;
    let mut covered = 0_u64;
    for &(length, times) in runs {
        if covered >= len {
            break;
        }
        if times > 0 && length != chunk {
            return None;
        }
        covered = covered.saturating_add(length.saturating_mul(times));
    }
    (covered >= len).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_edges_keep_their_full_shape_in_storage() {
        let grid = ChunkGrid::regular(&[10, 7], &[4, 7]).unwrap();
        assert_eq!(grid.counts(), [3, 1]);
        assert_eq!(grid.chunk_shape(&[2, 0]), [4, 7]);
        assert_eq!(grid.region(&[2, 0]), Region { start: vec![8, 0], shape: vec![2, 7] });
        assert_eq!(grid.axes[0].find(9), (2, 8, 4));
    }

    #[test]
    fn rectilinear_is_cut_at_the_end_of_the_array() {
        let grid = ChunkGrid::rectilinear(&[10], vec![vec![3, 4, 9, 2]]).unwrap();
        assert_eq!(grid.axes[0], Axis::Rectilinear { len: 10, bounds: vec![0, 3, 7, 16] });
        assert_eq!(grid.axes[0].find(9), (2, 7, 9));
        assert_eq!(grid.region(&[2]), Region { start: vec![7], shape: vec![3] });
        assert_eq!(grid.chunk_shape(&[2]), [9]);
    }

    #[test]
    fn equal_runs_of_any_count_become_regular() {
        let grid = ChunkGrid::rectilinear_runs(&[1 << 60], vec![vec![(1, u64::MAX)]]).unwrap();
        assert_eq!(grid.axes[0], Axis::Regular { len: 1 << 60, chunk: 1 });
        let hostile = ChunkGrid::rectilinear_runs(&[1 << 60], vec![vec![(2, 1), (1, u64::MAX)]]);
        assert_eq!(hostile.unwrap_err().kind, ErrorKind::Unsupported);
    }

    #[test]
    fn flat_and_coords_are_inverse() {
        let grid = ChunkGrid::regular(&[5, 6, 7], &[2, 3, 4]).unwrap();
        for flat in 0..grid.len().unwrap() {
            let coords = grid.coords(flat);
            assert!(grid.contains(&coords));
            assert_eq!(grid.flat(&coords), flat);
        }
        assert!(!grid.contains(&[3, 0, 0]));
    }

    #[test]
    fn scalars_and_empty_arrays() {
        let scalar = ChunkGrid::regular(&[], &[]).unwrap();
        assert_eq!((scalar.len().unwrap(), scalar.flat(&[])), (1, 0));
        let empty = ChunkGrid::regular(&[0, 5], &[0, 2]).unwrap();
        assert_eq!(empty.len().unwrap(), 0);
        assert!(empty.is_empty());
        assert_eq!(ChunkGrid::rectilinear(&[0], vec![vec![]]).unwrap().len().unwrap(), 0);
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for bad in [
            ChunkGrid::regular(&[5], &[0]),
            ChunkGrid::regular(&[5, 5], &[1]),
            ChunkGrid::regular(&[u64::MAX, u64::MAX], &[1, 1]),
            ChunkGrid::regular(&[1, 1], &[u64::MAX, u64::MAX]),
            ChunkGrid::rectilinear(&[5], vec![vec![2, 2]]),
            ChunkGrid::rectilinear(&[5], vec![vec![5, 0]]),
        ] {
            assert_eq!(bad.unwrap_err().kind, ErrorKind::Invalid);
        }
    }
}
