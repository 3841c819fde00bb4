//! Write a long value in pieces of bounded memory: rows of a selection, in the order in which they were sent.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use icecore::cancel;
use icecore::grid::{Error, ErrorKind};
use icecore::session::Pick;
use serde_json::{Map, Value, json};

use super::edit::edited;
use super::edit_value::{self, Sent, Target, places};
use super::reply;
use crate::app::App;
use crate::hdf5::{incoming, layout};
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::live::{self, Places};
use crate::long_body::LongBody;

/// Bytes of a piece, unless the rows of a chunk are more.
const PIECE: u64 = 32 << 20;
/// Maximum bytes of a piece.
const MOST: u64 = 128 << 20;

/// Writes a value, from memory or from a file.
pub(super) async fn put(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
    long: Option<Extension<LongBody>>,
    body: Bytes,
) -> Answer {
    let Some(Extension(long)) = long else { return edit_value::put(State(app), Path(id), headers, params, body).await };
    let written = edited(app, params, "update", move |state, params| write(state, &id, &long, params));
    written.await.map(|body| reply::plain(body.to_string()))
}

/// Writes all elements of a body.
fn write(state: &mut live::State, id: &str, body: &LongBody, params: &Params) -> Answer<Value> {
    let target = Target::new(state, id)?;
    let named = ["query", "fields"].into_iter().find(|name| params.get(name).is_some());
    if let Some(what) = named.or_else(|| (!target.h5.is_plain()).then_some("elements of any length")) {
        return Err(refused(body.length, what));
    }
    let picks = match places(state, &target, &Sent { json: Map::new(), bytes: None }, params)? {
        Places::Picks(picks) => picks,
        Places::Points(_) => return Err(refused(body.length, "single points")),
    };
    let size = target.h5.size() as u64;
    let wanted = picks.len().saturating_mul(size);
    if wanted != body.length {
        let message = format!("{} bytes are sent, the selection has {wanted}", body.length);
        return Err(Error::new(ErrorKind::Mismatch, message).hint("send as many elements as are selected").into());
    }
    let Some(Pick::Range { start, step, count }) = picks.axes.first().cloned() else {
        return Err(refused(body.length, "a list of rows"));
    };
    let row = body.length / count.max(1);
    let rows = layout::chunks(&*state.view(&target.path)?).first().copied().unwrap_or(1).max(1);
    if row > MOST {
        return Err(refused(body.length, "rows of more than 128 MiB"));
    }
    let mut at = 0;
    while at < count {
        cancel::check()?;
        let piece = rows_of(start + at * step, step, count - at, row, rows);
        let bytes = body.bytes(at * row, (piece * row) as usize)?;
        let elements = incoming::elements(&bytes, &target.h5, target.big)?;
        drop(bytes);
        let mut part = picks.clone();
        if let Some(axis) = part.axes.first_mut() {
            *axis = Pick::Range { start: start + at * step, step, count: piece };
        }
        state.write(&target.path, &Places::Picks(part), &elements)?;
        at += piece;
    }
    Ok(json!({"hrefs": []}))
}

/// The number of rows of the next piece; it ends with a chunk, so that no chunk is written twice, unless a chunk's rows are
/// too many.
fn rows_of(first: u64, step: u64, left: u64, row: u64, chunk: u64) -> u64 {
    let most = (MOST / row.max(1)).max(1);
    let wanted = (PIECE / row.max(1)).max(1);
    if step != 1 {
        return wanted.min(left);
    }
    let end = (first + wanted).div_ceil(chunk).saturating_mul(chunk);
    let aligned = end - first;
    (if aligned <= most { aligned } else { wanted }).min(left)
}

fn refused(length: u64, what: &str) -> Failure {
    Failure::too_large(
        format!("a body of {length} bytes can't be written in pieces: {what}"),
        "send less at a time: write parts of a dataset",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_chunks() {
        let mib = 1 << 20;
        assert_eq!(rows_of(0, 1, 1000, mib, 10), 40, "32 rows, rounded up to whole chunks");
        assert_eq!(rows_of(5, 1, 1000, mib, 10), 35);
        assert_eq!(rows_of(960, 1, 40, mib, 10), 40);
        assert_eq!(rows_of(0, 1, 1000, mib, 500), 32, "a chunk that is larger than a piece may be");
        assert_eq!(rows_of(0, 2, 1000, mib, 10), 32);
        assert_eq!(rows_of(0, 1, 7, 200 * mib, 3), 1);
    }
}
