//! Bodies of requests: received in memory before a request gets a slot, with limits on size, time and total memory.

use std::pin::Pin;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use icecore::grid::{Error, ErrorKind};
use tokio::sync::OwnedSemaphorePermit;

use crate::app::{App, Shared};
use crate::config::UNIT;
use crate::http::connections::Connection;
use crate::http::error::{Answer, Failure};
use crate::long_body::LongBody;

/// Maximum bytes of a request that writes values; clients send a dataset at once.
const WRITTEN: usize = 128 << 20;
/// Maximum bytes of a request for a product, or for objects by name.
const NAMED: usize = 4 << 20;
/// Interval in which a client must send at least `LEAST` bytes.
const INTERVAL: Duration = Duration::from_secs(15);
const LEAST: usize = 64 << 10;
/// Bytes of a long body that are in memory at once.
const PIECE: usize = 1 << 20;
/// Maximum bytes that are read of a refused body.
const DISCARDED: usize = 256 << 20;
/// Bodies up to this size are not counted, so that small requests are received even if others hold the memory.
const UNCOUNTED: usize = 64 << 10;

/// Receives the body of a request that may have one.
pub(crate) async fn received(State(app): State<App>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    if !matches!(parts.method, Method::POST | Method::PUT | Method::DELETE | Method::PATCH) {
        return next.run(Request::from_parts(parts, Body::empty())).await;
    }
    let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let limit = limit(&app, &parts.method, route);
    let connection = parts.extensions.get::<std::sync::Arc<Connection>>().cloned();
    let receiving = connection.as_ref().map(Connection::receiving);
    let mut body = body;
    if let Some(length) = LongBody::length_of(&app, &parts.method, route, &parts.headers, limit) {
        let received = long(&app, &mut body, length).await;
        if received.as_ref().is_err_and(Failure::is_refusal) {
            discard(&mut body).await;
        }
        drop(receiving);
        return match received {
            Ok((file, _permit)) => {
                let mut request = Request::from_parts(parts, Body::empty());
                request.extensions_mut().insert(file);
                next.run(request).await
            }
            Err(failure) => failure.into_response(),
        };
    }
    let whole = match checked(&parts.headers, limit) {
        Ok(()) => whole(&app, &mut body, limit).await,
        Err(failure) => Err(failure),
    };
    if whole.as_ref().is_err_and(Failure::is_refusal) {
        discard(&mut body).await;
    }
    drop(receiving);
    match whole {
        // The permit lasts as long as the request's work.
        Ok((whole, _permit)) => next.run(Request::from_parts(parts, Body::from(whole))).await,
        Err(failure) => failure.into_response(),
    }
}

/// Maximum bytes of a body.
fn limit(app: &Shared, method: &Method, route: &str) -> usize {
    let most = app.config.limits.body;
    let writes = *method != Method::POST || matches!(route, "/groups" | "/datasets" | "/datatypes");
    match route {
        "/datasets/{id}/value" if *method == Method::PUT && app.config.writable => most.max(WRITTEN),
        "/datasets/{id}/value" if *method == Method::POST => most,
        _ if writes && app.config.writable => most,
        // The request is refused whatever its body is.
        _ if writes => UNCOUNTED.min(most),
        _ => NAMED.min(most),
    }
}

fn checked(headers: &HeaderMap, limit: usize) -> Answer<()> {
    if let Some(coding) = headers.get(header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let message = format!("a body with the content encoding {coding:?} is not read");
        let error = Error::new(ErrorKind::Unsupported, message).hint("send it uncompressed");
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) { Err(too_large(limit)) } else { Ok(()) }
}

fn too_large(limit: usize) -> Failure {
    let message = format!("the body of the request is too large: at most {limit} bytes are read");
    Failure::too_large(message, "send less at a time: write parts of a dataset")
}

