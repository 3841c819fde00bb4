//! JSON of requests and responses: `NaN` and `Infinity` as bare words, a bounded number of values.

use std::fmt::Write as _;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::Value;

use crate::http::error::{Answer, Failure};

/// JSON in HSDS's form.
pub(crate) fn plain(body: impl Into<Bytes>) -> Response {
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
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
    words.and_then(|text| serde_json::from_str(&quoted(text)).ok()).ok_or_else(|| {
        Failure::invalid(format!("the body is not JSON: {failed}"), "send a JSON object as the request's body")
    })
}

/// JSON as Python writes it: `NaN` and `Infinity` as bare words become strings.
pub(crate) fn quoted(body: &str) -> String {
    let mut out = String::with_capacity(body.len() + 16);
    let (mut inside, mut rest) = (false, body);
    while let Some(first) = rest.chars().next() {
        if inside && first == '\\' {
            let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
            let (pair, behind) = rest.split_at(end);
            out.push_str(pair);
            rest = behind;
            continue;
        }
        inside ^= first == '"';
        let word = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| !inside && rest.starts_with(*word));
        let length = match word {
            Some(word) => {
                let _ = write!(out, "\"{word}\"");
                word.len()
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    out
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

    #[test]
    fn bare_words_are_quoted_outside_of_strings() {
        assert_eq!(
            quoted(r#"{"a":[NaN,-Infinity],"b":"NaN \" NaN"}"#),
            r#"{"a":["NaN","-Infinity"],"b":"NaN \" NaN"}"#
        );
    }
}
