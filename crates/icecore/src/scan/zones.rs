//! A column's summary for pruning: the intervals of each zone, and whether it contains nulls.

use std::sync::Arc;

use icecore_catalog::Snapshot;
use icecore_chunk::{DType, INTERVALS, Number};
use icecore_grid::{Error, ErrorKind, Index, Mode, Result, Selection};
use icecore_where::{Ranges, Zone};
use serde_json::Value;

use super::column::Column;
use super::identity::{check_sources, digest};
use crate::read::{ArrayView, Blobs, Query, ReadOptions, Report, Target, read};

/// The hidden group with summaries: `/__summary__/<path of the group>/r<rows of a zone>/{whole,real,moments,count}`.
const SUMMARY_GROUP: &str = "/__summary__";

/// Summary of each zone of a column.
pub(crate) struct Zones {
    /// Rows per zone.
    pub rows: u64,
    /// Cost of reading it.
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
    /// Summary of the zone that contains the rows; None if they span several zones.
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

/// If there are fewer than four intervals, the last one is repeated; NaN means no values.
fn distinct<T: Copy + PartialOrd>(intervals: &[(T, T)]) -> Vec<(T, T)> {
    let mut found: Vec<(T, T)> = intervals.iter().copied().filter(|(low, high)| low <= high).collect();
    found.dedup();
    found
}

/// The column's summary, if one exists and is not outdated.
///
/// # Errors
/// The errors of a read; `source-changed` for linked files that changed since they were summarised.
pub(crate) fn load(column: &Column, options: &ReadOptions) -> Result<Option<Zones>> {
    let Some(entry) = entry(column.view.snapshot(), column.view.path()) else { return Ok(None) };
    let length = column.view.meta().shape.first().copied().unwrap_or(0);
    if entry.length != length || entry.digest != digest(column)? {
        return Ok(None);
    }
    check_sources(column)?;
    let open = |name: &str| {
        ArrayView::open(column.view.repo(), column.view.snapshot(), &format!("{}/{name}", entry.path)).map(Arc::new)
    };
    let (ranges, counts) = (open(if entry.real { "real" } else { "whole" })?, open("count")?);
    let zones = length.div_ceil(entry.zone);
    let &[columns, longest] = counts.meta().shape.as_slice() else { return Err(misshapen(&entry, zones)) };
    let wanted = if entry.real { DType::Float64 } else { DType::Int64 };
    let fits = ranges.meta().shape == [columns, longest, 1 + INTERVALS as u64, 2]
        && entry.at < columns
        && zones <= longest
        && ranges.meta().dtype == wanted
        && counts.meta().dtype == DType::UInt32;
    if !fits {
        return Err(misshapen(&entry, zones));
    }
    let (bytes, read) = rows(&[&ranges, &counts], entry.at, zones, options)?;
    let [ranges, counts] = bytes.as_slice() else { return Ok(None) };
    let values = match column.dtype() {
        _ if entry.real => Values::Float(intervals::<f64, f64>(ranges, |x| x)),
        DType::UInt64 => Values::Int(intervals::<i64, i128>(ranges, |x| i128::from(x.cast_unsigned()))),
        _ => Values::Int(intervals::<i64, i128>(ranges, i128::from)),
    };
    Ok(Some(Zones { rows: entry.zone, read, length, counts: u32::values(counts).collect(), values }))
}

fn misshapen(entry: &Entry, zones: u64) -> Error {
    let message = format!("{}: the summary does not have the shape of {zones} zones", entry.path);
    Error::new(ErrorKind::Corrupt, message).hint("write it again: icecore.tables.summaries.write")
}

/// The intervals of each zone; the extremes before them are not needed here.
fn intervals<T: Number, V>(bytes: &[u8], value: impl Fn(T) -> V) -> Vec<[(V, V); INTERVALS]> {
    const ITEM: usize = 2 * (1 + INTERVALS);
    let numbers: Vec<T> = T::values(bytes).collect();
    let zone = |numbers: &[T; ITEM]| std::array::from_fn(|i| (value(numbers[2 + 2 * i]), value(numbers[3 + 2 * i])));
    numbers.as_chunks::<ITEM>().0.iter().map(zone).collect()
}

/// Selects one column's zones of arrays of shape (columns, zones, …).
fn rows(views: &[&Arc<ArrayView>], at: u64, zones: u64, options: &ReadOptions) -> Result<(Vec<Vec<u8>>, Report)> {
    let zones = Index::Slice { start: Some(0), stop: Some(zones as i64), step: None }; // lengths are below 2⁶³
    let row = [Index::At(at as i64), zones];
    let resolve = |v: &&Arc<ArrayView>| Selection::resolve(&v.meta().shape, &row, Mode::Numpy);
    let selections = views.iter().map(resolve).collect::<Result<Vec<_>>>()?;
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

/// A column's part of its group's summaries, as described by the group's attributes.
struct Entry {
    path: String,
    zone: u64,
    /// Index along the first axis.
    at: u64,
    /// Whether its ranges are floats.
    real: bool,
    length: u64,
    digest: u64,
}

/// The part with the shortest zones.
fn entry(snapshot: &Snapshot, path: &str) -> Option<Entry> {
    let (parent, name) = path.rsplit_once('/')?;
    let prefix = format!("{SUMMARY_GROUP}{parent}/r");
    let nodes = snapshot.nodes();
    let from = nodes.partition_point(|n| n.path < prefix);
    let below = nodes.get(from..)?.iter().take_while(|n| n.path.starts_with(&prefix));
    let levels = below.filter(|n| !n.is_array && !n.path.get(prefix.len()..).is_some_and(|rest| rest.contains('/')));
    levels.filter_map(|n| stated(&n.path, &n.zarr_json, name)).min_by_key(|entry| entry.zone)
}

fn stated(path: &str, zarr_json: &[u8], name: &str) -> Option<Entry> {
    let document: Value = serde_json::from_slice(zarr_json).ok()?;
    let about = document.get("attributes")?.get("icecore")?.get("summary")?;
    let zone = about.get("zone")?.as_u64().filter(|zone| *zone > 0)?;
    let column = about.get("columns")?.get(name)?;
    let number = |key: &str| column.get(key)?.as_u64();
    let real = match column.get("kind")?.as_str()? {
        "real" => true,
        "whole" => false,
        _ => return None,
    };
    let digest = u64::from_str_radix(column.get("digest")?.as_str()?, 16).ok()?;
    Some(Entry { path: path.to_owned(), zone, at: number("at")?, real, length: number("rows")?, digest })
}
