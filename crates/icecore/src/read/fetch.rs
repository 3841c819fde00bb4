//! fetch: requests → bytes, handed to a consumer on the decoding threads.
//!
//! Local files are read by the decoding threads themselves. Remote requests run ahead of them, bounded in number and in bytes,
//! so that the next buffers fill while these are decoded.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::RecvTimeoutError;
use futures::StreamExt;
use icecore_grid::{Error, ErrorKind, Request, Result, Span};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{ReadOptions, Report};
use crate::pool::{FirstError, for_each, guarded, pool};
use crate::store::{LocalFile, RangeGet, Source, stores};

/// The part of a request's bytes that belongs to one span.
pub(crate) fn part<'a>(request: &Request, span: &Span, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let start = span.offset.checked_sub(request.offset).and_then(|s| usize::try_from(s).ok());
    let found = start.and_then(|s| bytes.get(s..)).and_then(|rest| rest.get(..usize::try_from(span.length).ok()?));
    found.ok_or_else(|| Error::new(ErrorKind::Internal, "a span lies outside of its request"))
}

/// Makes all requests and hands each one's bytes to `consume`, on the pool's threads.
pub(crate) fn fetch(
    sources: &[Source],
    requests: &[Request],
    options: &ReadOptions,
    consume: impl Fn(&Request, &[u8]) -> Result<()> + Sync,
) -> Result<Report> {
    let mut local: Vec<(&Request, &Arc<LocalFile>)> = Vec::new();
    let mut remote: Vec<(&Request, &Arc<dyn RangeGet>)> = Vec::new();
    let mut report = Report::default();
    for request in requests {
        report += Report { requests: 1, bytes_fetched: request.length, ..Report::default() };
        match sources.get(request.object as usize) {
            Some(Source::Local(file)) => local.push((request, file)),
            Some(Source::Remote(object)) => remote.push((request, object)),
            None => return Err(Error::new(ErrorKind::Internal, "a request names no source")),
        }
    }
    let consume = |request: &Request, bytes: &[u8]| options.go_on().and_then(|()| consume(request, bytes));
    for_each(local.len(), |i| match local.get(i) {
        Some((request, file)) => read_local(request, file, &consume),
        None => Ok(()),
    })?;
    if !remote.is_empty() {
        fetch_remote(&remote, options, &consume)?;
    }
    Ok(report)
}

/// Buffers up to this size are kept by their thread for the next request.
const KEPT_BUFFER: usize = 8 << 20;

