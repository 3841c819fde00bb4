//! Options and cost of a scan.

use std::ops::Range;

use icecore_where::Filter;

use crate::read::{ReadOptions, Report};

/// Options of a scan.
#[derive(Clone)]
pub struct ScanOptions {
    /// Numbers of the columns that come out, in this order.
    pub columns: Vec<usize>,
    /// Which rows; all without.
    pub filter: Option<Filter>,
    /// Only these rows: ascending, apart from each other.
    pub rows: Option<Vec<Range<u64>>>,
    /// Leave zones out whose summaries say that no row of them can be wanted.
    pub prune: bool,
    /// Also leave out zones in which all rows match: the caller computes them from summaries.
    pub unsure_only: bool,
    /// At most this many rows come out.
    pub limit: Option<u64>,
    /// Approximate limit for columns in memory, in bytes; at least one chunk of each.
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
    /// Zones of the table, where summaries could be used.
    pub zones: u64,
    /// Zones in which no row can match.
    pub zones_pruned: u64,
    /// Zones in which all rows match, so that the where-clause's columns need not be read.
    pub zones_whole: u64,
    /// Rows that the where-clause was evaluated for.
    pub rows_tested: u64,
    pub rows_out: u64,
    /// Reading of summaries.
    pub summaries: Report,
    /// Reading of the where-clause's columns.
    pub predicate: Report,
    /// Reading of everything else.
    pub data: Report,
}
