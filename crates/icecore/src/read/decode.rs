//! decode and place: decode a chunk's stored bytes and copy its elements to the target.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use icecore_chunk::{Job, Scratch, decode_pair};
use icecore_grid::{Cut, Cuts, Error, ErrorKind, Request, Result, Span};

use super::cache::{chunk_key, chunks};
use super::decode_pairing::{DecodePairing, Found};
use super::locate::{Located, Piece, State};
use super::{Query, ReadOptions, fetch, prefix};
use crate::pool::{for_each, guarded};
use crate::store::Source;

/// State that a decoding thread keeps between chunks.
#[derive(Default)]
struct Worker {
    scratch: Scratch,
    /// Contexts for two chunks that are decoded together.
    desks: [Desk; 2],
}

/// Buffers for one chunk.
#[derive(Default)]
struct Desk {
    cut: Cut,
    chunk: Vec<u8>,
    kept: Option<Arc<[u8]>>,
}

/// Parts of a chunk up to which they are decoded alone, where its codec can.
const MOST_PARTS: usize = 1024;

/// Destination of a decoded chunk.
#[derive(Clone, Copy)]
enum Landing {
    /// Directly into the target, from this byte on.
    Target(usize),
    /// Decode into the cache.
    Kept,
    /// Into a buffer, from which a part is copied.
    Beside,
}

/// A chunk's stored bytes and destination.
struct Task<'a> {
    query: &'a Query<'a>,
    planes: usize,
    stored: &'a [u8],
    landing: Landing,
    bytes: usize,
}

thread_local!(static WORKER: Cell<Option<Box<Worker>>> = const { Cell::new(None) });

/// Lends out the thread's worker. It is taken, not borrowed: a codec may itself run work on this pool, and a thread
/// that waits for it may execute another of our jobs in the meantime.
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
    /// Complete spans of pieces for which too few bytes were fetched.
    short: Mutex<Vec<Span>>,
    singles: DecodePairing,
    /// Whether all sources are local files.
    local: bool,
}

