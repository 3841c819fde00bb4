//! HTTP client with retries, for web servers that object_store does not handle: `Retry-After`, content encodings, parts without
//! a length, error pages, and 403 for missing objects.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};

use crate::stores::http_silence::execute;

/// Maximum wait for a server; if it asks for more, the request fails with its message.
const LONGEST: Duration = Duration::from_secs(30);
/// How long a server that never answered may refuse connections: a mistyped address is not retried for a minute.
const UNREACHABLE: Duration = Duration::from_secs(5);
/// The same of a server that answered before: a restart takes seconds, and callers learn that it is gone within half a minute.
const GONE: Duration = Duration::from_secs(20);
/// Maximum length of a response page that an error shows.
const SHOWN: u64 = 300;
/// The same of object stores, which answer with a document that names the error.
const SHOWN_BY_BUCKETS: u64 = 4096;
/// Codes of status 409 by which an object store says that the same request may succeed later. Others report a conflict.
const LATER: [&str; 2] = ["OperationAborted", "ConditionalRequestConflict"];

/// The branch file of Icechunk's first format, which is requested when a repository is opened. Buckets without list
/// permission answer "forbidden" for missing objects, and some servers send a page. The root object shows real denials.
const OPTIONAL: &str = "/refs/branch.main/ref.json";

/// A client that delays a request as its server asked; the store above it retries.
#[derive(Debug)]
pub(crate) struct RetryClient {
    client: HttpClient,
    hosts: Mutex<HashMap<String, Host>>,
    is_bucket: bool,
}

/// What is known of a server.
#[derive(Debug, Default)]
struct Host {
    /// It must not be contacted yet; this applies to all requests to the host.
    resting: Option<Instant>,
    has_answered: bool,
    /// First and last failure to connect of a run of them.
    refusing: Option<(Instant, Instant)>,
}

impl RetryClient {
    pub(crate) fn new(client: HttpClient) -> Self {
        Self { client, hosts: Mutex::default(), is_bucket: false }
    }

    pub(crate) fn of_buckets(client: HttpClient) -> Self {
        Self { is_bucket: true, ..Self::new(client) }
    }

    fn host<T>(&self, name: &str, look: impl FnOnce(&mut Host) -> T) -> T {
        look(self.hosts.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default())
    }

    async fn rest(&self, host: &str) {
        loop {
            let until = self.host(host, |host| host.resting);
            match until.and_then(|until| until.checked_duration_since(Instant::now())) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }

    /// The error of a request without an answer. It is final if the server refused connections for long.
    fn unanswered(&self, host: &str, error: HttpError) -> HttpError {
        if error.kind() != HttpErrorKind::Connect {
            return error;
        }
        let now = Instant::now();
        let is_final = self.host(host, |host| {
            // pauses between two attempts are at most five seconds
            let recent = host.refusing.filter(|(_, last)| now.duration_since(*last) < 2 * UNREACHABLE);
            let first = recent.map_or(now, |(first, _)| first);
            host.refusing = Some((first, now));
            now.duration_since(first) > if host.has_answered { GONE } else { UNREACHABLE }
        });
        if is_final { HttpError::new(HttpErrorKind::Unknown, error) } else { error }
    }

    /// Gives a 409 that asks for another attempt the status that the store above repeats.
    async fn conflict(&self, answer: HttpResponse) -> Result<HttpResponse, HttpError> {
        let (mut head, body) = answer.into_parts();
        let body = body.bytes().await?;
        let text = String::from_utf8_lossy(&body);
        if LATER.iter().any(|code| text.contains(code)) {
            head.status = StatusCode::SERVICE_UNAVAILABLE;
        }
        Ok(HttpResponse::from_parts(head, body.into()))
    }
}

#[async_trait]
impl HttpService for RetryClient {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        self.rest(&host).await;
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let is_optional = request.uri().path().ends_with(OPTIONAL);
        let mut answer = execute(&self.client, request).await.map_err(|error| self.unanswered(&host, error))?;
        self.host(&host, |host| (host.has_answered, host.refusing) = (true, None));
        if is_optional && (answer.status() == StatusCode::FORBIDDEN || is_page(answer.headers())) {
            *answer.status_mut() = StatusCode::NOT_FOUND;
        }
        let status = answer.status();
        if let Some(wait) = wanted(status, answer.headers(), Utc::now()) {
            if wait > LONGEST {
                return Err(refused(format!("{status}: the server asks to be left alone for {} s", wait.as_secs())));
            }
            self.host(&host, |host| host.resting = Some(Instant::now() + wait));
        }
        if !status.is_success() {
            if !is_short(answer.headers(), if self.is_bucket { SHOWN_BY_BUCKETS } else { SHOWN }) {
                *answer.body_mut() = HttpResponseBody::from(bytes::Bytes::new());
            }
            if self.is_bucket && status == StatusCode::CONFLICT {
                return self.conflict(answer).await;
            }
        } else if let Some(encoding) = encoding(answer.headers()) {
            return Err(refused(format!("the server sends it encoded as {encoding:?}, which was not asked for")));
        } else if let Some(length) = length(answer.headers()) {
            let declared = answer.headers_mut().insert(CONTENT_LENGTH, length.into());
            if let Some(declared) = declared.filter(|declared| *declared != HeaderValue::from(length)) {
                let why = format!("the server sends {declared:?} bytes as a part of {length}");
                return Err(HttpError::new(HttpErrorKind::Interrupted, std::io::Error::other(why)));
            }
        }
        Ok(answer)
    }
}

