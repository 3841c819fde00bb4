//! Queries: the elements for which a condition is true.
//!
//! The grammar is HSDS's (`_ > 1.0 AND _ < 2.0`, `field("t") == b'x'`, `symbol IN (AAPL, EBAY)`); `clause` turns it into a
//! where-clause, which is evaluated block by block. As in SQL, comparisons with NaN are never true.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use icecore::chunk::DType;
use icecore::grid::Result;
use icecore::read::ArrayView;
use icecore::session::{Pick, Picks, Session, Values};
use icecore_where::{ColumnType, Filter, Rows, Values as Column};
use serde_json::json;

use super::body;
use super::object::opened;
use super::reply::plain;
use super::select::{Reading, wants_bytes};
use crate::app::App;
use crate::hdf5::clause::where_clause;
use crate::hdf5::nest::Nest;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::http::size::check_size;

/// Result of a query.
struct Hits {
    /// Indexes in the dataset.
    indices: Vec<Vec<u64>>,
    /// The elements' bytes, and their blobs.
    parts: Vec<Values>,
}

pub(super) async fn indices(State(app): State<App>, Path(id): Path<String>, params: Params) -> Answer {
    let clause = params.get("query").map(str::to_owned);
    let clause = clause.ok_or_else(|| Failure::invalid("there is no query", "give one: ?query=_ > 100"))?;
    let (domain, dataset) = opened(&app, &id, &params).await?;
    let reading = Reading::new(Arc::clone(&app), domain, dataset, &params)?;
    let picks = reading.picks(params.get("select"))?;
    let limit = params.number("limit")?;
    app.blocking(move || {
        let hits = hits(&reading, &picks, &clause, limit)?;
        Ok(plain(json!({"indices": hits.indices, "hrefs": []}).to_string()))
    })
    .await
}

/// The elements that match a query.
pub(super) async fn elements(
    reading: Reading,
    picks: Picks,
    clause: String,
    headers: &HeaderMap,
    params: &Params,
) -> Answer {
    let (limit, as_bytes) = (params.number("limit")?, wants_bytes(headers));
    let app = Arc::clone(&reading.app);
    app.blocking(move || {
        let hits = hits(&reading, &picks, &clause, limit)?;
        if as_bytes {
            let mut out = Vec::new();
            for part in hits.parts {
                out.extend_from_slice(&reading.encoded(reading.narrowed(part)?)?);
            }
            return Ok(body::binary(out));
        }
        let mut nest = Nest::new(&[hits.indices.len() as u64]);
        let mut out = String::from("{\"value\":");
        if hits.indices.is_empty() {
            out.push_str("[]");
        }
        for part in hits.parts {
            body::elements(&reading, &reading.narrowed(part)?, &mut nest, &mut out)?;
        }
        // As in HSDS: numbers for a table, coordinates for a dataset of several axes.
        let index = match picks.axes.len() {
            1 => json!(hits.indices.iter().flatten().collect::<Vec<_>>()),
            _ => json!(hits.indices),
        };
        out.push_str(&format!(",\"index\":{index},\"hrefs\":[]}}"));
        Ok(body::json(out))
    })
    .await
}

fn hits(reading: &Reading, picks: &Picks, clause: &str, limit: Option<u64>) -> Answer<Hits> {
    let view = &reading.dataset.view;
    let meta = view.meta();
    if meta.shape.is_empty() {
        return Err(Failure::invalid("a dataset of a single element cannot be queried", "GET its value"));
    }
    let columns = columns(&meta.dtype);
    let filter = bound(clause, &columns)?;
    let most = reading.app.config.limits.points;
    let wanted = limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
    let mut found = Hits { indices: Vec::new(), parts: Vec::new() };
    let mut bytes = 0_u64;
    for part in picks.blocks(view.grid(), meta.dtype.size(), reading.domain.session.limits()) {
        let left = wanted - found.indices.len() as u64;
        if left == 0 {
            break;
        }
        let values = reading.whole(&part.selection()?)?;
        let mut rows = Vec::new();
        matching(&filter, &columns, &values, &mut rows)?;
        rows.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        found.indices.extend(rows.iter().map(|row| place(&part, u64::from(*row))));
        check_count(found.indices.len(), most)?;
        if !rows.is_empty() {
            let taken = values.taken(&rows)?;
            bytes += taken.bytes.len() as u64 + taken.blobs().iter().map(|blob| blob.len() as u64).sum::<u64>();
            check_size(1, bytes as usize, reading.app.config.limits.elements)?;
            found.parts.push(taken);
        }
    }
    Ok(found)
}

