//! Any array as plain Zarr v3: `/zarr/REPOSITORY[@VERSION]/…/zarr.json` and `…/c/0/1`.
//!
//! `document` rewrites metadata so that any Zarr reader supports it: a regular grid of chunks of moderate size and the
//! codec `bytes`. `chunk` reads such a chunk through the read pipeline, whatever the array's own chunks, codecs and
//! links.

mod chunk;
mod document;
mod grid;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;

use crate::app::App;
use crate::domains::Domain;
use crate::http::error::{Answer, Failure};
use crate::http::etag;
use crate::http::params::Params;
use crate::http::ranges::Part;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/zarr/{*key}", get(answer))
}

const DOCUMENT: &str = "zarr.json";

/// Parsed URL below `/zarr`.
#[derive(Debug, PartialEq)]
enum Key {
    Document,
    Chunk(Vec<u64>),
}

async fn answer(State(app): State<App>, Path(key): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let (node, key) = taken_apart(&key)?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let (domain, path) = found(&shared, &node)?;
        shared.readable(&domain, &params)?;
        let tag = etag::tag(&domain.tag, "zarr");
        if let Some(same) = etag::unchanged(&headers, &tag) {
            return Ok(same);
        }
        let (body, kind) = match key {
            Key::Document => (document::document(&domain, &path)?, "application/json"),
            Key::Chunk(place) => (chunk::chunk(&shared, &domain, &path, &place)?, "application/octet-stream"),
        };
        let mut answer = ranged(&headers, body);
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        Ok(etag::with(answer, &tag))
    })
    .await
}

/// The domain that a path begins with, and the node's path in it. The work does not grow with the number of nodes.
fn found(app: &App, node: &str) -> Answer<(Arc<Domain>, String)> {
    match app.domains.known_above(node) {
        Some(known) => Ok(known),
        None => Ok(app.domains.above(node)?),
    }
}

fn taken_apart(key: &str) -> Answer<(String, Key)> {
    let parts: Vec<&str> = key.split('/').filter(|part| !part.is_empty()).collect();
    if let Some((&DOCUMENT, node)) = parts.split_last() {
        return Ok((format!("/{}", node.join("/")), Key::Document));
    }
    let from = parts.iter().rposition(|part| *part == "c");
    let place: Option<Vec<u64>> =
        from.and_then(|from| parts.get(from + 1..)?.iter().map(|part| part.parse().ok()).collect());
    match (from.and_then(|from| parts.get(..from)), place) {
        (Some(node), Some(place)) => Ok((format!("/{}", node.join("/")), Key::Chunk(place))),
        _ => Err(Failure::missing(
            format!("/zarr/{key} is not a key of Zarr v3"),
            "keys are REPOSITORY[@VERSION]/PATH/zarr.json and …/c/0/1",
        )),
    }
}

/// The body, or the requested range of it.
fn ranged(headers: &HeaderMap, body: Bytes) -> Response {
    let length = body.len() as u64;
    Part::of(headers, length).response(length, |part| body.slice(part.start as usize..part.end as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let key = |text: &str| taken_apart(text).unwrap();
        assert_eq!(key("moon@v1/zarr.json"), ("/moon@v1".into(), Key::Document));
        assert_eq!(key("moon/a/c/0/12"), ("/moon/a".into(), Key::Chunk(vec![0, 12])));
        assert_eq!(key("moon/c/c"), ("/moon/c".into(), Key::Chunk(vec![])));
        for bad in ["moon/a", "moon/c/x", "moon/c/-1", "zarr"] {
            assert!(taken_apart(bad).is_err(), "{bad}");
        }
    }
}
