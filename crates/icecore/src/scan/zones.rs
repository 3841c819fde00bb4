//! A column's summary as pruning uses it: the intervals of each zone, and whether it has nulls.

use std::sync::Arc;

use icecore_catalog::Snapshot;
use icecore_chunk::{INTERVALS, Number, with_number};
use icecore_grid::{Error, ErrorKind, Result, Selection};
use icecore_where::{Ranges, Zone};
use serde_json::Value;

use super::column::Column;
use super::identity::{check_sources, digest};
use crate::read::{ArrayView, Blobs, Query, ReadOptions, Report, Target, read};

/// The hidden group that summaries are in: `/__summary__/<path of the array>/r<rows of a zone>/{min,max,…}`.
pub const SUMMARY_GROUP: &str = "/__summary__";

/// What is known about each zone of a column.
pub(crate) struct Zones {
    /// Rows of a zone.
    pub rows: u64,
    /// What reading it took.
    pub read: Report,
    length: u64,
    counts: Vec<u32>,
    values: Values,
}

enum Values {
    Int(Vec<[(i128, i128); INTERVALS]>),
    Float(Vec<[(f64, f64); INTERVALS]>),
}

impl Zones {
    /// What is known about rows that lie in one zone; None where they don't.
    pub fn zone(&self, start: u64, end: u64) -> Option<Zone> {
        let number = start / self.rows;
        let last = ((number + 1) * self.rows).min(self.length);
        if end > last {
            return None;
        }
        let at = usize::try_from(number).ok()?;
        let count = *self.counts.get(at)?;
        let values = match &self.values {
            Values::Int(all) => Ranges::Int(if count == 0 { Vec::new() } else { distinct(all.get(at)?) }),
            Values::Float(all) => Ranges::Float(distinct(all.get(at)?)),
        };
        Some(Zone { values, nulls: u64::from(count) < last - number * self.rows })
    }
}

/// The last interval is repeated where fewer are needed; NaN stands where there are no values.
fn distinct<T: Copy + PartialOrd>(intervals: &[(T, T)]) -> Vec<(T, T)> {
    let mut found: Vec<(T, T)> = intervals.iter().copied().filter(|(low, high)| low <= high).collect();
    found.dedup();
    found
}

/// The column's summary, where there is one and it still describes the column.
///
/// # Errors
/// What reading it may bring, and `source-changed` for linked files that are no longer what was summarised.
pub(crate) fn load(column: &Column, options: &ReadOptions) -> Result<Option<Zones>> {
    let Some(level) = finest(column.view.snapshot(), column.view.path()) else { return Ok(None) };
    let length = column.view.meta().shape.first().copied().unwrap_or(0);
    if level.length != length || level.digest != digest(column)? {
        return Ok(None);
    }
    check_sources(column)?;
    let open = |name: &str| {
        ArrayView::open(column.view.repo(), column.view.snapshot(), &format!("{}/{name}", level.path)).map(Arc::new)
    };
    let (intervals, counts) = (open("intervals")?, open("count")?);
    let zones = length.div_ceil(level.zone);
    let fits = intervals.meta().shape == [zones, INTERVALS as u64, 2]
        && counts.meta().shape == [zones]
        && intervals.meta().dtype.size() == column.dtype().size()
        && counts.meta().dtype == icecore_chunk::DType::UInt32;
    if !fits {
        let message = format!("{}: the summary does not have the shape of {zones} zones", level.path);
        return Err(Error::new(ErrorKind::Corrupt, message).hint("make it anew: icecore.tables.summaries.write"));
    }
    let (bytes, read) = whole(&[&intervals, &counts], options)?;
    let [intervals, counts] = bytes.as_slice() else { return Ok(None) };
    let counts = u32::values(counts).collect();
    let values = with_number!(column.dtype(), T => parse::<T>(intervals), else return Ok(None));
    Ok(Some(Zones { rows: level.zone, read, length, counts, values }))
}

fn parse<T: Number>(bytes: &[u8]) -> Values {
    let numbers: Vec<T> = T::values(bytes).collect();
    let pairs = numbers.as_chunks::<2>().0.as_chunks::<INTERVALS>().0;
    if T::FLOAT {
        Values::Float(pairs.iter().map(|zone| zone.map(|[low, high]| (low.float(), high.float()))).collect())
    } else {
        Values::Int(pairs.iter().map(|zone| zone.map(|[low, high]| (low.int(), high.int()))).collect())
    }
}

fn whole(views: &[&Arc<ArrayView>], options: &ReadOptions) -> Result<(Vec<Vec<u8>>, Report)> {
    let selections = views.iter().map(|v| Selection::all(&v.meta().shape)).collect::<Result<Vec<_>>>()?;
    let blobs = Blobs::default();
    let size = |(s, v): (&Selection, &&Arc<ArrayView>)| vec![0u8; s.out_len() as usize * v.meta().dtype.size()];
    let mut buffers: Vec<Vec<u8>> = selections.iter().zip(views).map(size).collect();
    let parts = views.iter().zip(&selections).zip(&mut buffers);
    let queries: Vec<Query<'_>> = parts
        .map(|((view, selection), buffer)| Query { array: view, selection, target: Target::new(buffer), blobs: &blobs })
        .collect();
    let report = read(&queries, options)?;
    drop(queries);
    Ok((buffers, report))
}

/// One level of a column's summary, as its group's attributes describe it.
struct Level {
    path: String,
    zone: u64,
    length: u64,
    digest: u64,
}

fn finest(snapshot: &Snapshot, path: &str) -> Option<Level> {
    let prefix = format!("{SUMMARY_GROUP}{path}/r");
    let nodes = snapshot.nodes();
    let from = nodes.partition_point(|n| n.path < prefix);
    let below = nodes.get(from..)?.iter().take_while(|n| n.path.starts_with(&prefix));
    below.filter(|n| !n.is_array).filter_map(|n| level(&n.path, &n.zarr_json)).min_by_key(|level| level.zone)
}

fn level(path: &str, zarr_json: &[u8]) -> Option<Level> {
    let document: Value = serde_json::from_slice(zarr_json).ok()?;
    let about = document.get("attributes")?.get("icecore")?.get("summary")?;
    let zone = about.get("zone")?.as_u64().filter(|zone| *zone > 0)?;
    let digest = u64::from_str_radix(about.get("digest")?.as_str()?, 16).ok()?;
    Some(Level { path: path.to_owned(), zone, length: about.get("rows")?.as_u64()?, digest })
}
