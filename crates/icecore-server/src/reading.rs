//! Reads of elements for all interfaces: limited in size, into reused memory, counted.

use std::sync::atomic::Ordering;
use std::time::Instant;

use icecore::grid::{Result, Selection};
use icecore::read::ArrayView;
use icecore::session::Values;

use crate::app::Shared;
use crate::domains::Domain;
use crate::http::size::check_size;

/// Reads the elements of a selection.
///
/// # Errors
/// `memory` for more elements than a request may hold at once; those of the read pipeline.
pub(crate) fn read(app: &Shared, domain: &Domain, view: &ArrayView, selection: &Selection) -> Result<Values> {
    let begun = Instant::now();
    check_size(selection.out_len(), view.meta().dtype.size(), app.config.limits.elements)?;
    let (values, report) = domain.session.read_into(view, selection, app.buffers.take())?;
    let metrics = &app.metrics;
    metrics.blocks.fetch_add(1, Ordering::Relaxed);
    metrics.value_bytes.fetch_add(values.bytes.len() as u64, Ordering::Relaxed);
    metrics.fetched_bytes.fetch_add(report.bytes_fetched, Ordering::Relaxed);
    metrics.chunks.fetch_add(report.chunks, Ordering::Relaxed);
    metrics.read_micros.fetch_add(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
    Ok(values)
}
