//! Answers of the HDF REST API: JSON with an entity tag.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::domains::Domain;
use crate::error::{Answer, Failure};
use crate::etag;

/// JSON as HSDS sends it.
pub(crate) fn plain(body: impl Into<Bytes>) -> Response {
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

/// An answer made from a version: `304` where the client has it, else `body`'s JSON.
pub(super) fn versioned(headers: &HeaderMap, domain: &Domain, body: impl FnOnce() -> Answer<Value>) -> Answer {
    let tag = etag::tag(domain.session.snapshot_id(), "json");
    if let Some(same) = etag::unchanged(headers, &tag) {
        return Ok(same);
    }
    Ok(etag::with(plain(body()?.to_string()), &tag))
}

/// Links of an answer to related ones.
pub(super) fn hrefs(domain: &Domain, related: &[(&str, String)]) -> Value {
    let name = encoded(&domain.name);
    let one = |(rel, path): &(&str, String)| json!({"rel": rel, "href": format!("{path}?domain={name}")});
    Value::from(related.iter().map(one).collect::<Vec<_>>())
}

/// A name for a URL.
pub(super) fn encoded(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}

/// A request's body as JSON.
pub(super) fn json_body(body: &[u8]) -> Answer<Value> {
    serde_json::from_slice(body)
        .map_err(|e| Failure::invalid(format!("the body is not JSON: {e}"), "send a JSON object as the request's body"))
}
