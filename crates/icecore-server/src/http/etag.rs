//! Entity tags: a response changes only with the version that it was made from.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The tag of a response made from a version; `form` distinguishes the representations of one URL.
pub(crate) fn tag(version: &str, form: &str) -> String {
    format!("W/\"{version}-{form}\"")
}

/// `304 Not Modified`, if the client has the response already.
pub(crate) fn unchanged(headers: &HeaderMap, tag: &str) -> Option<Response> {
    let known = headers.get(header::IF_NONE_MATCH)?.to_str().ok()?;
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if known.trim() != "*" && !known.split(',').any(|each| bare(each) == bare(tag)) {
        return None;
    }
    Some(with(StatusCode::NOT_MODIFIED.into_response(), tag))
}

/// The response with its tag.
pub(crate) fn with(mut answer: Response, tag: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(tag) {
        answer.headers_mut().insert(header::ETAG, value);
    }
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept, accept-encoding"));
    answer
}
