//! Connections: accepts them, limits their number, and closes those whose clients are slow or idle.
//!
//! A connection has a phase. A client that is sending a request's head, is idle, or doesn't read its response may hold the
//! connection only for the time of that phase. If all connections are in use, a new one replaces the one that has
//! waited longest for its client.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// Maximum time for the head of a request and for a TLS handshake.
const HEAD: Duration = Duration::from_secs(15);
/// Maximum time between two requests of a connection.
const IDLE: Duration = Duration::from_secs(75);
/// Maximum bytes of a request's head.
const LONGEST_HEAD: usize = 64 << 10;
/// Interval at which slow connections are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Pause after an error of the listening socket, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Idle,
    Head,
    /// The client sends a body.
    Body,
    /// The service works, or sends a response.
    Service,
}

impl Phase {
    fn of(number: u8) -> Self {
        match number {
            0 => Self::Idle,
            1 => Self::Head,
            2 => Self::Body,
            _ => Self::Service,
        }
    }

    fn limit(self) -> Option<Duration> {
        match self {
            Self::Idle => Some(IDLE),
            Self::Head => Some(HEAD),
            Self::Body | Self::Service => None,
        }
    }
}

/// A connection, shared by its task, its requests and the watch.
pub(crate) struct Connection {
    epoch: Instant,
    phase: AtomicU8,
    /// Milliseconds from `epoch` to the start of the phase.
    since: AtomicU64,
    /// Milliseconds from `epoch` at which the client stopped accepting bytes, plus 1; 0: it accepts them.
    stalled: AtomicU64,
    close: Notify,
}

