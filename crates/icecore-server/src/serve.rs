//! The server: listens and routes until a signal stops it, then completes the responses in flight.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderName, Method, Uri};
use axum::routing::get;
use axum::{Router, extract::DefaultBodyLimit, middleware};
use icecore::grid::{Error, ErrorKind, Result};
use tokio::net::TcpListener;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use tower_http::cors::{Any, CorsLayer};

use crate::app::{App, Shared, observed};
use crate::config::Config;
use crate::domains::{Domains, Mounts};
use crate::error::{Answer, Failure};
use crate::identify::identified;
use crate::tls::Encrypted;
use crate::{delegated, hdf, health, openapi, page, zarr};

/// Maximum bytes of a request that writes values; clients send a dataset at once.
const WRITTEN: usize = 128 << 20;
/// Maximum time for responses in flight after a request to stop.
const GRACE: Duration = Duration::from_secs(30);

/// A listening server.
pub struct Server {
    listener: TcpListener,
    app: App,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Checks the configuration and starts listening.
    ///
    /// # Errors
    /// `invalid`, `not-found`, `format` for the served repositories; `io` if the address is not available.
    pub fn bind(config: Config) -> Result<Self> {
        let mounts = Mounts::new(&config.served, config.delegate.is_some())?;
        let domains = Domains::new(mounts, &config.limits, config.delegate.clone());
        let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
        let built = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(config.limits.reads.max(1) + 4)
            .thread_name("icecore-server")
            .enable_all()
            .build();
        let runtime =
            built.map_err(|e| Error::new(ErrorKind::Memory, format!("cannot start the server's threads: {e}")))?;
        let address = config.address;
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot listen on {address}: {e}"))
                .hint("choose another --port; 0 chooses a free one")
        })?;
        Ok(Self { listener, app: Arc::new(Shared::new(config, domains)), runtime })
    }

    /// The address of the listening socket.
    ///
    /// # Errors
    /// `io`.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))
    }

    /// Answers requests until `end` is ready, then completes those in flight.
    ///
    /// # Errors
    /// `io`.
    pub fn run(self, end: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let Self { listener, app, runtime } = self;
        let (begin_end, ended) = tokio::sync::oneshot::channel::<()>();
        let end = async move {
            end.await;
            // dropping it signals the other side
            drop(begin_end);
        };
        let lives = App::clone(&app);
        let served = runtime.block_on(async {
            tokio::spawn(tend(App::clone(&app)));
            tokio::spawn(trim());
            let late = async {
                let _ = ended.await;
                tokio::time::sleep(GRACE).await;
            };
            let certificate = app.config.certificate.clone();
            let served = async {
                match certificate {
                    None => axum::serve(listener, router(app)).with_graceful_shutdown(end).await,
                    Some(certificate) => {
                        let listener = Encrypted::new(listener, &certificate)?;
                        axum::serve(listener, router(app)).with_graceful_shutdown(end).await
                    }
                }
            };
            tokio::select! {
                served = served => served,
                () = late => Ok(()),
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        lives.lives.end();
        served.map_err(|e| Error::new(ErrorKind::Io, format!("the server failed: {e}")))
    }
}

/// Commits changes of idle domains.
async fn tend(app: App) {
    const LOOK: Duration = Duration::from_millis(500);
    if !app.config.writable {
        return;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        let shared = App::clone(&app);
        let _tended = tokio::task::spawn_blocking(move || shared.lives.tend()).await;
    }
}

/// Returns freed memory to the system from time to time.
async fn trim() {
    const INTERVAL: Duration = Duration::from_secs(10);
    loop {
        tokio::time::sleep(INTERVAL).await;
        let _trimmed = tokio::task::spawn_blocking(icecore::memory::trim).await;
    }
}

/// Ready when SIGTERM arrives, or `is_over` is set.
pub async fn until(is_over: impl Fn() -> bool) {
    const LOOK: Duration = Duration::from_millis(50);
    // If no handler can be installed, the signal ends the process.
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
    while !is_over() {
        let signal = async {
            match &mut terminated {
                Some(signal) => signal.recv().await.is_some(),
                None => std::future::pending().await,
            }
        };
        if tokio::time::timeout(LOOK, signal).await == Ok(true) {
            return;
        }
    }
}

fn router(app: App) -> Router {
    let limits = &app.config.limits;
    let predicate = DefaultPredicate::new();
    let values = if app.config.compress_values { "application/x-none" } else { "application/octet-stream" };
    let compression = CompressionLayer::new().compress_when(predicate.and(NotForContentType::const_new(values)));
    let cors = CorsLayer::new().allow_origin(Any).allow_headers(Any).allow_methods([
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
    ]);
    let exposed = [HeaderName::from_static("etag"), HeaderName::from_static("content-range")];
    let routes = Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(health::metrics))
        .merge(zarr::routes())
        .merge(delegated::routes())
        .merge(openapi::routes())
        .merge(page::routes())
        .merge(hdf::routes())
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(if app.config.writable { limits.body.max(WRITTEN) } else { limits.body }))
        .layer(compression)
        .layer(middleware::from_fn_with_state(App::clone(&app), identified))
        .layer(middleware::from_fn_with_state(App::clone(&app), observed))
        .layer(cors.expose_headers(exposed))
        .with_state(app);
    // The rewritten path must be there before it is matched.
    Router::new().fallback_service(routes).layer(middleware::map_request(single_slash))
}

/// `//about` becomes `/about`: clients join an endpoint that ends with a slash and a path.
async fn single_slash(mut request: Request) -> Request {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let wanted = format!("/{}", path.trim_start_matches('/'));
    if path.starts_with("//")
        && let Ok(path) = wanted.parse::<PathAndQuery>()
    {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(path);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
    request
}

async fn unknown(uri: Uri) -> Answer<()> {
    let hint = match uri.path().strip_suffix('/') {
        Some(path) if !path.is_empty() => format!("without the slash at the end: {path}"),
        _ => "see GET /view/, /about, /domains, /groups, /datasets, /zarr/REPOSITORY/zarr.json, /tables/REPOSITORY/TABLE.csv, /products, /health, /metrics".to_owned(),
    };
    Err(Failure::missing(format!("there is nothing at {}", uri.path()), hint))
}