impl<'a> Decoder<'a> {
    pub fn new(queries: &'a [Query<'a>], located: &'a Located) -> Self {
        let local = located.sources.iter().all(|source| matches!(source, Source::Local(_)));
        let singles = DecodePairing::new(located.spans.len());
        Self { queries, located, short: Mutex::default(), singles, local }
    }

    /// Decodes chunks that still wait for a partner; returns spans that must be fetched again.
    pub fn finish(self) -> Result<Vec<Span>> {
        if let Some(single) = self.singles.last() {
            let piece = self.piece_of(&single.span)?;
            guarded(|| with_worker(|worker| self.stored(piece, &single.span, &single.bytes, worker)))?;
        }
        Ok(self.short.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Handles all pieces that need no request: missing, inline and cached chunks.
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

    /// Decodes all pieces of one request; a single chunk that pairs well waits for the next one, possibly of another
    /// request.
    pub fn request(&self, request: &Request, bytes: &[u8]) -> Result<()> {
        self.singles.come(request.spans.len());
        with_worker(|worker| {
            let mut waiting: Option<(&Piece, &Span, &[u8])> = None;
            for span in request.spans.iter().filter_map(|i| self.located.spans.get(*i as usize)) {
                let Some(piece) = self.located.pieces.get(span.tag as usize) else { continue };
                let bytes = fetch::part(request, span, bytes)?;
                match prefix::longer(self.queries, self.located, span, bytes)? {
                    Some(span) => self.short.lock().unwrap_or_else(PoisonError::into_inner).push(span),
                    None if !self.goes_in_pairs(piece) => self.stored(piece, span, bytes, worker)?,
                    None => match waiting.take() {
                        None => waiting = Some((piece, span, bytes)),
                        Some(first) => self.two([first, (piece, span, bytes)], worker)?,
                    },
                }
            }
            let Some((piece, span, bytes)) = waiting else { return Ok(()) };
            match self.singles.other(span, bytes) {
                Found::Waits => Ok(()),
                Found::Nothing => self.stored(piece, span, bytes, worker),
                Found::Other(single) => {
                    let first = (self.piece_of(&single.span)?, &single.span, single.bytes.as_slice());
                    self.two([first, (piece, span, bytes)], worker)
                }
            }
        })
    }

    fn piece_of(&self, span: &Span) -> Result<&Piece> {
        let piece = self.located.pieces.get(span.tag as usize);
        piece.ok_or_else(|| Error::new(ErrorKind::Internal, "a span names no piece"))
    }

    fn stored(&self, piece: &Piece, span: &Span, bytes: &[u8], worker: &mut Worker) -> Result<()> {
        self.piece(piece, Some(bytes), worker).map_err(|e| self.placed(span, e))
    }

    /// Adds the file's name to an error about damaged bytes: an array may be linked from thousands of files.
    fn placed(&self, span: &Span, error: Error) -> Error {
        match self.located.sources.get(span.object as usize) {
            Some(source) if matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Codec) => {
                let (from, to, name) = (span.offset, span.offset.saturating_add(span.length), source.name());
                Error { message: format!("{} (bytes {from}..{to} of {name})", error.message), ..error }
            }
            _ => error,
        }
    }

    fn goes_in_pairs(&self, piece: &Piece) -> bool {
        let query = self.queries.get(piece.query as usize);
        query.is_some_and(|query| !query.dtype().is_vlen() && query.array.meta().chain.goes_in_pairs())
    }

    /// Decodes two stored pieces together.
    fn two(&self, pieces: [(&Piece, &Span, &[u8]); 2], worker: &mut Worker) -> Result<()> {
        let Worker { scratch, desks } = worker;
        let [one, other] = desks;
        let [(first, span, bytes), (second, next_span, more)] = pieces;
        let tasks = [self.task(first, bytes, one)?, self.task(second, more, other)?];
        let jobs = [tasks[0].job(one)?, tasks[1].job(other)?];
        let [done, next] = decode_pair(jobs, scratch);
        let fail = |e, task: &Task<'_>, desk: &Desk, span| self.placed(span, named(task.query, &desk.cut, e));
        tasks[0].end(done, one).map_err(|e| fail(e, &tasks[0], one, span))?;
        tasks[1].end(next, other).map_err(|e| fail(e, &tasks[1], other, next_span))
    }

    fn task<'t>(&'t self, piece: &Piece, stored: &'t [u8], desk: &mut Desk) -> Result<Task<'t>> {
        let (query, cuts, planes) = self.parts(piece)?;
        cuts.cut_into(piece.cut as usize, &mut desk.cut);
        self.landing(query, planes, stored, &desk.cut).map_err(|e| named(query, &desk.cut, e))
    }

    /// Content of a piece.
    fn parts(&self, piece: &Piece) -> Result<(&Query<'_>, &Cuts, usize)> {
        let at = piece.query as usize;
        let (Some(query), Some(cuts)) = (self.queries.get(at), self.located.cuts.get(at)) else {
            return Err(Error::new(ErrorKind::Internal, "a piece names no query"));
        };
        Ok((query, cuts, self.located.depths.get(at).map_or(usize::MAX, |depth| depth.planes)))
    }

    fn piece(&self, piece: &Piece, stored: Option<&[u8]>, worker: &mut Worker) -> Result<()> {
        let (query, cuts, planes) = self.parts(piece)?;
        let Worker { scratch, desks: [desk, _] } = worker;
        cuts.cut_into(piece.cut as usize, &mut desk.cut);
        let result = match (&piece.state, stored) {
            (State::Missing, _) => fill(query, &desk.cut),
            (State::Cached(chunk), _) => copy(query, &desk.cut, chunk),
            (State::Inline(bytes), _) => self.decode(query, planes, bytes, desk, scratch),
            (State::Stored, Some(bytes)) => self.decode(query, planes, bytes, desk, scratch),
            (State::Stored, None) => Err(Error::new(ErrorKind::Internal, "a piece came without its bytes")),
        };
        result.map_err(|e| named(query, &desk.cut, e))
    }

    fn decode(
        &self,
        query: &Query<'_>,
        planes: usize,
        stored: &[u8],
        desk: &mut Desk,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if query.dtype().is_vlen() {
            return decode_vlen(query, stored, desk, scratch);
        }
        let task = self.landing(query, planes, stored, &desk.cut)?;
        let done = task.job(desk)?.alone(scratch);
        task.end(done, desk)
    }

    fn landing<'t>(&self, query: &'t Query<'t>, planes: usize, stored: &'t [u8], cut: &Cut) -> Result<Task<'t>> {
        let itemsize = query.itemsize();
        let bytes = chunk_bytes(cut, itemsize)?;
        let landing = match cut.copy.whole() {
            Some(at) => {
                let at = usize::try_from(at).ok().and_then(|a| a.checked_mul(itemsize)).unwrap_or(usize::MAX);
                if at.checked_add(bytes).is_none_or(|end| end > query.target.bytes()) {
                    return Err(Error::new(ErrorKind::Internal, "a chunk lies outside of the target"));
                }
                Landing::Target(at)
            }
            // A file in reach gives the bytes again sooner than the rest of the chunk is decoded.
            None if query.array.meta().chain.has_parts() && self.local => Landing::Beside,
            None if self.located.keep && chunks().takes(bytes) => Landing::Kept,
            None => Landing::Beside,
        };
        Ok(Task { query, planes, stored, landing, bytes })
    }
}

