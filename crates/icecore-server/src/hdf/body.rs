//! Responses whose body is a value: binary or JSON.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

pub(super) fn binary(body: impl IntoResponse) -> Response {
    typed(body, "application/octet-stream")
}

pub(super) fn json(body: impl IntoResponse) -> Response {
    typed(body, "application/json")
}

fn typed(body: impl IntoResponse, kind: &'static str) -> Response {
    let mut answer = body.into_response();
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
