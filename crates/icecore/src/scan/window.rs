//! Group runs of candidate rows into windows of pieces: each window is read, tested and returned together.

use std::ops::Range;

/// Rows for which a where-clause is evaluated at once: a few dozen kilobytes of each column, which stay in the cache.
pub(crate) const PIECE: u64 = 4096;

/// Consecutive rows; `sure` if all of them are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub rows: Range<u64>,
    pub sure: bool,
}

/// At most [`PIECE`] rows of a run.
pub(crate) type Piece = Run;

impl Run {
    pub fn count(&self) -> usize {
        (self.rows.end - self.rows.start) as usize // at most PIECE for a piece
    }
}

/// Divides runs into windows.
pub(crate) struct Windows {
    runs: std::vec::IntoIter<Run>,
    rest: Option<Run>,
    /// Rows of the next window; doubles up to `most`, so that the first rows come soon.
    rows: u64,
    most: u64,
    /// Windows end at multiples of this if possible, so that no chunk is decoded for two of them.
    grain: u64,
    /// Maximum length of a piece, [`PIECE`] or a fraction of it.
    piece: u64,
}

const FIRST: u64 = 1 << 16;
/// A window may have this many times the intended rows in order to end with a chunk.
const MOST: u64 = 4;

impl Windows {
    /// Windows of `most` rows, or `least` (up to [`PIECE`]); more if needed to end at a multiple of `grain` (the
    /// largest chunk).
    pub fn new(runs: Vec<Run>, most: u64, least: u64, grain: u64) -> Self {
        let most = most.max(least).max(1);
        let piece = PIECE.min(1 << most.ilog2());
        let grain = if grain <= most.saturating_mul(MOST) { grain.max(1) } else { piece };
        Self { runs: runs.into_iter(), rest: None, rows: FIRST.min(most), most, grain, piece }
    }

    /// The pieces of the next window; none at the end.
    pub fn next(&mut self) -> Vec<Piece> {
        let (mut pieces, mut count) = (Vec::new(), 0);
        while let Some(run) = self.rest.take().or_else(|| self.runs.next()) {
            // If chunks end inside pieces, it is better to decode them twice than to load all rows at once.
            if count >= self.rows && (count >= MOST * self.rows || self.ends_at(run.rows.start, &pieces)) {
                self.rest = Some(run);
                break;
            }
            // Up to the next multiple of the piece length, where zones and most chunks end too.
            let end = run.rows.end.min((run.rows.start / self.piece + 1) * self.piece);
            count += end - run.rows.start;
            pieces.push(Run { rows: run.rows.start..end, sure: run.sure });
            if end < run.rows.end {
                self.rest = Some(Run { rows: end..run.rows.end, sure: run.sure });
            }
        }
        self.rows = (self.rows * 2).min(self.most);
        pieces
    }

    /// Whether `start` and the last row are in different grains.
    fn ends_at(&self, start: u64, pieces: &[Piece]) -> bool {
        pieces.last().is_none_or(|last| (last.rows.end - 1) / self.grain != start / self.grain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut windows: Windows) -> Vec<Vec<Piece>> {
        std::iter::from_fn(|| Some(windows.next()).filter(|w| !w.is_empty())).collect()
    }

    #[test]
    fn windows_stay_short_whatever_the_chunks() {
        for grain in [1, 1194, 10_000, 65_536, 99_999] {
            let runs = vec![Run { rows: 0..3_000_000, sure: false }];
            let windows = all(Windows::new(runs, 50_000, PIECE, grain));
            let rows: Vec<u64> = windows.iter().map(|w| w.iter().map(|p| p.rows.end - p.rows.start).sum()).collect();
            assert_eq!(rows.iter().sum::<u64>(), 3_000_000);
            assert!(rows.iter().all(|rows| *rows <= 4 * 50_000 + PIECE), "{grain}: {rows:?}");
        }
    }

    #[test]
    fn every_row_once_and_windows_end_with_chunks() {
        let runs = vec![Run { rows: 10..300_000, sure: false }, Run { rows: 400_000..400_001, sure: true }];
        let windows = all(Windows::new(runs, 100_000, PIECE, 49_152));
        let rows: Vec<u64> = windows.iter().flatten().flat_map(|p| p.rows.clone()).collect();
        assert!(rows.iter().copied().eq((10..300_000).chain([400_000])));
        for (a, b) in windows.iter().zip(windows.iter().skip(1)) {
            assert_ne!((a.last().unwrap().rows.end - 1) / 49_152, b[0].rows.start / 49_152);
        }
        assert!(windows.iter().flatten().all(|p| p.count() as u64 <= PIECE));
    }

    #[test]
    fn a_grain_far_beyond_the_budget_is_not_kept() {
        let windows = all(Windows::new(vec![Run { rows: 0..1_000_000, sure: true }], 10_000, PIECE, 1_000_000));
        assert!(windows.len() > 50);
    }

    #[test]
    fn few_rows_where_they_are_long() {
        for (most, least, longest) in [(30, 1, 30), (0, 1, 1), (30, PIECE, 4 * PIECE), (1 << 20, 1, 1 << 18)] {
            let windows = all(Windows::new(vec![Run { rows: 5..300_000, sure: true }], most, least, 16_384));
            let rows: Vec<u64> = windows.iter().flatten().flat_map(|p| p.rows.clone()).collect();
            assert!(rows.into_iter().eq(5..300_000));
            let counts = windows.iter().map(|w| w.iter().map(|p| p.rows.end - p.rows.start).sum::<u64>());
            assert!(counts.max().is_some_and(|most| most <= 2 * longest), "{most}");
        }
    }
}
