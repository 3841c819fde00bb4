//! Timeout for silence: a request fails if nothing is sent or received for half a minute. A slow transfer goes on.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::PutPayload;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
};
use tokio::time::{Sleep, timeout};

/// Half of the time for which requests are repeated, so that one that is never answered is sent again.
const SILENCE: Duration = Duration::from_secs(30);
/// A request's body is passed on in parts of this size; the end of each counts as progress.
const PART: usize = 64 << 10;

/// Sends a request and returns the response when its head has arrived; see the module.
pub(crate) async fn execute(client: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let progress = Arc::new(Progress::new());
    let (head, body) = request.into_parts();
    let body = if body.content_length() > PART { watched(body, &progress) } else { body };
    let answer = progress.watch(client.execute(HttpRequest::from_parts(head, body))).await?;
    let (head, body) = answer.into_parts();
    Ok(HttpResponse::from_parts(head, HttpResponseBody::new(Watched { body, silence: None })))
}

fn silent(what: &str) -> HttpError {
    let text = format!("{what} for {} s", SILENCE.as_secs());
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

/// When a request's body last advanced.
struct Progress {
    began: Instant,
    /// Milliseconds after `began`.
    last: AtomicU64,
}

impl Progress {
    fn new() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(0) }
    }

    fn note(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.fetch_max(now, Ordering::Relaxed);
    }

    fn idle(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }

    async fn watch<T>(&self, work: impl Future<Output = Result<T, HttpError>>) -> Result<T, HttpError> {
        let mut work = pin!(work);
        loop {
            let left = SILENCE.saturating_sub(self.idle());
            if left.is_zero() {
                return Err(silent("the server neither received nor answered"));
            }
            if let Ok(done) = timeout(left, &mut work).await {
                return done;
            }
        }
    }
}

/// A part of a request's body. The connection drops it when it has been sent.
struct Part {
    bytes: Bytes,
    progress: Arc<Progress>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.progress.note();
    }
}

/// The same body in parts that note the progress.
fn watched(mut body: HttpRequestBody, progress: &Arc<Progress>) -> HttpRequestBody {
    let mut parts = Vec::new();
    let mut context = Context::from_waker(std::task::Waker::noop());
    // The body is in memory: its frames are ready.
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
        let Ok(mut bytes) = frame.into_data() else { continue };
        while !bytes.is_empty() {
            let bytes = bytes.split_to(PART.min(bytes.len()));
            parts.push(Bytes::from_owner(Part { bytes, progress: Arc::clone(progress) }));
        }
    }
    PutPayload::from_iter(parts).into()
}

/// A response's body that fails if it is waited for too long.
struct Watched {
    body: HttpResponseBody,
    /// Runs while a frame is awaited.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(frame) => {
                self.silence = None;
                Poll::Ready(frame)
            }
            Poll::Pending => {
                let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(SILENCE)));
                silence.as_mut().poll(context).map(|()| Some(Err(silent("the server sent nothing"))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_counted_from_the_last_progress() {
        let progress = Arc::new(Progress::new());
        let body = watched(Bytes::from(vec![7; 3 * PART + 5]).into(), &progress);
        assert_eq!(body.content_length(), 3 * PART + 5);
        progress.last.store(20_000, Ordering::Relaxed);
        drop(body);
        assert_eq!(progress.last.load(Ordering::Relaxed), 20_000, "time never goes back");
        let never = futures::future::pending::<Result<(), HttpError>>();
        progress.last.store(0, Ordering::Relaxed);
        let past = Progress { began: Instant::now().checked_sub(SILENCE).unwrap(), last: AtomicU64::new(0) };
        assert_eq!(crate::runtime().block_on(past.watch(never)).unwrap_err().kind(), HttpErrorKind::Timeout);
        past.note();
        assert!(past.idle() < Duration::from_secs(1));
    }
}
