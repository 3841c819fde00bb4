//! Which web pages may use the service: checks of `Host`, `Origin`, the browser's `Sec-Fetch-*`, and of the secret in a URL.
//!
//! Any page in a browser can send requests to this machine's ports. A service that listens on loopback therefore answers
//! only under names of loopback, and pages of other origins only if the operator named them.

use std::net::IpAddr;

use axum::extract::{MatchedPath, Request, State};
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use icecore::grid::{Error, ErrorKind};
use tower_http::cors::{AllowOrigin, Any, CorsLayer};

use crate::app::App;
use crate::config::Config;
use crate::http::error::Failure;

/// Every origin may read.
const ALL: &str = "*";

/// Origins that may read: those that the operator named; without users and beyond loopback, all.
fn readers(config: &Config) -> Vec<String> {
    let is_public = config.origins.is_empty() && config.users.is_none() && !config.address.ip().is_loopback();
    if is_public { vec![ALL.to_owned()] } else { config.origins.clone() }
}

/// The layer that tells browsers which pages may read responses.
pub(crate) fn cors(config: &Config) -> CorsLayer {
    let readers = readers(config);
    let writes = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE];
    let methods = if config.origins.iter().any(|each| each != ALL) { &writes[..] } else { &writes[..3] };
    let origin = match readers.iter().any(|each| each == ALL) {
        true => AllowOrigin::any(),
        false => {
            AllowOrigin::predicate(move |origin, _| readers.iter().any(|each| each.as_bytes() == origin.as_bytes()))
        }
    };
    let exposed = [header::ETAG, header::CONTENT_RANGE];
    CorsLayer::new().allow_origin(origin).allow_headers(Any).allow_methods(methods.to_vec()).expose_headers(exposed)
}

/// Refuses requests of pages that may not use the service.
pub(crate) async fn checked(State(app): State<App>, request: Request, next: Next) -> Response {
    if let Err(failure) = host(&app.config, &request).and_then(|()| origin(&app.config, &request)) {
        return failure.into_response();
    }
    let mut answer = next.run(request).await;
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// On loopback, only names of loopback and of the origins are answered: a page whose name leads here (DNS rebinding)
/// would have the service's own origin.
fn host(config: &Config, request: &Request) -> Result<(), Failure> {
    if !config.address.ip().is_loopback() {
        return Ok(());
    }
    let named = request.headers().get_all(header::HOST).iter().map(HeaderValue::to_str);
    let mut named: Vec<Option<&str>> = named.map(Result::ok).collect();
    named.extend(request.uri().authority().map(|authority| Some(authority.as_str())));
    let known = |name: &str| {
        let Ok(authority) = name.parse::<Authority>() else { return false };
        let host = authority.host();
        is_loopback(host)
            || config.origins.iter().any(|origin| origin.parse::<Uri>().is_ok_and(|u| u.host() == Some(host)))
    };
    if named.iter().all(|name| name.is_some_and(known)) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Permission, "this service does not answer under the name of the header Host");
    let error =
        error.hint("use http://127.0.0.1 or http://localhost; for a proxy's name, start it with --origin https://NAME");
    Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, error))
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Pages of other origins: may read if the operator allows it, may write only if their origin was named.
fn origin(config: &Config, request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    if request.method() == Method::OPTIONS || !is_foreign(headers) {
        return Ok(());
    }
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let is_named = origin.is_some_and(|origin| config.origins.iter().any(|each| each.as_bytes() == origin));
    let may_read = is_named || readers(config).iter().any(|each| each == ALL);
    let is_read = match *request.method() {
        Method::GET | Method::HEAD => true,
        Method::POST => {
            let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
            !matches!(route, "/groups" | "/datasets" | "/datatypes" | "")
        }
        _ => false,
    };
    // Beyond loopback everybody may send a GET; without the header the page can't read the answer.
    let is_harmless = matches!(*request.method(), Method::GET | Method::HEAD) && !config.address.ip().is_loopback();
    if is_named || is_read && may_read || is_harmless {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Permission, "pages of other origins may not send this request");
    Err(error.hint("start the service with --origin https://HOST for a page that may use it").into())
}

/// Whether a browser sends the request for a page of another origin. Following a link is not one.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if headers.contains_key(header::ORIGIN) {
        let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, place)| place);
        return origin.is_none() || origin != text(header::HOST);
    }
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let mode = text(HeaderName::from_static("sec-fetch-mode"));
    site.is_some_and(|site| !matches!(site, "same-origin" | "none")) && mode != Some("navigate")
}

/// Removes the secret from the path, and additional slashes: clients join an endpoint that ends with a slash and a path.
pub(crate) async fn path(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let uri = request.uri();
    let given = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut wanted = format!("/{}", given.trim_start_matches('/'));
    if let Some(secret) = &app.config.secret {
        match below(&wanted, secret) {
            Some(below) => wanted = format!("/{}", below.trim_start_matches('/')),
            None => {
                let error = Error::new(ErrorKind::Permission, "the URL lacks the secret of this service");
                return Failure::from(error.hint("open the URL that icecore printed")).into_response();
            }
        }
    }
    if wanted != given
        && let Ok(path) = wanted.parse::<PathAndQuery>()
    {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(path);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
    next.run(request).await
}

/// The path below the secret.
fn below<'a>(path: &'a str, secret: &str) -> Option<&'a str> {
    let (first, rest) = path.get(1..)?.split_at_checked(secret.len())?;
    (is_same(first.as_bytes(), secret.as_bytes()) && rest.starts_with('/')).then_some(rest)
}

/// Compares in a time that does not depend on the content.
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_opens_a_path() {
        assert_eq!(below("/abc/view/?x", "abc"), Some("/view/?x"));
        for path in ["/", "/ab", "/abc", "/abcd/", "/abx/", "//abc/", "/é/x"] {
            assert_eq!(below(path, "abc"), None, "{path}");
        }
    }

    #[test]
    fn names_of_loopback() {
        for (host, is_own) in
            [("localhost", true), ("127.0.0.1", true), ("[::1]", true), ("127.0.0.1.evil.example", false), ("", false)]
        {
            assert_eq!(is_loopback(host), is_own, "{host}");
        }
    }

    #[test]
    fn requests_of_other_origins() {
        let foreign = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_static(v)));
            is_foreign(&pairs.collect())
        };
        assert!(!foreign(&[("host", "h:1")]) && !foreign(&[("host", "h:1"), ("origin", "http://h:1")]));
        assert!(
            foreign(&[("host", "h:1"), ("origin", "http://h:2")]) && foreign(&[("host", "h:1"), ("origin", "null")])
        );
        assert!(foreign(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
        assert!(!foreign(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
    }
}
