//! Responses of the HDF REST API: JSON with an entity tag.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::incoming;
use crate::domains::Domain;
use crate::error::{Answer, Failure};
use crate::etag;

/// JSON in HSDS's form.
pub(crate) fn plain(body: impl Into<Bytes>) -> Response {
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

/// A response made from a version: `304` if the client has it, otherwise `body`'s JSON.
pub(super) fn versioned(headers: &HeaderMap, domain: &Domain, body: impl FnOnce() -> Answer<Value>) -> Answer {
    let tag = etag::tag(&domain.tag, "json");
    if let Some(same) = etag::unchanged(headers, &tag) {
        return Ok(same);
    }
    Ok(etag::with(plain(body()?.to_string()), &tag))
}

/// Links of a response to related ones.
pub(super) fn hrefs(domain: &Domain, related: &[(&str, String)]) -> Value {
    let name = encoded(&domain.name);
    let one = |(rel, path): &(&str, String)| json!({"rel": rel, "href": format!("{path}?domain={name}")});
    Value::from(related.iter().map(one).collect::<Vec<_>>())
}

/// A name, percent-encoded for a URL.
pub(super) fn encoded(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}

/// A request's body as JSON. Python writes `NaN` and `Infinity`, which become strings.
pub(crate) fn json_body(body: &[u8]) -> Answer<Value> {
    let failed = match serde_json::from_slice(body) {
        Ok(value) => return Ok(value),
        Err(failed) => failed,
    };
    let words = std::str::from_utf8(body).ok().filter(|text| text.contains("NaN") || text.contains("Infinity"));
    words.and_then(|text| serde_json::from_str(&incoming::quoted(text)).ok()).ok_or_else(|| {
        Failure::invalid(format!("the body is not JSON: {failed}"), "send a JSON object as the request's body")
    })
}

/// A request's body as a JSON object; an empty object if there is no body.
pub(super) fn object_body(body: &[u8]) -> Answer<Map<String, Value>> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match json_body(body)? {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()), // h5pyd's encoding of a request without a body
        _ => Err(Failure::invalid("the body is not a JSON object", "send {…}")),
    }
}

/// The response to a request that created something.
pub(super) fn created(body: &Value) -> Response {
    let mut answer = plain(body.to_string());
    *answer.status_mut() = StatusCode::CREATED;
    answer
}
