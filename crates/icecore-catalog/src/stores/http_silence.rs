//! Timeout for silence: a request fails if nothing is received for half a minute. A slow transfer goes on.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody};
use tokio::time::{Sleep, timeout};

/// Half of the time for which requests are repeated, so that one that is never answered is sent again.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes per second of the slowest upload that is waited for: how far a request's body was sent can't be seen.
const SLOWEST: usize = 16 << 10;

/// Sends a request and returns the response when its head has arrived; see the module.
pub(crate) async fn execute(client: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let patience = patience(request.body().content_length());
    let answer = timeout(patience, client.execute(request)).await;
    let answer = answer.unwrap_or_else(|_| Err(silent("the server did not answer", patience)))?;
    let (head, body) = answer.into_parts();
    Ok(HttpResponse::from_parts(head, HttpResponseBody::new(Watched { body, silence: None })))
}

/// How long to wait for the answer to a request with a body of this many bytes.
fn patience(length: usize) -> Duration {
    SILENCE + Duration::from_secs((length / SLOWEST) as u64)
}

fn silent(what: &str, time: Duration) -> HttpError {
    let text = format!("{what} for {} s", time.as_secs());
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::new(std::io::ErrorKind::TimedOut, text))
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
                silence.as_mut().poll(context).map(|()| Some(Err(silent("the server sent nothing", SILENCE))))
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
    fn long_bodies_get_more_time() {
        assert_eq!(patience(0), SILENCE);
        assert!(patience(32_000_000) > Duration::from_secs(32_000_000 / 20_000));
    }
}
