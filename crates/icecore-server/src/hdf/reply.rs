//! Responses of the HDF REST API: JSON with an entity tag.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::incoming;
use crate::domains::Domain;
use crate::error::{Answer, Failure};
use crate::etag;
use crate::percent::encoded;

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

/// Maximum number of values, names and lists of a JSON body: each takes up to 100 bytes of memory.
const MOST_VALUES: usize = 1 << 20;

/// The number of values of a JSON text, from its separators outside of strings; without parsing it.
fn values(body: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (1_usize, false, false);
    for byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// # Errors
/// Too large for more values than fit into the memory of a request.
pub(crate) fn check_size(body: &[u8]) -> Answer<()> {
    let count = if body.len() <= MOST_VALUES { 0 } else { values(body) };
    if count <= MOST_VALUES {
        return Ok(());
    }
    Err(Failure::too_large(
        format!("the JSON body has {count} values, at most {MOST_VALUES} are read"),
        "send elements as bytes (application/octet-stream), or fewer at a time",
    ))
}

/// A request's body as JSON. Python writes `NaN` and `Infinity`, which become strings.
pub(crate) fn json_body(body: &[u8]) -> Answer<Value> {
    check_size(body)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_body_are_counted_before_it_is_parsed() {
        for (text, count) in [("1", 1), ("[1,2]", 3), (r#"{"a":[1,{"b":",,[["}]}"#, 7), (r#"["\",","]"#, 3)] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
        let many = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert_eq!(json_body(many.as_bytes()).unwrap_err().kind(), icecore::grid::ErrorKind::Memory);
        let long = format!("[\"{}\"]", ",".repeat(2 * MOST_VALUES));
        assert!(json_body(long.as_bytes()).is_ok());
    }
}
