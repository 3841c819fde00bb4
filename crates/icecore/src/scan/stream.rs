//! The scan: window after window, to the end of the table or the limit.

use std::ops::Range;
use std::sync::Arc;

use icecore_grid::Result;

use super::batch::Batch;
use super::collect::{Wanted, collect};
use super::filter::{Hits, filter};
use super::load::{Loaded, load};
use super::options::{ScanOptions, ScanReport};
use super::prune::prune;
use super::table::Table;
use super::window::{PIECE, Piece, Run, Windows};

/// A scan in progress.
pub struct Scan {
    table: Arc<Table>,
    options: ScanOptions,
    windows: Windows,
    whole: Vec<Range<u64>>,
    kept: Vec<Range<u64>>,
    left: u64,
    report: ScanReport,
}

/// The columns of the where-clause in some pieces, and the rows for which it is true.
struct Tested {
    columns: Vec<usize>,
    loaded: Vec<Loaded>,
    hits: Vec<Hits>,
}

impl Scan {
    /// Starts a scan and prunes; reads only summaries.
    ///
    /// # Errors
    /// `internal` for a column that the table lacks; the errors of reading the summaries.
    pub fn new(table: Arc<Table>, options: ScanOptions) -> Result<Self> {
        let mut report = ScanReport { rows: table.rows(), ..ScanReport::default() };
        let mut runs = prune(&table, &options, &mut report)?;
        let rows = table.rows();
        let bound = |row: u64| row.is_multiple_of(PIECE) || row == rows;
        let zones = |run: &Run| bound(run.rows.start) && bound(run.rows.end);
        let whole = runs.iter().filter(|run| run.sure && zones(run)).map(|run| run.rows.clone()).collect();
        let kept = runs.iter().map(|run| run.rows.clone()).collect();
        if options.unsure_only {
            runs.retain(|run| !run.sure || !zones(run));
        }
        let (mut row_bytes, mut long, mut grain) = (1, 0, 1);
        let tested = options.filter.iter().flat_map(|f| &f.columns);
        for column in options.columns.iter().chain(tested) {
            let column = table.column(*column)?;
            row_bytes += column.row_size() as u64;
            grain = grain.max(column.chunk_rows());
            if column.chunk_rows() < PIECE {
                long += column.row_size() as u64;
            }
        }
        // If a few long strings dominate the row length, it is better to decode the chunks of the other columns
        // repeatedly.
        let least = if long > row_bytes / 2 { 1 } else { PIECE };
        let windows = Windows::new(runs, options.memory / row_bytes, least, grain);
        let left = options.limit.unwrap_or(u64::MAX);
        Ok(Self { table, options, windows, whole, kept, left, report })
    }

    /// The next matching rows, at least one; None at the end.
    ///
    /// # Errors
    /// The errors of a read; `corrupt` for invalid strings.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        while self.left > 0 {
            let pieces = self.windows.next();
            if pieces.is_empty() {
                break;
            }
            let batch = self.window(&pieces)?;
            if batch.rows > 0 {
                self.report.rows_out += batch.rows as u64;
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The numbers of the next rows that match, at least one, without their columns; None at the end.
    ///
    /// # Errors
    /// As [`Scan::next_batch`].
    pub fn next_rows(&mut self) -> Result<Option<Vec<u64>>> {
        while self.left > 0 {
            let pieces = self.windows.next();
            if pieces.is_empty() {
                break;
            }
            let hits = self.test(&pieces)?.hits;
            let wanted = self.wanted(&pieces, hits);
            let rows: Vec<u64> = wanted.iter().flat_map(|w| w.hits.rows(w.piece)).collect();
            if !rows.is_empty() {
                self.report.rows_out += rows.len() as u64;
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// The numbers of the output columns.
    pub fn columns(&self) -> &[usize] {
        &self.options.columns
    }

    /// Row ranges in which all rows match according to the summaries: whole zones; the table's last may be shorter.
    pub fn whole(&self) -> &[Range<u64>] {
        &self.whole
    }

    /// Row ranges that the summaries don't rule out, in order.
    pub fn kept(&self) -> &[Range<u64>] {
        &self.kept
    }

    /// Cost so far.
    pub fn report(&self) -> ScanReport {
        self.report
    }

    fn window(&mut self, pieces: &[Piece]) -> Result<Batch> {
        let Tested { columns, loaded, hits } = self.test(pieces)?;
        let wanted = self.wanted(pieces, hits);
        let tested: Vec<(usize, &Loaded)> = columns.iter().copied().zip(&loaded).collect();
        let rows = wanted.iter().map(|w| w.hits.count(w.piece)).sum();
        if rows == 0 {
            return Ok(Batch::default());
        }
        let (columns, report) = collect(&self.table, &self.options.columns, &wanted, &tested, &self.options.read)?;
        self.report.data += report;
        Ok(Batch { rows, columns })
    }

    /// Evaluates the where-clause for the rows that the summaries leave open.
    fn test(&mut self, pieces: &[Piece]) -> Result<Tested> {
        let unsure: Vec<&Piece> = pieces.iter().filter(|p| !p.sure).collect();
        let columns = self.options.filter.as_ref().map_or_else(Vec::new, |f| f.columns.clone());
        let (loaded, report) = load(&self.table, &columns, &unsure, &self.options.read)?;
        self.report.predicate += report;
        self.report.rows_tested += unsure.iter().map(|p| p.count() as u64).sum::<u64>();
        let hits = match &self.options.filter {
            Some(clause) => filter(&self.table, clause, &unsure, &loaded)?,
            None => Vec::new(),
        };
        Ok(Tested { columns, loaded, hits })
    }

    /// The pieces with needed rows, up to the limit.
    fn wanted<'a>(&mut self, pieces: &'a [Piece], hits: Vec<Hits>) -> Vec<Wanted<'a>> {
        let mut tested = hits.into_iter().enumerate();
        let mut wanted = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let (number, mut hits) = if piece.sure {
                (None, Hits::All)
            } else {
                tested.next().map_or((None, Hits::Some(Vec::new())), |(i, hits)| (Some(i), hits))
            };
            hits.keep(piece, usize::try_from(self.left).unwrap_or(usize::MAX));
            let count = hits.count(piece);
            if count > 0 {
                self.left -= count as u64;
                wanted.push(Wanted { piece, hits, tested: number });
            }
        }
        wanted
    }
}
