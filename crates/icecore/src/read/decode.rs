//! decode and place: a chunk's stored bytes → its elements, where they belong in the target.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use icecore_chunk::Scratch;
use icecore_grid::{Cut, Error, ErrorKind, Request, Result, Span};

use super::cache::{chunk_key, chunks};
use super::locate::{Located, Piece, State};
use super::{Query, ReadOptions, fetch, prefix};
use crate::pool::for_each;

/// What a decoding thread keeps from one chunk to the next.
#[derive(Default)]
struct Worker {
    scratch: Scratch,
    cut: Cut,
    chunk: Vec<u8>,
}

thread_local!(static WORKER: Cell<Option<Box<Worker>>> = const { Cell::new(None) });

/// Lends the thread's worker out. It is taken, not borrowed: a codec may itself run work on this pool, and a thread that
/// waits for it may pick up another of our jobs in the meantime.
fn with_worker<T>(job: impl FnOnce(&mut Worker) -> T) -> T {
    let mut worker = WORKER.take().unwrap_or_default();
    let result = job(&mut worker);
    WORKER.set(Some(worker));
    result
}

/// Decodes pieces into the queries' targets.
pub(crate) struct Decoder<'a> {
    queries: &'a [Query<'a>],
    located: &'a Located,
    /// Spans of pieces of which too little was fetched, as they should have been.
    short: Mutex<Vec<Span>>,
}

impl<'a> Decoder<'a> {
    pub fn new(queries: &'a [Query<'a>], located: &'a Located) -> Self {
        Self { queries, located, short: Mutex::default() }
    }

    /// What has to be fetched again.
    pub fn into_short(self) -> Vec<Span> {
        self.short.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// All pieces that need no request: missing chunks, inline ones, cached ones.
    pub fn without_bytes(&self, options: &ReadOptions) -> Result<()> {
        const BATCH: usize = 64;
        let pieces: Vec<&Piece> = self.located.pieces.iter().filter(|p| !matches!(p.state, State::Stored)).collect();
        let batches: Vec<&[&Piece]> = pieces.chunks(BATCH).collect();
        for_each(batches.len(), |i| {
            options.go_on()?;
            let batch = batches.get(i).copied().unwrap_or_default();
            with_worker(|worker| batch.iter().try_for_each(|piece| self.piece(piece, None, worker)))
        })
    }

    /// All pieces of one request.
    pub fn request(&self, request: &Request, bytes: &[u8]) -> Result<()> {
        with_worker(|worker| {
            for span in request.spans.iter().filter_map(|i| self.located.spans.get(*i as usize)) {
                let Some(piece) = self.located.pieces.get(span.tag as usize) else { continue };
                let bytes = fetch::part(request, span, bytes)?;
                match prefix::longer(self.queries, self.located, span, bytes)? {
                    Some(span) => self.short.lock().unwrap_or_else(PoisonError::into_inner).push(span),
                    None => self.piece(piece, Some(bytes), worker).map_err(|e| self.placed(span, e))?,
                }
            }
            Ok(())
        })
    }

    /// Says which file damaged bytes lie in: an array may be linked from thousands.
    fn placed(&self, span: &Span, error: Error) -> Error {
        match self.located.sources.get(span.object as usize) {
            Some(source) if matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Codec) => {
                let (from, to, name) = (span.offset, span.offset.saturating_add(span.length), source.name());
                Error { message: format!("{} (bytes {from}..{to} of {name})", error.message), ..error }
            }
            _ => error,
        }
    }

    fn piece(&self, piece: &Piece, stored: Option<&[u8]>, worker: &mut Worker) -> Result<()> {
        let (Some(query), Some(cuts)) =
            (self.queries.get(piece.query as usize), self.located.cuts.get(piece.query as usize))
        else {
            return Err(Error::new(ErrorKind::Internal, "a piece names no query"));
        };
        let planes = self.located.depths.get(piece.query as usize).map_or(usize::MAX, |depth| depth.planes);
        let mut cut = std::mem::take(&mut worker.cut);
        cuts.cut_into(piece.cut as usize, &mut cut);
        let result = match (&piece.state, stored) {
            (State::Missing, _) => self.fill(query, &cut),
            (State::Cached(chunk), _) => self.copy(query, &cut, chunk),
            (State::Inline(bytes), _) => self.decode(query, planes, &cut, bytes, worker),
            (State::Stored, Some(bytes)) => self.decode(query, planes, &cut, bytes, worker),
            (State::Stored, None) => Err(Error::new(ErrorKind::Internal, "a piece came without its bytes")),
        };
        let result = result.map_err(|e| named(query, &cut, e));
        worker.cut = cut;
        result
    }

    fn fill(&self, query: &Query<'_>, cut: &Cut) -> Result<()> {
        let fill = &query.array.meta().fill;
        if query.dtype().is_vlen() {
            let view = view(query.blobs.keep(fill.as_slice().into())?, 0, fill.len() as u32);
            // SAFETY: see `place`.
            unsafe { cut.copy.fill(&view, query.target.pointer()) };
        } else {
            // SAFETY: see `place`.
            unsafe { cut.copy.fill(fill, query.target.pointer()) };
        }
        Ok(())
    }

    fn copy(&self, query: &Query<'_>, cut: &Cut, chunk: &[u8]) -> Result<()> {
        let itemsize = query.itemsize();
        if chunk.len() != chunk_bytes(cut, itemsize)? {
            return Err(Error::new(ErrorKind::Internal, "a cached chunk has the wrong size"));
        }
        self.place(query, cut, chunk);
        Ok(())
    }

    fn decode(&self, query: &Query<'_>, planes: usize, cut: &Cut, stored: &[u8], worker: &mut Worker) -> Result<()> {
        let chain = &query.array.meta().chain;
        if query.dtype().is_vlen() {
            return self.decode_vlen(query, cut, stored, worker);
        }
        let itemsize = query.itemsize();
        let bytes = chunk_bytes(cut, itemsize)?;
        if let Some(at) = cut.copy.whole() {
            let at = usize::try_from(at).ok().and_then(|a| a.checked_mul(itemsize)).unwrap_or(usize::MAX);
            if at.checked_add(bytes).is_none_or(|end| end > query.target.bytes()) {
                return Err(Error::new(ErrorKind::Internal, "a chunk lies outside of the target"));
            }
            // SAFETY: in bounds by the check above; cuts of one selection never overlap in the target, and the query
            // has exclusive use of it.
            let out = unsafe { std::slice::from_raw_parts_mut(query.target.pointer().add(at), bytes) };
            return chain.decode_top(stored, planes, &cut.shape, (0, bytes as u64), out, &mut worker.scratch);
        }
        if self.located.keep && chunks().takes(bytes) {
            let mut chunk: Arc<[u8]> = std::iter::repeat_n(0u8, bytes).collect();
            if let Some(out) = Arc::get_mut(&mut chunk) {
                chain.decode_top(stored, planes, &cut.shape, (0, bytes as u64), out, &mut worker.scratch)?;
            }
            self.place(query, cut, &chunk);
            let key = chunk_key(query.array.number(), planes, query.array.grid().flat(&cut.chunk));
            chunks().put(key, chunk, bytes);
            return Ok(());
        }
        let (low, high) = cut.copy.source_span();
        let wanted = (low * itemsize as u64, high * itemsize as u64);
        let out = room(&mut worker.chunk, bytes)?;
        chain.decode_top(stored, planes, &cut.shape, wanted, out, &mut worker.scratch)?;
        self.place(query, cut, out);
        Ok(())
    }

    fn decode_vlen(&self, query: &Query<'_>, cut: &Cut, stored: &[u8], worker: &mut Worker) -> Result<()> {
        let (blob, parts) = query.array.meta().chain.decode_vlen(stored, &cut.shape, &mut worker.scratch)?;
        let number = query.blobs.keep(blob.into())?;
        let out = room(&mut worker.chunk, chunk_bytes(cut, query.itemsize())?)?;
        for (slot, (offset, length)) in out.chunks_exact_mut(16).zip(parts) {
            slot.copy_from_slice(&view(number, offset, length));
        }
        self.place(query, cut, out);
        Ok(())
    }

    fn place(&self, query: &Query<'_>, cut: &Cut, chunk: &[u8]) {
        // SAFETY: the chunk has the cut's shape, the target the selection's (checked when the query was made: `Query::bytes`),
        // and the cuts of one selection never overlap in it.
        unsafe { cut.copy.place(chunk.as_ptr(), query.target.pointer(), query.itemsize()) };
    }
}

