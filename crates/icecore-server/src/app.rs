//! State shared by all requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use icecore::cancel;
use icecore::grid::{Error, ErrorKind};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::buffers::Buffers;
use crate::config::{Config, UNIT};
use crate::delegate::Located;
use crate::domains::{Domain, Domains};
use crate::hdf5::found::model;
use crate::hdf5::load::model as loaded;
use crate::hdf5::permission::{check, refused};
use crate::http::error::{Answer, Failure, explained};
use crate::http::params::Params;
use crate::live::Lives;
use crate::metrics::Metrics;
use crate::spool::Spools;

pub(crate) struct Shared {
    pub config: Config,
    pub domains: Domains,
    pub metrics: Metrics,
    pub started: f64,
    pub buffers: Arc<Buffers>,
    pub lives: Lives,
    /// The time of the last successful check, and its result.
    pub health: Mutex<Option<(Instant, Value)>>,
    /// Tables whose length is known.
    pub spools: Spools,
    /// Memory for bodies of requests.
    pub bodies: Arc<Semaphore>,
    /// Space on disk for long bodies.
    pub long_bodies: Arc<Semaphore>,
    requests: Semaphore,
    reads: Arc<Semaphore>,
    /// Passwords that are checked at once: each takes time and memory on purpose.
    logins: Arc<Semaphore>,
}

/// Passwords that are checked at the same time.
pub(crate) const LOGINS: usize = 2;

pub(crate) type App = Arc<Shared>;

impl Shared {
    pub fn new(config: Config, domains: Domains) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        let (requests, reads) = (config.limits.requests.max(1), config.limits.reads.max(1));
        let bodies = config.limits.bodies / UNIT;
        // Two of the longest at a time.
        let long_bodies = usize::try_from(2 * config.limits.written / UNIT as u64).unwrap_or(usize::MAX >> 4);
        Self {
            config,
            domains,
            metrics: Metrics::default(),
            started,
            buffers: Arc::default(),
            lives: Lives::new(loaded),
            health: Mutex::default(),
            spools: Spools::default(),
            bodies: Arc::new(Semaphore::new(bodies)),
            long_bodies: Arc::new(Semaphore::new(long_bodies)),
            requests: Semaphore::new(requests),
            reads: Arc::new(Semaphore::new(reads)),
            logins: Arc::new(Semaphore::new(LOGINS)),
        }
    }

    /// Runs blocking work on the pool while holding a slot of `reads`. If the request's client leaves, or the time limit
    /// has passed, the work is cancelled; its slot is free when it has ended.
    pub async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
        self.blocking_in(&self.reads, work).await
    }

    /// The same for a check of a password, which never waits for reads.
    pub async fn checking<T: Send + 'static>(&self, work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
        self.blocking_in(&self.logins, work).await
    }

    async fn blocking_in<T: Send + 'static>(
        &self,
        slots: &Arc<Semaphore>,
        work: impl FnOnce() -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let limit = self.config.limits.time;
        let late = |_| Failure::busy(format!("no free reader within {} s", limit.as_secs()));
        let slot = tokio::time::timeout(limit, Arc::clone(slots).acquire_owned()).await.map_err(late)?;
        let slot = slot.map_err(|_| Failure::busy("the service is shutting down"))?;
        let flag = flag();
        let abandoned = Abandoned(Some(Arc::clone(&flag)));
        let running = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            // The client may have left while the work waited for a thread.
            cancel::scoped(Some(flag), || cancel::check().map_err(Failure::from).and_then(|()| work()))
        });
        let ended = tokio::time::timeout(limit, running).await.map_err(|_| Failure::late(limit))?;
        abandoned.complete();
        ended.unwrap_or_else(|failed| {
            eprintln!("icecore: error: a request's work failed: {failed}");
            let error = Error::new(ErrorKind::Internal, "a request's work failed");
            Err(error.hint("this is a defect of icecore: please report it").into())
        })
    }

    /// # Errors
    /// `read-only` if the service does not write.
    pub fn writable(&self) -> Answer<()> {
        if self.config.writable {
            return Ok(());
        }
        let error = Error::new(ErrorKind::ReadOnly, "this service is read-only");
        Err(error.hint("start it with --writable, or write with the icecore library").into())
    }

    /// # Errors
    /// `permission` if a domain's access control lists do not allow the request's user the action.
    pub fn permitted(&self, domain: &Domain, params: &Params, action: &str) -> Answer<()> {
        let caller = params.caller();
        if !caller.is_checked {
            return Ok(());
        }
        match model(domain)? {
            Some(model) => check(model, caller, action, &domain.name),
            None if action.starts_with("read") || caller.is_admin() => Ok(()),
            None => Err(refused(caller, action, &domain.name)),
        }
    }

    /// # Errors
    /// `permission` if the user may not read the domain. A version has the lists of its time and a group has none, so those of
    /// the whole repository as it is now count too.
    pub fn readable(&self, domain: &Domain, params: &Params) -> Answer<()> {
        self.permitted(domain, params, "read")?;
        if !params.caller().is_checked {
            return Ok(());
        }
        match self.domains.whole(&domain.name)? {
            Some(name) => {
                let whole = self.current(&name)?;
                self.permitted(&whole, params, "read")
            }
            None => Ok(()),
        }
    }

    /// A domain, with changes that are not committed yet.
    fn current(&self, name: &str) -> Answer<Arc<Domain>> {
        let live = if self.config.writable { self.lives.current(&self.domains, name)? } else { None };
        Ok(live.map_or_else(|| self.domains.open(name), Ok)?)
    }

    /// The domain that a request names, which its user may read; waits until it is open.
    pub fn opened(&self, params: &Params) -> Answer<Arc<Domain>> {
        self.opened_as(params.domain(), params)
    }

    /// A domain that the request's user may read.
    pub fn opened_as(&self, name: &str, params: &Params) -> Answer<Arc<Domain>> {
        let domain = self.current(name)?;
        self.readable(&domain, params)?;
        Ok(domain)
    }

    /// A committed node for the program beside the service, and the tag of what is made from it. The user may read it.
    pub fn located(&self, name: &str, params: &Params) -> Answer<(Located, String)> {
        let (domain, located) = self.domains.located(name)?;
        self.readable(&domain, params)?;
        Ok((located, domain.tag.clone()))
    }

    /// The domain that a request names.
    pub async fn domain(self: &Arc<Self>, params: &Params) -> Answer<Arc<Domain>> {
        if !self.config.writable
            && !params.caller().is_checked
            && let Some(domain) = self.domains.known(params.domain())
        {
            return Ok(domain);
        }
        let (app, params) = (Arc::clone(self), params.clone());
        self.blocking(move || app.opened(&params)).await
    }
}

