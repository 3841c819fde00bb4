//! Sources that count, delay, truncate or corrupt the bytes that pass through them, for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use icecore_grid::{Error, ErrorKind, Result};

use super::{RangeGet, Source};

/// Counts of requests and bytes of a wrapped source.
#[derive(Debug, Default)]
pub struct Counts {
    pub requests: AtomicU64,
    pub bytes: AtomicU64,
    /// Requests in flight, and their maximum.
    pub waiting: AtomicU64,
    pub peak: AtomicU64,
}

/// Fault to inject into the bytes of a wrapped source.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// Wait this long before each answer.
    pub delay: Duration,
    /// Number of bytes missing from each response.
    pub cut: u64,
    /// Flip these bits of the byte at this offset of the object.
    pub flip: Option<(u64, u8)>,
    /// Fail the first requests with a network error.
    pub fail_first: u64,
}

/// A source with a counter and a fault.
pub struct Wrapped {
    inner: Source,
    counts: Arc<Counts>,
    fault: Fault,
}

impl Wrapped {
    /// Wraps `inner` with `fault` and `counts`.
    pub fn source(inner: Source, counts: Arc<Counts>, fault: Fault) -> Source {
        Source::Remote(Arc::new(Self { inner, counts, fault }))
    }

    async fn answer(&self, offset: u64, length: u64) -> Result<Bytes> {
        let before = self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let waiting = self.counts.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.counts.peak.fetch_max(waiting, Ordering::Relaxed);
        if !self.fault.delay.is_zero() {
            tokio::time::sleep(self.fault.delay).await;
        }
        self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
        if before < self.fault.fail_first {
            return Err(Error::new(ErrorKind::Network, format!("{}: the connection was cut", self.name())));
        }
        let mut bytes = self.read(offset, length).await?;
        self.counts.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some((at, bits)) = self.fault.flip
            && let Some(byte) = at.checked_sub(offset).and_then(|i| bytes.get_mut(usize::try_from(i).ok()?))
        {
            *byte ^= bits;
        }
        bytes.truncate(bytes.len().saturating_sub(usize::try_from(self.fault.cut).unwrap_or(usize::MAX)));
        Ok(bytes.freeze())
    }

    async fn read(&self, offset: u64, length: u64) -> Result<BytesMut> {
        match &self.inner {
            Source::Remote(object) => Ok(BytesMut::from(object.get(offset, length).await?.as_ref())),
            Source::Local(file) => {
                let mut buffer = BytesMut::zeroed(
                    usize::try_from(length)
                        .map_err(|_| Error::new(ErrorKind::Memory, "a request larger than the address space"))?,
                );
                file.read_at(offset, &mut buffer)?;
                Ok(buffer)
            }
        }
    }
}

impl RangeGet for Wrapped {
    fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(self.answer(offset, length))
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}
