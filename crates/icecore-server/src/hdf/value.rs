//! Elements of a dataset: bytes or JSON, by selection, streamed in blocks.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use bytes::Bytes;
use icecore::grid::Result;
use icecore::session::Picks;

use super::object::opened;
use super::select::{Reading, wants_bytes};
use super::{body, point_values, query};
use crate::app::App;
use crate::domains::Domain;
use crate::hdf5::nest::{Nest, empty};
use crate::hdf5::paired::paired;
use crate::http::error::{Answer, Failure};
use crate::http::etag;
use crate::http::params::Params;
use crate::stream::{self, Blocks};

/// Number of elements per block of JSON text.
const TEXT_BLOCK: usize = 1 << 20;

pub(super) async fn get(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let (domain, dataset) = opened(&app, &id, &params).await?;
    let tag = tag(&domain, &headers);
    if let Some(same) = etag::unchanged(&headers, &tag) {
        return Ok(same);
    }
    let reading = Reading::new(Arc::clone(&app), domain, dataset, &params)?;
    let picks = reading.picks(params.get("select"))?;
    let answer = match params.get("query") {
        Some(clause) => query::elements(reading, picks, clause.to_owned(), &headers, &params).await?,
        None => values(reading, picks, &headers, &params).await?,
    };
    Ok(etag::with(answer, &tag))
}

fn tag(domain: &Domain, headers: &HeaderMap) -> String {
    etag::tag(&domain.tag, if wants_bytes(headers) { "bytes" } else { "json" })
}

/// The elements of a selection in the requested form.
pub(super) async fn values(reading: Reading, picks: Picks, headers: &HeaderMap, params: &Params) -> Answer {
    let app = Arc::clone(&reading.app);
    if let Some(paired) = paired(&picks, app.config.limits.points)? {
        let as_bytes = wants_bytes(headers);
        return app.blocking(move || point_values::read(&reading, &paired.points, &paired.shape, as_bytes)).await;
    }
    if wants_bytes(headers) {
        let length = reading.length(picks.len());
        return Ok(body::binary(stream::body(&app, bytes(reading, picks), length).await?));
    }
    let limit = app.config.limits.json_elements;
    // An empty selection still has the lists around its elements.
    let lists = picks.out_shape().iter().take_while(|count| **count > 0).fold(1_u64, |all, n| all.saturating_mul(*n));
    if picks.len().max(lists) > limit {
        return Err(Failure::too_large(
            format!("{} elements as JSON; at most {limit} are sent", picks.len()),
            "ask with Accept: application/octet-stream, or select less",
        ));
    }
    let reduce = params.flag("reduce_dim");
    Ok(body::json(stream::body(&app, texts(reading, picks, reduce), None).await?))
}

/// The blocks of a selection, one at a time: a large dataset has millions of them.
fn blocks(reading: &Reading, picks: Picks) -> impl Iterator<Item = Picks> + Send + use<> {
    let view = &reading.dataset.view;
    picks.into_blocks(view.grid(), view.meta().dtype.size(), reading.domain.session.limits())
}

fn bytes(reading: Reading, picks: Picks) -> Blocks {
    let parts = blocks(&reading, picks);
    Box::new(parts.map(move |part| Ok(encoded(&reading, &part)?)))
}

fn encoded(reading: &Reading, part: &Picks) -> Result<Bytes> {
    let values = reading.whole(&part.selection()?)?;
    reading.encoded(reading.narrowed(values)?)
}

fn texts(reading: Reading, picks: Picks, reduce: bool) -> Blocks {
    let kept = picks.out_shape().into_iter().zip(&picks.reduced).filter(|(_, reduced)| !(reduce && **reduced));
    let shape: Vec<u64> = kept.map(|(count, _)| count).collect();
    let mut nest = Nest::new(&shape);
    let mut begun = String::from("{\"status\":200,\"value\":");
    if shape.contains(&0) {
        empty(&shape, &mut begun);
    }
    let parts = blocks(&reading, picks);
    let middle = parts.map(move |part| {
        let values = reading.narrowed(reading.whole(&part.selection()?)?)?;
        let mut out = String::with_capacity(TEXT_BLOCK.min(8 * values.bytes.len() + 2));
        body::elements(&reading, &values, &mut nest, &mut out)?;
        Ok(Bytes::from(out))
    });
    let (begun, ended) = (Bytes::from(begun), Bytes::from_static(b",\"hrefs\":[]}"));
    Box::new(std::iter::once(Ok(begun)).chain(middle).chain(std::iter::once(Ok(ended))))
}