/// An error of the only kind that is not retried.
fn refused(why: String) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(why))
}

/// The part of an error page that is worth showing: a sentence of plain text.
fn is_short(headers: &HeaderMap, shown: u64) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    !is_page(headers)
        && text(CONTENT_LENGTH).and_then(|length| length.parse().ok()).is_some_and(|length: u64| length <= shown)
}

fn is_page(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.contains("html"))
}

/// The content encoding of a response, if any: byte ranges of a file do not match encoded bytes.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then_some(encoding)
}

/// The length of a partial response, from its `Content-Range`.
fn length(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (first, last) = range.split_once('/')?.0.split_once('-')?;
    last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
}

/// The pause that a server asks for (`Retry-After`): seconds, or a date.
fn wanted(status: StatusCode, headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    if status != StatusCode::TOO_MANY_REQUESTS && status != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    DateTime::parse_from_rfc2822(text).ok().map(|then| (then.to_utc() - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        let now = DateTime::parse_from_rfc2822("Wed, 21 Oct 2015 07:28:00 GMT").unwrap().to_utc();
        let asked = |status: u16, text: &'static str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            wanted(StatusCode::from_u16(status).unwrap(), &headers, now).map(|wait| wait.as_secs())
        };
        assert_eq!(asked(503, "17"), Some(17));
        assert_eq!(asked(429, " 0 "), Some(0));
        assert_eq!(asked(503, "Wed, 21 Oct 2015 07:28:09 GMT"), Some(9));
        assert_eq!(asked(503, "Wed, 21 Oct 2015 07:27:00 GMT"), Some(0));
        assert_eq!(asked(503, "soon"), None);
        assert_eq!(asked(500, "17"), None);
        assert_eq!(wanted(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new(), now), None);
    }

    #[test]
    fn lengths_of_parts() {
        let start =
            |range: &'static str| length(&HeaderMap::from_iter([(CONTENT_RANGE, HeaderValue::from_static(range))]));
        assert_eq!(start("bytes 5-14/100"), Some(10));
        assert_eq!(start("bytes 5-14/*"), Some(10));
        for wrong in ["bytes 5-3/100", "bytes a-b/c", "5-14/100", "bytes */100", "bytes 0-18446744073709551615/1"] {
            assert_eq!(start(wrong), None, "{wrong}");
        }
    }
}
