//! Responses whose body is a value: binary, or JSON with the elements as items of nested lists.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use icecore::grid::Result;
use icecore::session::Values;

use super::select::Reading;
use crate::hdf5::nest::Nest;
use crate::hdf5::text;

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

/// Writer of elements as items of nested lists.
pub(super) fn elements(reading: &Reading, values: &Values, nest: &mut Nest, out: &mut String) -> Result<()> {
    let h5 = reading.h5();
    for element in values.bytes.chunks_exact(h5.size().max(1)) {
        nest.open(out);
        text::one(element, &h5, values, reading.not_finite, out)?;
        nest.close(out);
    }
    Ok(())
}
