//! Requests with headers of the user, which may be secrets: they go to the host that was named and to no other, also when
//! that host redirects. The client of other requests follows redirects by itself, and would take headers along.

use std::time::Duration;

use async_trait::async_trait;
use http::header::LOCATION;
use http::{HeaderMap, Uri};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::{ClientConfigKey, ClientOptions};
use url::Url;

use crate::stores::http_retry::RetryClient;

/// Redirects within the host that are followed.
const REDIRECTS: usize = 10;

/// Builds clients that send these headers.
#[derive(Debug)]
pub(crate) struct WithHeaders(pub HeaderMap);

impl HttpConnector for WithHeaders {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let own = own(&self.0, options).map_err(|e| object_store::Error::Generic { store: "HTTP", source: e })?;
        let others = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(RetryClient::new(HttpClient::new(Guarded { own, others }))))
    }
}

/// A client with the headers that follows no redirects, with the options that object_store gives its own clients.
fn own(
    headers: &HeaderMap,
    options: &ClientOptions,
) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
    let value = |key| options.get_config_value(&key);
    let is_set = |key| value(key).is_some_and(|text| text == "true");
    let seconds = |key| -> Result<Option<Duration>, humantime::DurationError> {
        value(key).map(|text| humantime::parse_duration(&text)).transpose()
    };
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .default_headers(headers.clone())
        .https_only(!is_set(ClientConfigKey::AllowHttp))
        .tls_danger_accept_invalid_certs(is_set(ClientConfigKey::AllowInvalidCertificates));
    if let Some(agent) = value(ClientConfigKey::UserAgent) {
        builder = builder.user_agent(agent);
    }
    if let Some(proxy) = value(ClientConfigKey::ProxyUrl) {
        let excludes = value(ClientConfigKey::ProxyExcludes).and_then(|hosts| reqwest::NoProxy::from_string(&hosts));
        builder = builder.proxy(reqwest::Proxy::all(proxy)?.no_proxy(excludes));
    }
    if let Some(certificate) = value(ClientConfigKey::ProxyCaCertificate) {
        builder = builder.tls_certs_merge([reqwest::Certificate::from_pem(certificate.as_bytes())?]);
    }
    if let Some(time) = seconds(ClientConfigKey::Timeout)? {
        builder = builder.timeout(time);
    }
    if let Some(time) = seconds(ClientConfigKey::ConnectTimeout)? {
        builder = builder.connect_timeout(time);
    }
    if let Some(time) = seconds(ClientConfigKey::ReadTimeout)? {
        builder = builder.read_timeout(time);
    }
    if is_set(ClientConfigKey::Http1Only) {
        builder = builder.http1_only();
    }
    Ok(builder.build()?)
}

/// Follows redirects; another host is asked without the headers.
#[derive(Debug)]
struct Guarded {
    own: reqwest::Client,
    others: HttpClient,
}

#[async_trait]
impl HttpService for Guarded {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for _ in 0..REDIRECTS {
            let again = request.clone();
            let answer = self.own.call(request).await?;
            let Some(target) = target(again.uri(), &answer) else { return Ok(answer) };
            let is_other = place(again.uri()) != place(&target);
            request = again;
            *request.uri_mut() = target;
            if is_other {
                return self.others.execute(request).await;
            }
        }
        Err(HttpError::new(HttpErrorKind::Unknown, std::io::Error::other("too many redirects")))
    }
}

/// Scheme, host and port.
fn place(uri: &Uri) -> (Option<&str>, Option<&str>) {
    (uri.scheme_str(), uri.authority().map(http::uri::Authority::as_str))
}

/// Where a response redirects to.
fn target(from: &Uri, answer: &HttpResponse) -> Option<Uri> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.headers().get(LOCATION)?.to_str().ok()?;
    Url::parse(&from.to_string()).ok()?.join(location).ok()?.as_str().parse().ok()
}
