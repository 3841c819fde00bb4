//! Options and cost of a scan.

use std::ops::Range;

use icecore_where::Filter;

use crate::read::{ReadOptions, Report};

/// Options of a scan.
#[derive(Clone)]
pub struct ScanOptions {
    /// Numbers of the output columns, in this order.
    pub columns: Vec<usize>,
    /// The where-clause; all rows without one.
    pub filter: Option<Filter>,
    /// Only these rows: ascending and disjoint ranges.
    pub rows: Option<Vec<Range<u64>>>,
    /// Skip zones without a matching row, by their summaries.
    pub prune: bool,
    /// Also skip zones in which all rows match, because the caller computes them from summaries.
    pub unsure_only: bool,
    /// Maximum number of rows to return.
    pub limit: Option<u64>,
    /// Approximate limit in bytes for columns in memory; at least one chunk of each.
    pub memory: u64,
    pub read: ReadOptions,
}

impl Default for ScanOptions {
    fn default() -> Self {
        let read = ReadOptions { cache: false, ..ReadOptions::default() };
        Self {
            columns: Vec::new(),
            filter: None,
            rows: None,
            prune: true,
            unsure_only: false,
            limit: None,
            memory: 32 << 20,
            read,
        }
    }
}

/// Progress of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScanReport {
    pub rows: u64,
    /// Zones of the table for which summaries exist.
    pub zones: u64,
    /// Zones in which no row can match.
    pub zones_pruned: u64,
    /// Zones in which all rows match, so that the where-clause's columns need not be read.
    pub zones_whole: u64,
    /// Rows that the where-clause was evaluated for.
    pub rows_tested: u64,
    pub rows_out: u64,
    /// Cost of reading summaries.
    pub summaries: Report,
    /// Cost of reading the where-clause's columns.
    pub predicate: Report,
    /// Cost of reading all other columns.
    pub data: Report,
}