/// The body, and the memory that it is counted with.
async fn whole(app: &App, body: &mut Body, limit: usize) -> Answer<(Bytes, Option<OwnedSemaphorePermit>)> {
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    let mut permit: Option<OwnedSemaphorePermit> = None;
    let (mut begun, mut recent) = (Instant::now(), 0);
    loop {
        let left = INTERVAL.saturating_sub(begun.elapsed());
        let frame = match tokio::time::timeout(left, next(body)).await {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(_) if recent >= LEAST => {
                (begun, recent) = (Instant::now(), 0);
                continue;
            }
            Err(_) => return Err(late()),
        };
        let frame = frame.map_err(|e| Failure::invalid(format!("the body is incomplete: {e}"), "send all of it"))?;
        let Ok(data) = frame.into_data() else { continue };
        recent += data.len();
        let length = first.len() + all.len() + data.len();
        if length > limit {
            return Err(too_large(limit));
        }
        count(app, &mut permit, length)?;
        match (first.is_empty(), all.is_empty()) {
            (true, true) => first = data,
            (false, _) => {
                all.reserve(first.len() + data.len());
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&data);
            }
            (true, false) => all.extend_from_slice(&data),
        }
    }
    Ok((if all.is_empty() { first } else { Bytes::from(all) }, permit))
}

/// A body in a file, and the space that it is counted with.
async fn long(app: &App, body: &mut Body, length: u64) -> Answer<(LongBody, OwnedSemaphorePermit)> {
    let units = u32::try_from(length.div_ceil(UNIT as u64)).unwrap_or(u32::MAX);
    let permit = std::sync::Arc::clone(&app.long_bodies).try_acquire_many_owned(units).map_err(|_| {
        app.metrics.refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Failure::busy("the space for long bodies of requests is in use")
    })?;
    let file = LongBody::create(length)?;
    let mut left = length;
    while left > 0 {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
        let piece = piece(body, count).await?;
        left = left.saturating_sub(piece.len() as u64);
        let to = file.clone();
        let written = tokio::task::spawn_blocking(move || to.append(&piece)).await;
        written.map_err(|_| Failure::busy("the request was cut off"))??;
    }
    Ok((file, permit))
}

/// The next bytes of a body, `count` or somewhat more; the client must send `LEAST` in each interval.
async fn piece(body: &mut Body, count: usize) -> Answer<Vec<u8>> {
    let mut piece: Vec<u8> = Vec::new();
    let (mut begun, mut recent) = (Instant::now(), 0);
    while piece.len() < count {
        let left = INTERVAL.saturating_sub(begun.elapsed());
        let frame = match tokio::time::timeout(left, next(body)).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return Err(Failure::invalid("the body is incomplete", "send all of it")),
            Err(_) if recent >= LEAST => {
                (begun, recent) = (Instant::now(), 0);
                continue;
            }
            Err(_) => return Err(late()),
        };
        let frame = frame.map_err(|e| Failure::invalid(format!("the body is incomplete: {e}"), "send all of it"))?;
        if let Ok(data) = frame.into_data() {
            recent += data.len();
            piece.extend_from_slice(&data);
        }
    }
    Ok(piece)
}

async fn next(body: &mut Body) -> Option<Result<Frame<Bytes>, axum::Error>> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}

/// Reads the rest of a refused body, within limits: most clients read the answer only after they have sent everything.
async fn discard(body: &mut Body) {
    let rest = async {
        let mut left = DISCARDED;
        while let Some(Ok(frame)) = next(body).await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _slow = tokio::time::timeout(INTERVAL, rest).await;
}

/// Counts `length` bytes in total for a body.
fn count(app: &App, permit: &mut Option<OwnedSemaphorePermit>, length: usize) -> Answer<()> {
    if length <= UNCOUNTED {
        return Ok(());
    }
    let counted = permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let more = u32::try_from(length.div_ceil(UNIT).saturating_sub(counted)).unwrap_or(u32::MAX);
    let added = std::sync::Arc::clone(&app.bodies).try_acquire_many_owned(more).map_err(|_| {
        app.metrics.refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Failure::busy("the memory for bodies of requests is in use")
    })?;
    match permit {
        Some(permit) => permit.merge(added),
        None => *permit = Some(added),
    }
    Ok(())
}

fn late() -> Failure {
    let message = format!("the body arrived too slowly: fewer than {LEAST} bytes in {} s", INTERVAL.as_secs());
    let error = Error::new(ErrorKind::Invalid, message).hint("send the request again");
    Failure::new(StatusCode::REQUEST_TIMEOUT, error)
}
