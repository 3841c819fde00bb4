//! Ranges of bytes that requests ask for.

use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What a request asks for of a body of known length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Whole,
    Bytes(Range<u64>),
    /// A range outside of the body.
    Outside,
}

impl Part {
    /// The part that the headers name; the whole body for several ranges.
    pub fn of(headers: &HeaderMap, length: u64) -> Self {
        let asked = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
        let one = asked.and_then(|text| text.strip_prefix("bytes=")).filter(|text| !text.contains(','));
        let Some((first, last)) = one.and_then(|range| range.split_once('-')) else { return Self::Whole };
        let (first, last): (Option<u64>, Option<u64>) = (first.parse().ok(), last.parse().ok());
        let (start, end) = match (first, last) {
            (Some(first), last) => (first, last.map_or(length, |last| last.saturating_add(1).min(length))),
            (None, Some(last)) => (length.saturating_sub(last), length),
            (None, None) => (0, length),
        };
        if start < end { Self::Bytes(start..end) } else { Self::Outside }
    }

    /// The response; `body` makes the body of a range.
    pub fn response<B: Into<Body>>(self, length: u64, body: impl FnOnce(Range<u64>) -> B) -> Response {
        let accepts = (header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        match self {
            Self::Whole => ([accepts], body(0..length).into()).into_response(),
            Self::Outside => {
                let total = (header::CONTENT_RANGE, format!("bytes */{length}"));
                (StatusCode::RANGE_NOT_SATISFIABLE, [total]).into_response()
            }
            Self::Bytes(part) => {
                let place = (header::CONTENT_RANGE, format!("bytes {}-{}/{length}", part.start, part.end - 1));
                (StatusCode::PARTIAL_CONTENT, [place], [accepts], body(part).into()).into_response()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ten_bytes() {
        for (text, part) in [
            ("bytes=0-3", Part::Bytes(0..4)),
            ("bytes=8-", Part::Bytes(8..10)),
            ("bytes=-4", Part::Bytes(6..10)),
            ("bytes=5-99", Part::Bytes(5..10)),
            ("bytes=10-", Part::Outside),
            ("bytes=0-1,3-4", Part::Whole),
            ("rows=0-1", Part::Whole),
        ] {
            let headers = HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static(text))]);
            assert_eq!(Part::of(&headers, 10), part, "{text}");
        }
        assert_eq!(Part::of(&HeaderMap::new(), 10), Part::Whole);
    }
}
