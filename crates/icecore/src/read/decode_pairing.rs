//! Pairs the odd chunk of one request with the odd chunk of another, because two DEFLATE streams decode faster together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use icecore_grid::Span;

use crate::pool::threads;

/// A chunk may wait for a partner while more than this number of chunks per thread is outstanding, so that no thread
/// idles.
const AHEAD: usize = 16;

/// A copy of a chunk's bytes, because its request has been released.
pub(super) struct WaitingChunk {
    pub span: Span,
    pub bytes: Vec<u8>,
}

pub(super) struct DecodePairing {
    /// Number of chunks that have not arrived yet.
    ahead: AtomicUsize,
    waiting: Mutex<Option<WaitingChunk>>,
}

impl DecodePairing {
    pub fn new(chunks: usize) -> Self {
        Self { ahead: AtomicUsize::new(chunks), waiting: Mutex::default() }
    }

    /// Counts arrived chunks.
    pub fn come(&self, chunks: usize) {
        self.ahead.fetch_sub(chunks, Ordering::Relaxed);
    }

    /// Returns the waiting chunk as a partner, or else lets this one wait, unless that would delay the read.
    pub fn other(&self, span: &Span, bytes: &[u8]) -> Found {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = waiting.take() {
            return Found::Other(other);
        }
        let mut kept = Vec::new();
        if self.ahead.load(Ordering::Relaxed) <= AHEAD * threads() || kept.try_reserve_exact(bytes.len()).is_err() {
            return Found::Nothing;
        }
        kept.extend_from_slice(bytes);
        *waiting = Some(WaitingChunk { span: *span, bytes: kept });
        Found::Waits
    }

    /// The chunk that still waits when all have arrived.
    pub fn last(&self) -> Option<WaitingChunk> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub(super) enum Found {
    Other(WaitingChunk),
    Waits,
    Nothing,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn span(tag: u32) -> Span {
        Span { object: 0, offset: 0, length: 3, tag }
    }

    #[test]
    fn the_first_waits_for_the_second_while_many_are_to_come() {
        let singles = DecodePairing::new(AHEAD * threads() + 2);
        singles.come(1);
        assert!(matches!(singles.other(&span(1), b"abc"), Found::Waits));
        let Found::Other(first) = singles.other(&span(2), b"def") else { panic!("none waited") };
        assert_eq!((first.span.tag, first.bytes.as_slice()), (1, &b"abc"[..]));
        assert!(matches!(singles.other(&span(3), b"ghi"), Found::Waits));
        singles.come(1);
        assert!(matches!(singles.other(&span(4), b"jkl"), Found::Other(_)), "the third waited");
        assert!(matches!(singles.other(&span(5), b"mno"), Found::Nothing), "few are to come");
        assert!(singles.last().is_none());
    }
}