impl Task<'_> {
    /// A decoding job; `desk` has the chunk's cut and buffers.
    fn job<'j>(&'j self, desk: &'j mut Desk) -> Result<Job<'j>> {
        let Desk { cut, chunk, kept } = desk;
        let (mut wanted, mut parts) = ((0, self.bytes as u64), Vec::new());
        let (chain, size) = (&self.query.array.meta().chain, self.query.itemsize());
        let out = match self.landing {
            // SAFETY: in bounds, as was checked when the landing was chosen; cuts of one selection never overlap in the
            // target, and the query has exclusive use of it.
            Landing::Target(at) => unsafe {
                std::slice::from_raw_parts_mut(self.query.target.pointer().add(at), self.bytes)
            },
            Landing::Kept => {
                let new = kept.insert(std::iter::repeat_n(0u8, self.bytes).collect());
                Arc::get_mut(new).ok_or_else(|| Error::new(ErrorKind::Internal, "a new chunk is in use"))?
            }
            Landing::Beside => {
                let (low, high) = cut.copy.source_span();
                wanted = (low * size as u64, high * size as u64);
                if chain.has_parts() {
                    let found = cut.copy.source_parts(MOST_PARTS).unwrap_or_default();
                    parts.extend(found.iter().map(|part| part.start as usize * size..part.end as usize * size));
                }
                room(chunk, self.bytes)?
            }
        };
        Ok(Job { chain, stored: self.stored, planes: self.planes, shape: &cut.shape, wanted, parts, out })
    }

    /// Copies decoded elements to their place in the target.
    fn end(&self, done: Result<()>, desk: &mut Desk) -> Result<()> {
        let Desk { cut, chunk, kept } = desk;
        let kept = kept.take();
        done?;
        match (self.landing, kept) {
            (Landing::Target(_), _) => {}
            (Landing::Beside, _) => place(self.query, cut, &chunk[..self.bytes]),
            (Landing::Kept, kept) => {
                let Some(kept) = kept else {
                    return Err(Error::new(ErrorKind::Internal, "a chunk that was kept is gone"));
                };
                place(self.query, cut, &kept);
                let array = &self.query.array;
                chunks().put(chunk_key(array.number(), self.planes, array.grid().flat(&cut.chunk)), kept, self.bytes);
            }
        }
        Ok(())
    }
}

fn fill(query: &Query<'_>, cut: &Cut) -> Result<()> {
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

fn copy(query: &Query<'_>, cut: &Cut, chunk: &[u8]) -> Result<()> {
    let itemsize = query.itemsize();
    if chunk.len() != chunk_bytes(cut, itemsize)? {
        return Err(Error::new(ErrorKind::Internal, "a cached chunk has the wrong size"));
    }
    place(query, cut, chunk);
    Ok(())
}

fn decode_vlen(query: &Query<'_>, stored: &[u8], desk: &mut Desk, scratch: &mut Scratch) -> Result<()> {
    let Desk { cut, chunk, .. } = desk;
    let (blob, parts) = query.array.meta().chain.decode_vlen(stored, &cut.shape, scratch)?;
    let number = query.blobs.keep(blob.into())?;
    let out = room(chunk, chunk_bytes(cut, query.itemsize())?)?;
    for (slot, (offset, length)) in out.chunks_exact_mut(16).zip(parts) {
        slot.copy_from_slice(&view(number, offset, length));
    }
    place(query, cut, out);
    Ok(())
}

fn place(query: &Query<'_>, cut: &Cut, chunk: &[u8]) {
    // SAFETY: the chunk has the cut's shape, the target the selection's (checked when the query was made: `Query::bytes`),
    // and the cuts of one selection never overlap in it.
    unsafe { cut.copy.place(chunk.as_ptr(), query.target.pointer(), query.itemsize()) };
}

/// A view of a variable-length element: blob, offset, length.
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

/// The first `bytes` of a buffer that never shrinks.
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
