//! The read pipeline: query → locate → coalesce → fetch → decode → place.
//!
//! One file per stage. Linked and packed arrays, local and remote stores, one array or many: all use the same path.

mod array;
mod cache;
mod coalesce;
mod decode;
mod decode_pairing;
mod explain;
mod fetch;
mod locate;
mod options;
mod parts;
mod precision;
mod prefault;
mod prefix;
mod prefix_chunk;
mod prefix_estimate;
mod query;
mod report;
mod rounds;

pub use array::ArrayView;
pub use cache::{CacheInfo, cache_info, set_cache_bytes};
pub use explain::{ObjectPlan, Plan};
pub use options::ReadOptions;
pub use precision::{Depth, Precision};
pub use query::{Blobs, Query, Target};
pub use report::Report;

use icecore_grid::{Request, Result};

use crate::store::Source;

/// Reads all queries in one coalesced plan, into their targets.
///
/// # Errors
/// The error of the first failing stage; targets may then be partly written.
pub fn read(queries: &[Query<'_>], options: &ReadOptions) -> Result<Report> {
    let mut located = located(queries, options, false)?;
    if located.sources.iter().any(|source| matches!(source, Source::Local(_))) {
        prefault::prefault(queries)?; // remote bytes arrive slowly enough without it
    }
    decode::Decoder::new(queries, &located).without_bytes(options)?;
    let mut report = located.report;
    report.chunks = located.to_decode();
    while !located.spans.is_empty() {
        let requests = requests(&located, options);
        let decoder = decode::Decoder::new(queries, &located);
        report += fetch::fetch(&located.sources, &requests, &located.spans, options, |part, bytes| {
            decoder.request(part, bytes)
        })?;
        located.spans = decoder.finish()?;
        located.guessed.clear(); // their full lengths are known now
    }
    Ok(report)
}

/// The plan of [`read`] without reading data (shard indexes are read, because the plan depends on them).
pub fn plan(queries: &[Query<'_>], options: &ReadOptions) -> Result<Plan> {
    let located = located(queries, options, true)?;
    let requests = requests(&located, options);
    Ok(explain::explain(queries, &located, &requests))
}

fn requests(located: &locate::Located, options: &ReadOptions) -> Vec<Request> {
    let merged = coalesce::requests(&located.spans, &located.merges);
    let is_far = |object: u32| matches!(located.sources.get(object as usize), Some(Source::Remote(_)));
    rounds::even(merged, &located.spans, &located.merges, options.concurrency, is_far)
}

/// `certain`: no estimates; all tables are read.
fn located(queries: &[Query<'_>], options: &ReadOptions, certain: bool) -> Result<locate::Located> {
    let mut located = locate::locate(queries, options)?;
    prefix::shorten(queries, &mut located, options, certain)?;
    Ok(located)
}
