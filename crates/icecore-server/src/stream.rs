//! Response bodies that are produced block by block while they are sent.
//!
//! A block is produced on the pool for blocking work. Between blocks no thread is held, so slow clients cost only the
//! memory of two blocks. A block that fails ends the connection: a partial response never looks complete.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::app::{App, flag, with_flag};
use crate::http::error::{Answer, Failure};

/// Blocks in sending order.
pub(crate) type Blocks = Box<dyn Iterator<Item = Answer<Bytes>> + Send>;

/// Maximum number of blocks that wait for the client.
const WAITING: usize = 1;

/// Reason of an incomplete body.
#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a block of the response could not be produced")
    }
}

impl std::error::Error for Broken {}

struct Streamed {
    first: Option<Bytes>,
    rest: mpsc::Receiver<Result<Bytes, Broken>>,
    left: Option<u64>,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        let block = match this.first.take() {
            Some(first) => Some(Ok(first)),
            None => match this.rest.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(block) => block,
            },
        };
        if let (Some(left), Some(Ok(block))) = (&mut this.left, &block) {
            *left = left.saturating_sub(block.len() as u64);
        }
        Poll::Ready(match block {
            // The blocks ended before the announced length.
            None if this.left.is_some_and(|left| left > 0) => Some(Err(Broken)),
            block => block.map(|block| block.map(Frame::data)),
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The body made of `blocks`; `length` is announced if it is known. The first block is produced before this returns, so
/// that its errors determine the response's status.
pub(crate) async fn body(app: &App, blocks: Blocks, length: Option<u64>) -> Answer<Body> {
    let (first, second, blocks) = app.blocking(move || begun(blocks, length)).await?;
    let Some(second) = second else { return Ok(Body::from(first)) };
    let (sender, rest) = mpsc::channel(WAITING);
    // Work for later blocks ends, too, when the client leaves.
    tokio::spawn(with_flag(flag(), produce(app.clone(), second, blocks, sender)));
    Ok(Body::new(Streamed { first: Some(first), rest, left: length }))
}

/// The blocks after the first one.
enum Next {
    Known(Bytes),
    Unknown,
}

/// Blocks up to this many bytes in total are joined: one write to the connection, and a response with its length.
const JOINED: usize = 64 << 10;

/// The first block, and the rest unless the body is complete.
fn begun(mut blocks: Blocks, length: Option<u64>) -> Answer<(Bytes, Option<Next>, Blocks)> {
    let mut first = blocks.next().transpose()?.unwrap_or_default();
    if length.is_some_and(|length| first.len() as u64 == length) {
        return Ok((first, None, blocks));
    }
    if length.is_some() {
        return Ok((first, Some(Next::Unknown), blocks));
    }
    let mut next = blocks.next().transpose()?;
    if next.as_ref().is_some_and(|next| first.len() + next.len() <= JOINED) {
        let mut joined = Vec::from(first);
        while let Some(block) = next.take_if(|block| joined.len() + block.len() <= JOINED) {
            joined.extend_from_slice(&block);
            next = blocks.next().transpose()?;
        }
        first = Bytes::from(joined);
    }
    Ok((first, next.map(Next::Known), blocks))
}

async fn produce(app: App, second: Next, mut blocks: Blocks, sender: mpsc::Sender<Result<Bytes, Broken>>) {
    if let Next::Known(second) = second
        && !sent(&app, &sender, Ok(second)).await
    {
        return;
    }
    loop {
        let next = app.blocking(move || {
            let block = blocks.next();
            Ok((block, blocks))
        });
        let made = tokio::select! {
            made = next => made,
            () = sender.closed() => return,
        };
        let block = match made {
            Ok((None, _)) => return,
            Ok((Some(Ok(block)), rest)) => {
                blocks = rest;
                block
            }
            Ok((Some(Err(failure)), _)) | Err(failure) => {
                broken(&app, &failure);
                sent(&app, &sender, Err(Broken)).await;
                return;
            }
        };
        if !sent(&app, &sender, Ok(block)).await {
            return;
        }
    }
}

/// Passes a block to the connection; false if the client left, or did not accept it in time.
async fn sent(app: &App, sender: &mpsc::Sender<Result<Bytes, Broken>>, block: Result<Bytes, Broken>) -> bool {
    matches!(tokio::time::timeout(app.config.limits.time, sender.send(block)).await, Ok(Ok(())))
}

fn broken(app: &App, failure: &Failure) {
    app.metrics.broken_streams.fetch_add(1, Ordering::Relaxed);
    eprintln!("icecore: error: an answer was cut off: {failure}");
}
