//! fetch: requests → bytes, handed to a consumer on the decoding threads.
//!
//! The decoding threads read local files. Remote requests run ahead of decoding, limited in number and in bytes. The part of
//! a response that has arrived is decoded while the rest arrives.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::RecvTimeoutError;
use futures::StreamExt;
use icecore_grid::{Error, ErrorKind, Request, Result, Span};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::parts::parts;
use super::{ReadOptions, Report};
use crate::pool::{FirstError, for_each, guarded, threads};
use crate::store::{LocalFile, RangeGet, Source, stores};

/// The part of a request's bytes that belongs to one span.
pub(crate) fn part<'a>(request: &Request, span: &Span, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let start = span.offset.checked_sub(request.offset).and_then(|s| usize::try_from(s).ok());
    let found = start.and_then(|s| bytes.get(s..)).and_then(|rest| rest.get(..usize::try_from(span.length).ok()?));
    found.ok_or_else(|| Error::new(ErrorKind::Internal, "a span lies outside of its request"))
}

/// Makes all requests for `spans` and passes the bytes of each, or of parts of it, to `consume`, on the decoding
/// threads.
pub(crate) fn fetch(
    sources: &[Source],
    requests: &[Request],
    spans: &[Span],
    options: &ReadOptions,
    consume: impl Fn(&Request, &[u8]) -> Result<()> + Sync,
) -> Result<Report> {
    let mut local: Vec<(&Request, &Arc<LocalFile>)> = Vec::new();
    let mut remote: Vec<(&Request, &Arc<dyn RangeGet>)> = Vec::new();
    let mut report = Report::default();
    for request in requests {
        let source = sources.get(request.object as usize);
        let requests = source.map_or(1, |source| sent(source, request));
        report += Report { requests, bytes_fetched: request.length, ..Report::default() };
        match source {
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
        fetch_remote(&remote, spans, options, &consume)?;
    }
    Ok(report)
}

/// Number of requests that are sent for one: long chunks of remote objects are fetched in pieces.
pub(crate) fn sent(source: &Source, request: &Request) -> u64 {
    match source {
        Source::Remote(object) if request.spans.len() == 1 => object.requests(request.length),
        _ => 1,
    }
}

/// Buffers up to this size are kept by their thread for the next request.
const KEPT_BUFFER: usize = 8 << 20;

fn read_local(request: &Request, file: &LocalFile, consume: &impl Fn(&Request, &[u8]) -> Result<()>) -> Result<()> {
    thread_local!(static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    // The length in a reference may be wrong: don't allocate a buffer for bytes that the file doesn't have.
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

/// Interval at which a thread that waits for bytes checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(50);

/// A part by its number, and the permit for the memory of its request.
type Arrived = (usize, Result<Bytes>, Option<Arc<OwnedSemaphorePermit>>);

fn fetch_remote(
    requests: &[(&Request, &Arc<dyn RangeGet>)],
    spans: &[Span],
    options: &ReadOptions,
    consume: &(impl Fn(&Request, &[u8]) -> Result<()> + Sync),
) -> Result<()> {
    let (sender, receiver) = crossbeam_channel::unbounded::<Arrived>(); // bounded by the byte budget
    let (jobs, parts) = jobs(requests, spans);
    let driver = icecore_catalog::runtime().spawn(drive(jobs, options.clone(), sender));
    let failed = FirstError::default();
    let work = || {
        while !failed.stopped() {
            let (number, bytes, _permit) = match receiver.recv_timeout(PATIENCE) {
                Ok(arrived) => arrived,
                Err(RecvTimeoutError::Timeout) if failed.note(options.go_on()) => continue,
                Err(_) => break,
            };
            let Some(part) = parts.get(number) else { break };
            if !failed.note(guarded(|| consume(part, &bytes?))) {
                break;
            }
        }
    };
    let done = for_each(threads().min(parts.len()), |_| {
        work();
        Ok(())
    });
    driver.abort();
    done.and_then(|()| failed.result())
}

/// Minimum size of a part that is decoded before the rest has arrived.
const PART: u64 = 128 << 10;

/// One request without borrows.
struct Job {
    object: Arc<dyn RangeGet>,
    offset: u64,
    /// Ends of its parts, relative to `offset`.
    ends: Vec<u64>,
    /// The number of its first part.
    first: usize,
}

impl Job {
    fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Start of a part, relative to `offset`.
    fn start(&self, part: usize) -> u64 {
        part.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }

    fn cut_off(&self, came: u64) -> Error {
        let (name, length, offset) = (self.object.name(), self.length(), self.offset);
        Error::new(ErrorKind::Corrupt, format!("{name}: {length} bytes at {offset} were wanted, {came} came"))
            .hint("the object is cut off: run `icecore verify`")
    }
}

fn jobs(requests: &[(&Request, &Arc<dyn RangeGet>)], spans: &[Span]) -> (Vec<Job>, Vec<Request>) {
    let mut all = Vec::new();
    let job = |(request, object): &(&Request, &Arc<dyn RangeGet>)| {
        let (first, found) = (all.len(), parts(request, spans, PART));
        let ends = found.iter().map(|part| part.offset - request.offset + part.length).collect();
        all.extend(found);
        Job { object: Arc::clone(object), offset: request.offset, ends, first }
    };
    (requests.iter().map(job).collect(), all)
}

const PERMIT: u64 = 4096;

/// Keeps up to `concurrency` requests and `memory` bytes in flight; a request's permit lives until all its parts are
/// decoded.
async fn drive(jobs: Vec<Job>, options: ReadOptions, sender: crossbeam_channel::Sender<Arrived>) {
    let permits = (options.memory / PERMIT).clamp(1, 1 << 30) as u32;
    let budget = Arc::new(Semaphore::new(permits as usize));
    let mut running = futures::stream::iter(jobs)
        .then(|job| {
            let wanted = (job.length() / PERMIT + 1).min(u64::from(permits)) as u32;
            let budget = Arc::clone(&budget);
            async move { (budget.acquire_many_owned(wanted).await, job) }
        })
        .map(|(permit, job)| {
            let sender = sender.clone();
            async move {
                let Ok(permit) = permit else { return };
                let (first, failed) = (job.first, sender.clone());
                // A separate task, so that bodies are received on all of the runtime's threads.
                if let Err(error) = tokio::spawn(async move { run(&job, permit, &sender).await }).await {
                    let error = Error::new(ErrorKind::Internal, error.to_string());
                    let _ = failed.send((first, Err(error), None)); // no receiver: the read was cancelled
                }
            }
        })
        .buffer_unordered(options.concurrency.max(1))
        .boxed();
    while running.next().await.is_some() {}
}

const TRIES: u32 = 4;

/// Makes one request and forwards it part by part. If the response is truncated, the missing bytes are requested again,
/// after growing, jittered pauses.
async fn run(job: &Job, permit: OwnedSemaphorePermit, sender: &crossbeam_channel::Sender<Arrived>) {
    let permit = Arc::new(permit);
    let (mut done, mut tried) = (0, 1);
    let error = loop {
        let (began, start) = (Instant::now(), job.start(done));
        let left: Vec<u64> = job.ends.iter().skip(done).map(|end| end - start).collect();
        let mut came = start;
        let mut each = |bytes: Bytes| {
            came += bytes.len() as u64;
            if job.ends.get(done) == Some(&came) {
                let held = Some(Arc::clone(&permit));
                let _ = sender.send((job.first + done, Ok(bytes), held)); // no receiver: the read was cancelled
                done += 1;
            }
        };
        let result = job.object.get_parts(job.offset + start, &left, &mut each).await;
        match result {
            Ok(()) if done == job.ends.len() => {
                stores().observe(job.object.name(), job.length() - start, began.elapsed().as_secs_f64());
                return;
            }
            Ok(()) => break job.cut_off(came),
            // Only the end of the response is missing.
            Err(broken) if broken.is_off && done == job.ends.len() => return,
            Err(broken) if !broken.is_off || tried == TRIES => break broken.error,
            Err(_) => {
                tokio::time::sleep(pause(tried)).await;
                tried += 1;
            }
        }
    };
    let _ = sender.send((job.first, Err(error), None));
}

/// 20, 40, 80 … ms, each multiplied by a random factor from 0.5 to 1.5.
fn pause(tried: u32) -> Duration {
    let base = 20_000u64 << tried.min(8);
    let jitter =
        u64::from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos()))
            % base;
    Duration::from_micros(base / 2 + jitter)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::BoxFuture;

    use super::*;
    use crate::store::{Broken, Each, Parts};

    /// Consecutive byte values, and a network that fails after the given number of parts of each response, the given
    /// number of times.
    struct Failing {
        behind: usize,
        breaks_off: bool,
        times: Mutex<u32>,
        asked: Mutex<Ranges>,
    }

    impl RangeGet for Failing {
        fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>> {
            Box::pin(async move { Ok((offset..offset + length).map(|at| at as u8).collect()) })
        }

        fn get_parts<'a>(&'a self, offset: u64, ends: &'a [u64], each: Each<'a>) -> BoxFuture<'a, Parts> {
            Box::pin(async move {
                let length = ends.last().copied().unwrap_or(0);
                self.asked.lock().unwrap().push((offset, length));
                let bytes = self.get(offset, length).await?;
                let mut start = 0;
                for (number, end) in ends.iter().map(|end| *end as usize).enumerate() {
                    let mut times = self.times.lock().unwrap();
                    if number == self.behind && *times > 0 {
                        *times -= 1;
                        let error = Error::new(ErrorKind::Network, "the connection was cut");
                        return Err(Broken { error, is_off: self.breaks_off });
                    }
                    each(bytes.slice(start..end));
                    start = end;
                }
                Ok(())
            })
        }

        fn name(&self) -> &str {
            "failing"
        }
    }

    /// Offsets and lengths.
    type Ranges = Vec<(u64, u64)>;

    /// Three spans of 200 kB with a gap after each; returns the result, the parts that arrived, and the requests.
    fn fetched(times: u32) -> (Result<()>, Ranges, Ranges) {
        let span = |tag: u32| Span { object: 0, offset: 5 + 201_000 * u64::from(tag), length: 200_000, tag };
        let spans = [span(0), span(1), span(2)];
        let object =
            Arc::new(Failing { behind: 1, breaks_off: true, times: Mutex::new(times), asked: Mutex::default() });
        let source: Arc<dyn RangeGet> = object.clone();
        let request = Request { object: 0, offset: 5, length: 602_000, spans: vec![0, 1, 2] };
        let came = Mutex::new(Vec::new());
        let result = fetch_remote(&[(&request, &source)], &spans, &ReadOptions::default(), &|part, bytes| {
            assert!(bytes.iter().enumerate().all(|(i, byte)| *byte == (part.offset + i as u64) as u8));
            came.lock().unwrap().push((part.offset, bytes.len() as u64));
            Ok(())
        });
        let mut came = came.into_inner().unwrap();
        came.sort_unstable();
        let asked = object.asked.lock().unwrap().clone();
        (result, came, asked)
    }

    #[test]
    fn a_request_goes_on_where_it_was_cut() {
        let all = vec![(5, 200_000), (200_005, 201_000), (401_005, 201_000)];
        let (result, came, asked) = fetched(0);
        result.unwrap();
        assert_eq!((came, asked), (all.clone(), vec![(5, 602_000)]));
        let (result, came, asked) = fetched(2);
        result.unwrap();
        assert_eq!((came, asked), (all, vec![(5, 602_000), (200_005, 402_000), (401_005, 201_000)]));
    }

    #[test]
    fn a_network_that_fails_for_good_is_an_error() {
        fails_for_good(true, TRIES);
    }

    #[test]
    fn what_was_refused_is_not_asked_for_again() {
        fails_for_good(false, 1);
    }

    fn fails_for_good(breaks_off: bool, requests: u32) {
        let object = Arc::new(Failing { behind: 0, breaks_off, times: Mutex::new(u32::MAX), asked: Mutex::default() });
        let source: Arc<dyn RangeGet> = object.clone();
        let spans = [Span { object: 0, offset: 0, length: 10, tag: 0 }];
        let request = Request { object: 0, offset: 0, length: 10, spans: vec![0] };
        let result = fetch_remote(&[(&request, &source)], &spans, &ReadOptions::default(), &|_, _| Ok(()));
        assert_eq!(result.map_err(|error| error.kind), Err(ErrorKind::Network));
        assert_eq!(object.asked.lock().unwrap().len(), requests as usize);
    }
}
