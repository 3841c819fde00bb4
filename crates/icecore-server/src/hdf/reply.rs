//! Responses of the HDF REST API: JSON with an entity tag.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domains::Domain;
use crate::http::error::{Answer, Failure};
use crate::http::etag;
pub(super) use crate::http::json::{json_body, plain};
use crate::http::percent::encoded;

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
