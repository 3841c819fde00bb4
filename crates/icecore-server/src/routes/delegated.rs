//! Routes that the program beside the service answers: `/tables/REPOSITORY[@VERSION]/PATH[.SUFFIX]`,
//! `/nc/REPOSITORY[@VERSION][/GROUP].nc` and `/products`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use icecore::cancel;
use icecore::grid::{Error, ErrorKind};
use serde_json::Value;

use crate::app::{App, Shared};
use crate::delegate::{Asked, Delegate, Locate, Located, Reply};
use crate::http::error::{Answer, Failure};
use crate::http::etag;
use crate::http::json::json_body;
use crate::http::params::Params;
use crate::http::private::hidden;
use crate::http::ranges::Part;
use crate::stream;

/// Maximum number of sources of a product.
const MOST_SOURCES: usize = 10_000;
/// Endings of a table's name that choose a format.
const SUFFIXES: [&str; 5] = [".arrow", ".arrows", ".parquet", ".geoparquet", ".csv"];

const NETCDF: &str = ".nc";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/tables/{*key}", get(table))
        .route("/nc/{*key}", get(netcdf))
        .route("/products", get(products))
        .route("/products/{name}", get(product).post(run))
}

async fn table(
    State(app): State<App>,
    Path(key): Path<String>,
    method: Method,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    let (node, suffix) = match SUFFIXES.iter().find_map(|suffix| Some((key.strip_suffix(suffix)?, *suffix))) {
        Some((node, suffix)) => (node, suffix),
        None => (key.as_str(), ""),
    };
    let is_part = method == Method::HEAD || headers.contains_key(header::RANGE);
    file(&app, ("tables", node, suffix), &headers, &params, is_part).await
}

/// A selection of a group as a netCDF file. Its length is always sent, so that an interrupted download goes on.
async fn netcdf(State(app): State<App>, Path(key): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let node = key.strip_suffix(NETCDF).ok_or_else(|| {
        Failure::missing(
            format!("/nc/{key} has no ending {NETCDF}"),
            "GET /nc/REPOSITORY[@VERSION][/GROUP].nc?var=NAME",
        )
    })?;
    let mut answer = file(&app, ("nc", node, NETCDF), &headers, &params, true).await?;
    let name = node.rsplit('/').next().unwrap_or_default().trim_end_matches(NETCDF);
    let name: String = name.chars().filter(|c| is_plain(*c)).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}{NETCDF}\"")) {
        answer.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(answer)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@')
}

/// A file that the program makes of a node (collection, node and suffix); `is_part`: its length or a part is asked for.
async fn file(
    app: &App,
    (collection, node, suffix): (&'static str, &str, &str),
    headers: &HeaderMap,
    params: &Params,
    is_part: bool,
) -> Answer {
    let (shared, given, name) = (Arc::clone(app), params.clone(), format!("/{node}"));
    let (located, tag) = app.blocking(move || shared.located(&name, &given)).await?;
    let tag = etag::tag(&tag, collection.trim_end_matches('s'));
    if let Some(same) = etag::unchanged(headers, &tag) {
        return Ok(same);
    }
    let asked = Asked { located: vec![located], name: suffix.to_owned(), ..asked(app, collection, params, headers) };
    if is_part {
        let key = format!("{collection} {node}{suffix}?{:?} {} {tag}", asked.params, asked.accept);
        if let Some(answer) = part(app, key, asked.clone(), headers, &tag).await? {
            return Ok(etag::with(answer, &tag));
        }
    }
    Ok(etag::with(answered(app, asked).await?, &tag))
}

/// The table's length, or bytes of it; None for one that is too large for a file.
async fn part(app: &App, key: String, asked: Asked, headers: &HeaderMap, tag: &str) -> Answer<Option<Response>> {
    let (shared, delegate) = (App::clone(app), delegate(app)?);
    let file = app.blocking(move || {
        shared.spools.file(&key, || {
            let Reply { content_type, blocks } = delegate.answer(asked)?;
            Ok((content_type, Box::new(blocks.map(|block| Ok(block?)))))
        })
    });
    let Some(file) = file.await? else { return Ok(None) };
    // A client that has a part of another version gets the whole.
    let is_other = headers.get(header::IF_RANGE).is_some_and(|known| known.as_bytes() != tag.as_bytes());
    let part = if is_other { Part::Whole } else { Part::of(headers, file.length) };
    let wanted = match &part {
        Part::Whole => 0..file.length,
        Part::Bytes(range) => range.clone(),
        Part::Outside => 0..0,
    };
    let (length, kind) = (file.length, HeaderValue::from_str(&file.content_type));
    let sent = wanted.end - wanted.start;
    let body = stream::body(app, file.blocks(wanted), Some(sent)).await?;
    let mut answer = part.response(length, |_| body);
    let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    // Its length is that of the table, so nothing may compress it on the way.
    answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("identity"));
    Ok(Some(answer))
}

async fn products(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    answered(&app, asked(&app, "products", &params, &headers)).await
}

async fn product(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    answered(&app, Asked { name, ..asked(&app, "products", &params, &headers) }).await
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
    answered(&app, Asked { name, method, located, body, ..asked(&app, "products", &params, &headers) }).await
}

/// The repositories and groups that a product reads, named by `sources` of the body.
fn sources(app: &Shared, params: &Params, body: &[u8]) -> Answer<Vec<Located>> {
    let bad = || {
        Failure::invalid(
            "the body has no list \"sources\"",
            "send {\"sources\": [\"/REPOSITORY\"], \"parameters\": {…}}",
        )
    };
    let body = json_body(body)?;
    let names = body.get("sources").and_then(Value::as_array).ok_or_else(bad)?;
    if names.len() > MOST_SOURCES {
        let message = format!("{} sources; at most {MOST_SOURCES} are read", names.len());
        return Err(Failure::too_large(message, "name fewer sources at a time"));
    }
    names
        .iter()
        .map(|name| {
            cancel::check()?;
            Ok(app.located(name.as_str().ok_or_else(bad)?, params)?.0)
        })
        .collect()
}

/// Finds domains for the request's user.
pub(crate) fn locate(app: &App, params: &Params) -> Locate {
    let (app, params) = (Arc::clone(app), params.clone());
    Locate(Arc::new(move |name| Ok(app.located(name, &params)?.0)))
}

fn asked(app: &App, collection: &'static str, params: &Params, headers: &HeaderMap) -> Asked {
    let locate = locate(app, params);
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let method = Method::GET.to_string();
    let (params, body) = (params.all(), Bytes::new());
    Asked { collection, name: String::new(), method, located: Vec::new(), locate, params, accept, body }
}

pub(crate) async fn answered(app: &App, asked: Asked) -> Answer<Response> {
    let delegate = delegate(app)?;
    let Reply { content_type, blocks } = app.blocking(move || Ok(delegate.answer(asked)?)).await?;
    let is_json = content_type.starts_with("application/json");
    let blocks = Box::new(blocks.map(move |block| {
        let block = block?;
        let text = std::str::from_utf8(&block).ok().filter(|_| is_json);
        Ok(text.map_or_else(|| block.clone(), |text| Bytes::from(hidden(text))))
    }));
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