tokio::task_local! {
    /// Cancels the work of the current request.
    static FLAG: Arc<AtomicBool>;
}

/// The flag of the current request; a new one outside of requests.
pub(crate) fn flag() -> Arc<AtomicBool> {
    FLAG.try_with(Arc::clone).unwrap_or_default()
}

/// Runs a part of a request in another task.
pub(crate) async fn with_flag<T>(flag: Arc<AtomicBool>, work: impl Future<Output = T>) -> T {
    FLAG.scope(flag, work).await
}

/// Cancels work when it is dropped before the work is complete.
struct Abandoned(Option<Arc<AtomicBool>>);

impl Abandoned {
    fn complete(mut self) {
        self.0 = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// Turns away requests above the limit, once their users are known and their bodies have arrived.
pub(crate) async fn admitted(State(app): State<App>, request: Request, next: Next) -> Response {
    let Ok(_slot) = app.requests.try_acquire() else {
        app.metrics.refused.fetch_add(1, Ordering::Relaxed);
        let message = format!("{} requests are being answered already", app.config.limits.requests);
        return Failure::busy(message).into_response();
    };
    with_flag(Arc::default(), next.run(request)).await
}

/// A request in flight; its end is counted even if its client leaves.
struct InFlight(App);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts requests.
pub(crate) async fn observed(State(app): State<App>, request: Request, next: Next) -> Response {
    let method = request.method().as_str().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let begun = Instant::now();
    app.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
    let in_flight = InFlight(App::clone(&app));
    let answer = explained(next.run(request).await);
    drop(in_flight);
    app.metrics.answered(&method, &route, answer.status().as_u16(), begun.elapsed());
    answer
}
