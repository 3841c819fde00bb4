//! The server: listens and routes until a signal stops it, then finishes the answers in flight.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

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
use crate::{delegated, hdf, health, openapi, zarr};

/// Bytes of a request that writes values; clients send a dataset at once.
const WRITTEN: usize = 128 << 20;
/// How long answers in flight may take after the end was asked for.
const GRACE: Duration = Duration::from_secs(30);

/// A server that listens already.
pub struct Server {
    listener: TcpListener,
    app: App,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Checks what is to be served, and listens.
    ///
    /// # Errors
    /// `invalid`, `not-found`, `format` for what is served; `io` where the address cannot be had.
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
                .hint("choose another --port; 0 takes a free one")
        })?;
        Ok(Self { listener, app: Arc::new(Shared::new(config, domains)), runtime })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// `io`.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))
    }

    /// Answers requests until `end` is ready; then those in flight may finish.
    ///
    /// # Errors
    /// `io`.
    pub fn run(self, end: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let Self { listener, app, runtime } = self;
        let (begin_end, ended) = tokio::sync::oneshot::channel::<()>();
        let end = async move {
            end.await;
            // Dropped, and so noticed.
            drop(begin_end);
        };
        let lives = App::clone(&app);
        let served = runtime.block_on(async {
            tokio::spawn(tend(App::clone(&app)));
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

/// Commits changes that were left alone.
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

/// Ready once SIGTERM arrives, or `is_over` says so.
pub async fn until(is_over: impl Fn() -> bool) {
    const LOOK: Duration = Duration::from_millis(50);
    // Without a handler the system ends the process; that is what happens where none can be set.
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
    Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(health::metrics))
        .merge(zarr::routes())
        .merge(delegated::routes())
        .merge(openapi::routes())
        .merge(hdf::routes())
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(if app.config.writable { limits.body.max(WRITTEN) } else { limits.body }))
        .layer(compression)
        .layer(middleware::from_fn_with_state(App::clone(&app), identified))
        .layer(middleware::from_fn_with_state(App::clone(&app), observed))
        .layer(cors.expose_headers(exposed))
        .with_state(app)
}

async fn unknown(uri: Uri) -> Answer<()> {
    let hint = match uri.path().strip_suffix('/') {
        Some(path) if !path.is_empty() => format!("without the slash at the end: {path}"),
        _ => "see GET /about, /domains, /groups, /datasets, /zarr/REPOSITORY/zarr.json, /tables/REPOSITORY/TABLE.csv, /products, /health, /metrics".to_owned(),
    };
    Err(Failure::missing(format!("there is nothing at {}", uri.path()), hint))
}
