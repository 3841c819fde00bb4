//! The read pipeline: query → locate → coalesce → fetch → decode → place.
//!
//! One file a stage. Linked and packed, local and remote, one array or a hundred: all the same way.

mod array;
mod cache;
mod coalesce;
mod decode;
mod explain;
mod fetch;
mod locate;
mod options;
mod precision;
mod prefix;
mod query;
mod report;

pub use array::ArrayView;
pub use cache::{CacheInfo, cache_info, set_cache_bytes};
pub use explain::{ObjectPlan, Plan};
pub use options::ReadOptions;
pub use precision::{Depth, Precision};
pub use query::{Blobs, Query, Target};
pub use report::Report;

use icecore_grid::Result;

/// Reads all queries in one coalesced plan, into their targets.
///
/// # Errors
/// Whatever the first failing stage says; targets are then partly written.
pub fn read(queries: &[Query<'_>], options: &ReadOptions) -> Result<Report> {
    let located = located(queries, options)?;
    let requests = coalesce::requests(&located.spans, &located.merges);
    let decoder = decode::Decoder::new(queries, &located);
    decoder.without_bytes(options)?;
    let mut report = located.report;
    report.chunks = located.to_decode();
    report += fetch::fetch(&located.sources, &requests, options, |request, bytes| decoder.request(request, bytes))?;
    Ok(report)
}

/// What [`read`] would do, without touching data (shard indexes are read: the plan depends on them).
pub fn plan(queries: &[Query<'_>], options: &ReadOptions) -> Result<Plan> {
    let located = located(queries, options)?;
    let requests = coalesce::requests(&located.spans, &located.merges);
    Ok(explain::explain(queries, &located, &requests))
}

fn located(queries: &[Query<'_>], options: &ReadOptions) -> Result<locate::Located> {
    let mut located = locate::locate(queries, options)?;
    prefix::shorten(queries, &mut located, options)?;
    Ok(located)
}
