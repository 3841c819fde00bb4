//! The page that shows archives: its files at `/view/`, and what it asks at `/view/api/NAME?file=REPOSITORY[@VERSION]`.
//!
//! The program beside the service has the files and answers the requests; access rules are those of all routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::delegate::Asked;
use crate::http::error::{Answer, Failure};
use crate::http::etag;
use crate::http::params::Params;
use crate::routes::delegated::{answered, locate};

/// Only what this service sends may run; notebooks may embed it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
    font-src 'self' data:; connect-src 'self' blob:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview:";
/// Their names contain a hash of their content.
const HASHED: &str = "assets/";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/view", get(moved))
        .route("/view/", get(index))
        .route("/view/{*key}", get(file))
        .route("/view/api/{*name}", get(api))
}

/// The way to the page, for a browser that asks for `/`.
pub(crate) fn redirect(headers: &HeaderMap, uri: &Uri, params: &Params) -> Option<Response> {
    let accept = headers.get(header::ACCEPT)?.to_str().ok()?;
    if params.domain() != "/" || headers.contains_key("x-hdf-domain") || !accept.contains("text/html") {
        return None;
    }
    Some(to("view/", uri))
}

async fn moved(uri: Uri) -> Response {
    to("view/", &uri)
}

/// Relative, so that it holds behind a proxy with a prefix.
fn to(place: &str, uri: &Uri) -> Response {
    let target = uri.query().map_or_else(|| place.to_owned(), |query| format!("{place}?{query}"));
    let mut answer = StatusCode::SEE_OTHER.into_response();
    if let Ok(value) = HeaderValue::from_str(&target) {
        answer.headers_mut().insert(header::LOCATION, value);
    }
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    answer
}

async fn index(State(app): State<App>, headers: HeaderMap) -> Answer {
    sent(&app, "index.html", &headers).await
}

async fn file(State(app): State<App>, Path(key): Path<String>, headers: HeaderMap) -> Answer {
    sent(&app, &key, &headers).await
}

/// A file of the page. They are stored compressed.
async fn sent(app: &App, name: &str, headers: &HeaderMap) -> Answer {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let is_gzip = accepted.is_some_and(|value| value.contains("gzip"));
    let params = if is_gzip { vec![("gzip".to_owned(), "1".to_owned())] } else { Vec::new() };
    let mut answer = answered(app, asked(app, "page", name, params, &Params::default())).await?;
    let caching = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut set = |name: HeaderName, value: &'static str| {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    };
    set(header::CACHE_CONTROL, caching);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "same-origin");
    set(header::VARY, "accept-encoding");
    if is_gzip {
        set(header::CONTENT_ENCODING, "gzip");
    }
    Ok(answer)
}

/// Metadata and values of one version of a repository.
async fn api(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let file = params.get("file").filter(|file| !file.is_empty()).map(str::to_owned).ok_or_else(|| {
        Failure::invalid("the request names no repository", "add file=REPOSITORY or file=REPOSITORY@VERSION")
    })?;
    let (shared, given) = (Arc::clone(&app), params.clone());
    let domain = format!("/{}", file.trim_start_matches('/'));
    let (located, tag) = app.blocking(move || shared.located(&domain, &given)).await?;
    let tag = etag::tag(&tag, "view");
    if let Some(same) = etag::unchanged(&headers, &tag) {
        return Ok(same);
    }
    let asked =
        Asked { located: vec![located], ..asked(&app, "view", name.trim_end_matches('/'), params.all(), &params) };
    let mut answer = etag::with(answered(&app, asked).await?, &tag);
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(answer)
}

fn asked(app: &App, collection: &'static str, name: &str, params: Vec<(String, String)>, request: &Params) -> Asked {
    let (name, method, body) = (name.to_owned(), "GET".to_owned(), Bytes::new());
    Asked {
        collection,
        name,
        method,
        located: Vec::new(),
        locate: locate(app, request),
        params,
        accept: String::new(),
        body,
    }
}
