//! Errors as responses: a status, a reason phrase, and a JSON body with kind, message and hint.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::ext::ReasonPhrase;
use icecore::grid::{Error, ErrorKind, redact};
use serde_json::json;

use crate::http::private;

/// Maximum length of a reason phrase; some clients show nothing else of an error.
const LONGEST_REASON: usize = 160;

/// An error to be sent to the client.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    error: Error,
}

pub(crate) type Answer<T = Response> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(status: StatusCode, error: Error) -> Self {
        Self { status, error }
    }

    pub fn kind(&self) -> ErrorKind {
        self.error.kind
    }

    /// Whether the request was refused for its size or form, before all of it was read.
    pub fn is_refusal(&self) -> bool {
        matches!(self.status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNSUPPORTED_MEDIA_TYPE)
    }

    /// An invalid request.
    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::new(ErrorKind::Invalid, message).hint(hint).into()
    }

    pub fn missing(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::new(ErrorKind::NotFound, message).hint(hint).into()
    }

    pub fn too_large(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, Error::new(ErrorKind::Memory, message).hint(hint))
    }

    /// Work that took longer than the limit. Clients must not repeat it, so it is not a 503.
    pub fn late(limit: std::time::Duration) -> Self {
        let error = Error::new(ErrorKind::Interrupted, format!("the request took longer than {} s", limit.as_secs()));
        Self::new(StatusCode::REQUEST_TIMEOUT, error.hint("ask for less at a time"))
    }

    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Error::new(ErrorKind::Memory, message).hint("try again in a second"))
    }
}

impl Failure {
    /// The status, and the error as clients get it, for interfaces with a form of errors of their own.
    pub fn public(self) -> (StatusCode, Error) {
        let error = public(self.error);
        let (message, hint) = (redact(&error.message), redact(&error.hint));
        (self.status, Error::new(error.kind, message).hint(hint))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.error.kind, redact(&self.error.message))
    }
}

/// Clients retry requests that fail with 500, 502, 503 or 504, so only temporary failures get one of these.
fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Exists | ErrorKind::Conflict | ErrorKind::SourceChanged | ErrorKind::SourceMissing => {
            StatusCode::CONFLICT
        }
        ErrorKind::Selection | ErrorKind::Mismatch | ErrorKind::Dtype | ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::LinkNotAllowed | ErrorKind::ReadOnly | ErrorKind::Permission => StatusCode::FORBIDDEN,
        ErrorKind::Memory => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::Codec | ErrorKind::Corrupt | ErrorKind::Format | ErrorKind::Unsupported => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        ErrorKind::Interrupted => StatusCode::REQUEST_TIMEOUT,
        ErrorKind::Io | ErrorKind::Network => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { status: status(error.kind), error }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, error) = self.public();
        let Error { message, hint, .. } = &error;
        let body = json!({
            "status": status.as_u16(),
            "kind": error.kind.code(),
            "message": message,
            "hint": hint,
        });
        let mut answer = (status, body.to_string()).into_response();
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(reason) = reason(message) {
            answer.extensions_mut().insert(reason);
        }
        answer
    }
}

/// The error as clients get it: without paths of this machine. Internal errors are logged only.
fn public(error: Error) -> Error {
    if error.kind == ErrorKind::Internal {
        eprintln!("icecore: error: {}", error.message);
        return Error::new(ErrorKind::Internal, "the request failed").hint("its reason is in the service's log");
    }
    let (message, hint) = (private::hidden(&error.message), private::hidden(&error.hint));
    Error::new(error.kind, message).hint(hint)
}

/// Responses of the framework, which have no kind and no hint, as those of the service.
pub(crate) fn explained(answer: Response) -> Response {
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // DAP's errors have a form of their own.
    if kind.starts_with("application/json") || answer.headers().contains_key("content-description") {
        return answer;
    }
    let failure = match answer.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Failure::too_large("the body of the request is too large", "send less at a time: write parts of a dataset")
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            let error = Error::new(ErrorKind::Unsupported, "the path does not have this method");
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, error.hint("GET /docs lists the methods of all paths"))
        }
        StatusCode::BAD_REQUEST => {
            Failure::invalid("the request could not be read", "percent-encode the path, and send a complete body")
        }
        _ => return answer,
    };
    let allowed = answer.headers().get(header::ALLOW).cloned();
    let mut made = failure.into_response();
    if let Some(allowed) = allowed {
        made.headers_mut().insert(header::ALLOW, allowed);
    }
    made
}

fn reason(message: &str) -> Option<ReasonPhrase> {
    let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    let text: String = message.chars().take(LONGEST_REASON).map(plain).collect();
    ReasonPhrase::try_from(text.into_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permanent_errors_are_not_repeated_by_clients() {
        for kind in [ErrorKind::Corrupt, ErrorKind::SourceMissing, ErrorKind::Unsupported, ErrorKind::Codec] {
            assert!(status(kind).is_client_error(), "{kind}");
        }
        assert_eq!(status(ErrorKind::Network), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn the_reason_is_one_line_of_ascii() {
        assert_eq!(reason("no domain /é\r\nX: y").unwrap().as_bytes(), b"no domain /???X: y");
    }
}
