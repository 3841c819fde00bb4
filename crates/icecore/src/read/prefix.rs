//! prefix: of chunks in planes only the first planes are wanted, and the table in front of each chunk says where they end.
//! The tables are read in one coalesced go, and cached; then the spans of the chunks are shortened.

use std::sync::{Arc, Mutex, PoisonError};

use icecore_chunk::Planes;
use icecore_grid::{Error, Result, Span};

use super::cache::HEADS;
use super::locate::{Located, Piece};
use super::{Query, ReadOptions, Report, coalesce, fetch};

/// Cuts the spans of queries that want fewer planes than there are.
pub(crate) fn shorten(queries: &[Query<'_>], located: &mut Located, options: &ReadOptions) -> Result<()> {
    if located.depths.iter().all(|depth| depth.planes == usize::MAX) {
        return Ok(());
    }
    let mut known = Heads::new();
    let (mut heads, mut report) = (Vec::new(), Report::default());
    for (number, span) in (0u32..).zip(&located.spans) {
        let Some(chunk) = Chunk::of(queries, located, span.tag) else { continue };
        // The gap that is read rather than skipped: so short a chunk is fetched whole.
        let gap = located.merges.get(span.object as usize).map_or(0, |merge| merge.gap);
        if span.length <= gap.max(chunk.planes.head_len()) {
            continue;
        }
        match HEADS.get(chunk.key) {
            Some(head) => known.push((number, head)),
            None => heads.push(Span { length: chunk.planes.head_len(), tag: number, ..*span }),
        }
    }
    if !heads.is_empty() {
        let (read, what) = read_heads(queries, located, &heads, options)?;
        known.extend(read);
        report += what;
    }
    for (number, head) in known {
        let Some(span) = located.spans.get(number as usize) else { continue };
        let Some(chunk) = Chunk::of(queries, located, span.tag) else { continue };
        let length = chunk.planes.prefix_len(&head, chunk.count, span.length).map_err(|e| chunk.named(e))?;
        if let Some(span) = located.spans.get_mut(number as usize) {
            span.length = length;
        }
    }
    located.report += report;
    Ok(())
}

/// Spans by number, with the tables of their chunks.
type Heads = Vec<(u32, Arc<[u8]>)>;

fn read_heads(
    queries: &[Query<'_>],
    located: &Located,
    heads: &[Span],
    options: &ReadOptions,
) -> Result<(Heads, Report)> {
    let requests = coalesce::requests(heads, &located.merges);
    let found = Mutex::new(Vec::with_capacity(heads.len()));
    let report = fetch::fetch(&located.sources, &requests, options, |request, bytes| {
        for span in request.spans.iter().filter_map(|i| heads.get(*i as usize)) {
            let head: Arc<[u8]> = fetch::part(request, span, bytes)?.into();
            let piece = located.spans.get(span.tag as usize).map_or(u32::MAX, |whole| whole.tag);
            if let Some(chunk) = Chunk::of(queries, located, piece) {
                HEADS.put(chunk.key, Arc::clone(&head), head.len() + 64);
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).push((span.tag, head));
        }
        Ok(())
    })?;
    Ok((found.into_inner().unwrap_or_else(PoisonError::into_inner), report))
}

/// A chunk of which only the first `count` planes are wanted.
struct Chunk<'a> {
    planes: &'a dyn Planes,
    count: usize,
    key: (u64, u64),
    query: &'a Query<'a>,
}

impl<'a> Chunk<'a> {
    /// The chunk of a piece; `None` where all of it is wanted.
    fn of(queries: &'a [Query<'a>], located: &Located, piece: u32) -> Option<Self> {
        let Piece { query: number, cut, .. } = located.pieces.get(piece as usize)?;
        let (number, query) = (*number as usize, queries.get(*number as usize)?);
        let planes = query.array.meta().chain.planes()?;
        let count = located.depths.get(number)?.planes;
        let flat = located.cuts.get(number)?.chunk_flat(*cut as usize);
        (count < planes.count()).then_some(Self { planes, count, key: (query.array.number(), flat), query })
    }

    fn named(&self, error: Error) -> Error {
        let coords = self.query.array.grid().coords(self.key.1);
        Error { message: format!("{}: chunk {coords:?}: {}", self.query.array.path(), error.message), ..error }
    }
}