impl Connection {
    fn new() -> Self {
        let (phase, since, stalled) = (AtomicU8::new(Phase::Head as u8), AtomicU64::new(0), AtomicU64::new(0));
        Self { epoch: Instant::now(), phase, since, stalled, close: Notify::new() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn enter(&self, phase: Phase) {
        self.since.store(self.now(), Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn phase(&self) -> Phase {
        Phase::of(self.phase.load(Ordering::Relaxed))
    }

    /// The first byte of the next request.
    fn head_begun(&self) {
        if self.phase() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    /// A request waits for its body; it ends when the guard is dropped.
    pub fn receiving(self: &Arc<Self>) -> Receiving {
        self.enter(Phase::Body);
        Receiving(Arc::clone(self))
    }

    fn waited(&self) -> Duration {
        Duration::from_millis(self.now().saturating_sub(self.since.load(Ordering::Relaxed)))
    }

    /// Whether the client has used up its time; `stall`: maximum time in which it accepts no bytes.
    fn is_late(&self, stall: Duration) -> bool {
        let stalled = self.stalled.load(Ordering::Relaxed);
        let is_stalled = stalled > 0 && Duration::from_millis(self.now().saturating_sub(stalled - 1)) > stall;
        is_stalled || self.phase().limit().is_some_and(|limit| self.waited() > limit)
    }
}

/// The time in which a body arrives.
pub(crate) struct Receiving(Arc<Connection>);

impl Drop for Receiving {
    fn drop(&mut self) {
        self.0.enter(Phase::Service);
    }
}

/// All open connections.
struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    most: usize,
    changed: Notify,
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. If there are too many, the one that has waited longest for its client is closed; `None` if the
    /// service works for all of them.
    fn add(self: &Arc<Self>, number: u64) -> Option<Open> {
        let mut open = self.lock();
        if open.len() >= self.most {
            let waiting = open.iter().filter(|(_, each)| each.phase() != Phase::Service);
            let rank = |each: &Connection| (each.phase() != Phase::Body, each.waited());
            let slowest = waiting.max_by_key(|(_, each)| rank(each)).map(|(number, _)| *number)?;
            if let Some(slowest) = open.remove(&slowest) {
                slowest.close.notify_one();
            }
        }
        let connection = Arc::new(Connection::new());
        open.insert(number, Arc::clone(&connection));
        Some(Open { all: Arc::clone(self), number, connection })
    }

    /// Closes slow connections until the runtime ends.
    async fn watch(self: Arc<Self>, stall: Duration) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.lock().values().filter(|each| each.is_late(stall)).for_each(|each| each.close.notify_one());
        }
    }

    async fn all_closed(&self) {
        while !self.lock().is_empty() {
            let changed = self.changed.notified();
            let _again = tokio::time::timeout(LOOK, changed).await;
        }
    }
}

/// An entry of [`Connections`].
struct Open {
    all: Arc<Connections>,
    number: u64,
    connection: Arc<Connection>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
        self.all.changed.notify_one();
    }
}

/// How connections are served.
pub(crate) struct Serving {
    pub router: Router,
    pub tls: Option<TlsAcceptor>,
    /// Maximum number of connections.
    pub most: usize,
    /// Maximum time in which a client accepts no bytes.
    pub stall: Duration,
}

/// Serves connections until `end` is ready, then completes the responses in flight.
pub(crate) async fn serve(listener: TcpListener, serving: Serving, end: impl Future<Output = ()>) {
    let all = Arc::new(Connections { open: Mutex::default(), most: serving.most.max(1), changed: Notify::new() });
    let watch = tokio::spawn(Arc::clone(&all).watch(serving.stall));
    let (ending, ended) = tokio::sync::watch::channel(false);
    let serving = Arc::new(serving);
    tokio::pin!(end);
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        match accepted {
            Ok((stream, _)) => {
                if let Some(open) = all.add(number) {
                    tokio::spawn(one(open, stream, Arc::clone(&serving), ended.clone()));
                }
            }
            // Such errors belong to one connection; others, such as too many open files, pass.
            Err(error) if is_of_client(&error) => {}
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
    let _all_may_have_gone = ending.send(true);
    all.all_closed().await;
    watch.abort();
}

fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection, until the client leaves, or is too slow.
async fn one(open: Open, stream: TcpStream, serving: Arc<Serving>, ended: tokio::sync::watch::Receiver<bool>) {
    // Small responses must not wait for the client's acknowledgement of earlier ones.
    let _only_slower = stream.set_nodelay(true);
    let connection = Arc::clone(&open.connection);
    let work = async {
        match &serving.tls {
            None => requests(&connection, stream, &serving, ended).await,
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    requests(&connection, stream, &serving, ended).await;
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = connection.close.notified() => {}
    }
}

async fn requests<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    connection: &Arc<Connection>,
    stream: S,
    serving: &Serving,
    mut ended: tokio::sync::watch::Receiver<bool>,
) {
    connection.enter(Phase::Head);
    let io = TokioIo::new(Watched { stream, connection: Arc::clone(connection) });
    let (router, shared) = (serving.router.clone(), Arc::clone(connection));
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (router, connection) = (router.clone(), Arc::clone(&shared));
        connection.enter(Phase::Service);
        async move {
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(Arc::clone(&connection));
            let answer = match router.oneshot(request).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            };
            Ok::<_, Infallible>(answer.map(|body| Sent { body, connection }))
        }
    });
    let served = http1::Builder::new().max_header_size(LONGEST_HEAD).serve_connection(io, service);
    tokio::pin!(served);
    let mut is_ending = false;
    loop {
        tokio::select! {
            _ = served.as_mut() => return,
            changed = ended.changed(), if !is_ending => {
                is_ending = true;
                if changed.is_ok() {
                    served.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// A response's body; the connection waits for its client's next request when it is dropped.
struct Sent {
    body: Body,
    connection: Arc<Connection>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.connection.enter(Phase::Idle);
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that notes when a request begins, and since when its client accepts no bytes.
struct Watched<S> {
    stream: S,
    connection: Arc<Connection>,
}

impl<S> Watched<S> {
    fn noted<T>(&self, poll: Poll<T>) -> Poll<T> {
        let stalled = &self.connection.stalled;
        match poll {
            Poll::Ready(_) => {
                if stalled.load(Ordering::Relaxed) > 0 {
                    stalled.store(0, Ordering::Relaxed);
                }
                // The rest of a response is still sent after its body was handed over.
                if self.connection.phase() == Phase::Idle {
                    self.connection.enter(Phase::Idle);
                }
            }
            Poll::Pending => {
                let now = self.connection.now() + 1;
                let _already = stalled.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        poll
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection.head_begun();
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.noted(poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(context);
        self.noted(poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_has_waited_longest_is_replaced_and_one_in_service_never() {
        let all = Arc::new(Connections { open: Mutex::default(), most: 2, changed: Notify::new() });
        let (first, second) = (all.add(0).unwrap(), all.add(1).unwrap());
        first.connection.enter(Phase::Service);
        let third = all.add(2).unwrap();
        assert!(all.lock().contains_key(&0) && !all.lock().contains_key(&1) && all.lock().contains_key(&2));
        third.connection.enter(Phase::Service);
        assert!(all.add(3).is_none());
        drop((first, second, third));
        assert!(all.lock().is_empty());
    }

    #[test]
    fn clients_that_do_not_read_are_late() {
        let connection = Connection::new();
        connection.enter(Phase::Service);
        assert!(!connection.is_late(Duration::ZERO));
        connection.stalled.store(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(5));
        assert!(connection.is_late(Duration::from_millis(1)) && !connection.is_late(Duration::from_secs(60)));
    }
}