fn read_local(request: &Request, file: &LocalFile, consume: &impl Fn(&Request, &[u8]) -> Result<()>) -> Result<()> {
    thread_local!(static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    // A reference may lie about its length: no buffer is made for bytes that the file doesn't have.
    if request.offset.checked_add(request.length).is_none_or(|end| end > file.size()) {
        return file.read_at(request.offset.saturating_add(request.length).saturating_sub(1), &mut [0]);
    }
    let length = usize::try_from(request.length).map_err(|_| too_large(request.length))?;
    let mut buffer = BUFFER.take(); // taken, not borrowed: see `decode::with_worker`
    if buffer.len() < length {
        buffer.try_reserve(length - buffer.len()).map_err(|_| too_large(request.length))?;
        buffer.resize(length, 0);
    }
    let bytes = buffer.get_mut(..length).ok_or_else(|| too_large(request.length))?;
    let result = file.read_at(request.offset, bytes).and_then(|()| consume(request, bytes));
    if buffer.len() <= KEPT_BUFFER {
        BUFFER.set(buffer);
    }
    result
}

fn too_large(bytes: u64) -> Error {
    Error::new(ErrorKind::Memory, format!("no memory for a request of {bytes} bytes"))
}

/// How long a thread waits for bytes before it looks whether anyone still wants them.
const PATIENCE: Duration = Duration::from_millis(50);

type Arrived = (usize, Result<Bytes>, OwnedSemaphorePermit);

fn fetch_remote(
    requests: &[(&Request, &Arc<dyn RangeGet>)],
    options: &ReadOptions,
    consume: &(impl Fn(&Request, &[u8]) -> Result<()> + Sync),
) -> Result<()> {
    let (sender, receiver) = crossbeam_channel::unbounded::<Arrived>(); // bounded by the byte budget
    let driver = icecore_catalog::runtime().spawn(drive(jobs(requests), options.clone(), sender));
    let failed = FirstError::default();
    let work = || {
        while !failed.stopped() {
            let (number, bytes, _permit) = match receiver.recv_timeout(PATIENCE) {
                Ok(arrived) => arrived,
                Err(RecvTimeoutError::Timeout) if failed.note(options.go_on()) => continue,
                Err(_) => break,
            };
            let Some((request, _)) = requests.get(number) else { break };
            if !failed.note(guarded(|| consume(request, &bytes?))) {
                break;
            }
        }
    };
    let pool = pool()?;
    pool.scope(|scope| {
        for _ in 0..pool.current_num_threads().min(requests.len()) {
            scope.spawn(|_| work());
        }
    });
    driver.abort();
    failed.result()
}

/// One request without borrows: number, object, offset, length.
type Job = (usize, Arc<dyn RangeGet>, u64, u64);

fn jobs(requests: &[(&Request, &Arc<dyn RangeGet>)]) -> Vec<Job> {
    requests.iter().enumerate().map(|(i, (r, object))| (i, Arc::clone(object), r.offset, r.length)).collect()
}

const PERMIT: u64 = 4096;

/// Keeps `concurrency` requests and `memory` bytes in flight; a buffer's permit lives until it is decoded.
async fn drive(jobs: Vec<Job>, options: ReadOptions, sender: crossbeam_channel::Sender<Arrived>) {
    let permits = (options.memory / PERMIT).clamp(1, 1 << 30) as u32;
    let budget = Arc::new(Semaphore::new(permits as usize));
    let mut running = futures::stream::iter(jobs)
        .then(|(number, object, offset, length)| {
            let wanted = (length / PERMIT + 1).min(u64::from(permits)) as u32;
            let budget = Arc::clone(&budget);
            async move { (budget.acquire_many_owned(wanted).await, number, object, offset, length) }
        })
        .map(|(permit, number, object, offset, length)| async move {
            // A task of its own, so that bodies are received on all of the runtime's threads.
            let task = tokio::spawn(async move { get(object.as_ref(), offset, length).await });
            let bytes = task.await.unwrap_or_else(|e| Err(Error::new(ErrorKind::Internal, e.to_string())));
            (number, bytes, permit)
        })
        .buffer_unordered(options.concurrency.max(1))
        .boxed();
    while let Some((number, bytes, permit)) = running.next().await {
        let Ok(permit) = permit else { return };
        if sender.send((number, bytes, permit)).is_err() {
            return;
        }
    }
}

const TRIES: u32 = 4;

/// One request, tried again with growing, jittered pauses when the network fails.
async fn get(object: &dyn RangeGet, offset: u64, length: u64) -> Result<Bytes> {
    let mut tried = 1;
    loop {
        let started = Instant::now();
        match object.get(offset, length).await {
            Ok(bytes) if bytes.len() as u64 == length => {
                stores().observe(object.name(), length, started.elapsed().as_secs_f64());
                return Ok(bytes);
            }
            Ok(bytes) => {
                let message =
                    format!("{}: {length} bytes at {offset} were wanted, {} came", object.name(), bytes.len());
                return Err(Error::new(ErrorKind::Corrupt, message).hint("the object is cut off: run `icecore verify`"));
            }
            Err(error) if error.kind != ErrorKind::Network || tried == TRIES => return Err(error),
            Err(_) => {
                tokio::time::sleep(pause(tried)).await;
                tried += 1;
            }
        }
    }
}

/// 20, 40, 80 … ms, each between half and one and a half of that.
fn pause(tried: u32) -> Duration {
    let base = 20_000u64 << tried.min(8);
    let jitter =
        u64::from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos()))
            % base;
    Duration::from_micros(base / 2 + jitter)
}