/// A variable-length element on its way: which blob, where in it, how long.
fn view(blob: u32, offset: u32, length: u32) -> [u8; 16] {
    let mut view = [0; 16];
    for (slot, value) in view.chunks_exact_mut(4).zip([blob, offset, length]) {
        slot.copy_from_slice(&value.to_ne_bytes());
    }
    view
}

fn chunk_bytes(cut: &Cut, itemsize: usize) -> Result<usize> {
    let elements = cut.shape.iter().try_fold(1u64, |n, s| n.checked_mul(*s));
    elements.and_then(|n| usize::try_from(n).ok()).and_then(|n| n.checked_mul(itemsize)).ok_or_else(|| {
        Error::new(ErrorKind::Memory, format!("a chunk of {:?} elements does not fit into memory", cut.shape))
    })
}

/// The first `bytes` of a buffer that only ever grows.
fn room(buffer: &mut Vec<u8>, bytes: usize) -> Result<&mut [u8]> {
    if buffer.len() < bytes {
        let no = |_| Error::new(ErrorKind::Memory, format!("no memory for a chunk of {bytes} bytes"));
        buffer.try_reserve_exact(bytes - buffer.len()).map_err(no)?;
        buffer.resize(bytes, 0);
    }
    Ok(&mut buffer[..bytes])
}

fn named(query: &Query<'_>, cut: &Cut, error: Error) -> Error {
    let chunk: Vec<u64> = cut.chunk.to_vec();
    Error { message: format!("{}: chunk {chunk:?}: {}", query.array.path(), error.message), ..error }
}
