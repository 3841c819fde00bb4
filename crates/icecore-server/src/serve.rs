//! The server: listens and routes until a signal stops it, then completes the responses in flight.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::routing::get;
use axum::{Router, middleware};
use icecore::grid::{Error, ErrorKind, Result};
use tokio::net::TcpListener;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use crate::app::{App, LOGINS, Shared, admitted, observed};
use crate::config::Config;
use crate::domains::{Domains, Mounts};
use crate::http::connections::{self, Serving};
use crate::http::error::{Answer, Failure};
use crate::http::tls::Certificate;
use crate::routes::identify::identified;
use crate::routes::receive::received;
use crate::routes::{delegated, health, openapi, origin, page};
use crate::{dap, hdf, zarr};

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
        let mounts = Mounts::new(&config.served, config.delegate.is_some(), config.users.is_none())?;
        let domains = Domains::new(mounts, &config.limits, config.delegate.clone());
        let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
        let built = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(config.limits.reads.max(1) + LOGINS + 4)
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
        runtime.block_on(async {
            tokio::spawn(tend(App::clone(&app)));
            tokio::spawn(trim());
            let late = async {
                let _ = ended.await;
                tokio::time::sleep(GRACE).await;
            };
            let serving = Serving {
                tls: app.config.certificate.as_ref().map(Certificate::acceptor),
                most: app.config.limits.connections.min(connections()),
                stall: app.config.limits.time,
                router: router(app),
            };
            tokio::select! {
                () = connections::serve(listener, serving, end) => {}
                () = late => {}
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        lives.lives.end();
        Ok(())
    }
}

/// The number of connections for which this process has file descriptors: half of them are for files.
fn connections() -> usize {
    const FILES: u64 = 16_384;
    let limit = rlimit::increase_nofile_limit(FILES).unwrap_or(256);
    usize::try_from(limit / 2).unwrap_or(usize::MAX)
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
    let predicate = DefaultPredicate::new();
    let values = if app.config.compress_values { "application/x-none" } else { "application/octet-stream" };
    let compression = CompressionLayer::new()
        .compress_when(predicate.and(NotForContentType::const_new(values)).and(NotForContentType::const_new(dap::DAP)));
    let layer = |app: &App| App::clone(app);
    let routes = Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(health::metrics))
        .merge(zarr::routes())
        .merge(dap::routes())
        .merge(delegated::routes())
        .merge(openapi::routes())
        .merge(page::routes())
        .merge(hdf::routes())
        .fallback(unknown)
        // `received` limits bodies.
        .layer(DefaultBodyLimit::disable())
        .layer(compression)
        .layer(middleware::from_fn_with_state(layer(&app), admitted))
        .layer(middleware::from_fn_with_state(layer(&app), received))
        .layer(middleware::from_fn_with_state(layer(&app), identified))
        .layer(origin::cors(&app.config))
        .layer(middleware::from_fn_with_state(layer(&app), origin::checked))
        .layer(middleware::from_fn_with_state(layer(&app), observed))
        .with_state(layer(&app));
    // The rewritten path must be there before it is matched.
    Router::new().fallback_service(routes).layer(middleware::from_fn_with_state(app, origin::path))
}

async fn unknown(uri: Uri) -> Answer<()> {
    let hint = match uri.path().strip_suffix('/') {
        Some(path) if !path.is_empty() => format!("without the slash at the end: {path}"),
        _ => "see GET /view/, /about, /domains, /groups, /datasets, /zarr/REPOSITORY/zarr.json, /dap/REPOSITORY.html, /thredds/catalog.html, /tables/REPOSITORY/TABLE.csv, /products, /health, /metrics".to_owned(),
    };
    Err(Failure::missing(format!("there is nothing at {}", uri.path()), hint))
}