/// Maximum number of records that a query changes.
const MOST: u64 = 4 << 20;

fn check_count(count: usize, most: u64) -> Answer<()> {
    if count as u64 <= most {
        return Ok(());
    }
    Err(Failure::too_large(
        format!("the query finds more than {most} elements"),
        "narrow it, select a part of the dataset, or give a Limit",
    ))
}

/// The indexes of the records that match a query.
pub(super) fn places(
    session: &Session,
    view: &ArrayView,
    picks: &Picks,
    clause: &str,
    limit: Option<u64>,
) -> Answer<Vec<Vec<u64>>> {
    let columns = columns(&view.meta().dtype);
    let filter = bound(clause, &columns)?;
    let mut found = Vec::new();
    for part in picks.blocks(view.grid(), view.meta().dtype.size(), session.limits()) {
        let values = session.read(view, &part)?;
        let mut rows = Vec::new();
        matching(&filter, &columns, &values, &mut rows)?;
        found.extend(rows.iter().map(|row| place(&part, u64::from(*row))));
        check_count(found.len(), MOST)?;
        if limit.is_some_and(|limit| limit > 0 && found.len() as u64 >= limit) {
            break;
        }
    }
    found
        .truncate(limit.filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
    Ok(found)
}

/// A query over these columns.
fn bound(clause: &str, columns: &[ColumnType]) -> Result<Filter> {
    let filter = where_clause(clause, columns).and_then(|clause| icecore_where::filter(&clause, columns));
    filter.map_err(|error| match error.hint.is_empty() {
        true => error.hint("for example `n > 1 AND s == b'x'` for records, `_ > 1` for other elements"),
        false => error,
    })
}

/// The columns that a query may use: `_`, or the fields of a record.
fn columns(dtype: &DType) -> Vec<ColumnType> {
    let column = |name: &str, dtype: &DType| ColumnType { name: name.to_owned(), dtype: dtype.clone(), epoch: None };
    match dtype {
        DType::Struct(fields) => fields.iter().map(|(name, field)| column(name, field)).collect(),
        other => vec![column("_", other)],
    }
}

/// The flat indexes of the elements that match the filter.
fn matching(filter: &Filter, columns: &[ColumnType], values: &Values, rows: &mut Vec<u32>) -> Result<()> {
    let record = values.dtype.size();
    let is_record = matches!(values.dtype, DType::Struct(_));
    let mut at = 0;
    let mut bytes: Vec<Option<Cow<'_, [u8]>>> = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let place = at..at + column.dtype.size();
        at = place.end;
        bytes.push(filter.columns.contains(&number).then(|| match is_record {
            false => Cow::Borrowed(values.bytes.as_slice()),
            true => {
                let records = values.bytes.chunks_exact(record.max(1));
                Cow::Owned(records.flat_map(|each| each.get(place.clone()).unwrap_or_default()).copied().collect())
            }
        }));
    }
    let held: Vec<Option<Column<'_>>> = columns
        .iter()
        .zip(&bytes)
        .map(|(column, bytes)| {
            let bytes = bytes.as_deref()?;
            Some(Column { dtype: &column.dtype, bytes, nulls: &[], blobs: values.blobs() })
        })
        .collect();
    filter.hits(&Rows { count: values.len(), columns: &held }, rows)
}

/// Converts a flat index to coordinates in the dataset.
fn place(picks: &Picks, number: u64) -> Vec<u64> {
    let mut rest = number;
    let mut place: Vec<u64> = Vec::with_capacity(picks.axes.len());
    for pick in picks.axes.iter().rev() {
        let count = pick.count().max(1);
        let at = rest % count;
        rest /= count;
        place.push(match pick {
            Pick::Range { start, step, .. } => start + at * step,
            Pick::List(values) => values.get(at as usize).copied().unwrap_or(0),
        });
    }
    place.reverse();
    place
}
