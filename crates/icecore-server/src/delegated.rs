//! Routes that the program beside the service answers: `/tables/REPOSITORY[@VERSION]/PATH[.SUFFIX]` and `/products`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use icecore::grid::{Error, ErrorKind};
use serde_json::Value;

use crate::app::{App, Shared};
use crate::delegate::{Asked, Delegate, Located, Reply};
use crate::error::{Answer, Failure};
use crate::params::Params;
use crate::{etag, stream};

/// Endings of a table's name that choose a format.
const SUFFIXES: [&str; 5] = [".arrow", ".arrows", ".parquet", ".geoparquet", ".csv"];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/tables/{*key}", get(table))
        .route("/products", get(products))
        .route("/products/{name}", get(product).post(run))
}

async fn table(State(app): State<App>, Path(key): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let shared = Arc::clone(&app);
    let (node, suffix) = match SUFFIXES.iter().find_map(|suffix| Some((key.strip_suffix(suffix)?, *suffix))) {
        Some((node, suffix)) => (format!("/{node}"), suffix),
        None => (format!("/{key}"), ""),
    };
    let given = params.clone();
    let (located, tag) = app.blocking(move || shared.located(&node, &given)).await?;
    let tag = etag::tag(&tag, "table");
    if let Some(same) = etag::unchanged(&headers, &tag) {
        return Ok(same);
    }
    let asked = Asked { located: vec![located], name: suffix.to_owned(), ..asked("tables", &params, &headers) };
    Ok(etag::with(answered(&app, asked).await?, &tag))
}

async fn products(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    answered(&app, asked("products", &params, &headers)).await
}

async fn product(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    answered(&app, Asked { name, ..asked("products", &params, &headers) }).await
}

async fn run(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
    params: Params,
    body: Bytes,
) -> Answer {
    let (shared, given, bytes) = (Arc::clone(&app), params.clone(), body.clone());
    let located = app.blocking(move || sources(&shared, &given, &bytes)).await?;
    let method = Method::POST.to_string();
    answered(&app, Asked { name, method, located, body, ..asked("products", &params, &headers) }).await
}

/// The repositories and groups that a product reads, named by `sources` of the body.
fn sources(app: &Shared, params: &Params, body: &[u8]) -> Answer<Vec<Located>> {
    let bad = || {
        Failure::invalid(
            "the body has no list \"sources\"",
            "send {\"sources\": [\"/REPOSITORY\"], \"parameters\": {…}}",
        )
    };
    let body: Value = serde_json::from_slice(body)
        .map_err(|e| Failure::invalid(format!("the body is not JSON: {e}"), "send a JSON object"))?;
    let names = body.get("sources").and_then(Value::as_array).ok_or_else(bad)?;
    names.iter().map(|name| Ok(app.located(name.as_str().ok_or_else(bad)?, params)?.0)).collect()
}

fn asked(collection: &'static str, params: &Params, headers: &HeaderMap) -> Asked {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let method = Method::GET.to_string();
    let (params, body) = (params.all(), Bytes::new());
    Asked { collection, name: String::new(), method, located: Vec::new(), params, accept, body }
}

pub(crate) async fn answered(app: &App, asked: Asked) -> Answer<Response> {
    let delegate = delegate(app)?;
    let Reply { content_type, blocks } = app.blocking(move || Ok(delegate.answer(asked)?)).await?;
    let blocks = Box::new(blocks.map(|block| Ok(block?)));
    let mut answer = stream::body(app, blocks, None).await?.into_response();
    let kind = HeaderValue::from_str(&content_type).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(answer)
}

fn delegate(app: &Shared) -> Answer<Arc<dyn Delegate>> {
    app.config.delegate.clone().ok_or_else(|| {
        let error = Error::new(ErrorKind::Unsupported, "this service has no tables and no products");
        error.hint("start it with `icecore serve`, or read arrays at /zarr and /datasets").into()
    })
}
