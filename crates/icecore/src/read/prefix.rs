//! prefix: reads only the first planes of byte-plane chunks. The table at the start of each chunk gives their ends. The
//! tables are read in one coalesced read and cached; then the spans of the chunks are shortened. On slow stores the
//! tables of a few chunks give an estimate for the others, so that table and planes are read together
//! (`prefix_estimate`).

use std::sync::{Arc, Mutex, PoisonError};

use icecore_grid::{Result, Span};

use super::cache;
use super::locate::Located;
use super::prefix_chunk::PrefixChunk;
use super::{Query, ReadOptions, Report, coalesce, fetch, prefix_estimate};

/// Shortens the spans of queries that need only the first planes; with `certain` only by known ends, not by estimates.
pub(crate) fn shorten(
    queries: &[Query<'_>],
    located: &mut Located,
    options: &ReadOptions,
    certain: bool,
) -> Result<()> {
    if located.depths.iter().all(|depth| depth.planes == usize::MAX) {
        return Ok(());
    }
    let mut known = Heads::new();
    let (mut heads, mut report) = (Vec::new(), Report::default());
    for (number, span) in (0u32..).zip(&located.spans) {
        let Some(chunk) = PrefixChunk::of(queries, located, span.tag) else { continue };
        // Chunks shorter than the gap that is read rather than skipped are fetched whole.
        let gap = located.merges.get(span.object as usize).map_or(0, |merge| merge.gap);
        if span.length <= gap.max(chunk.planes.head_len()) {
            continue;
        }
        match cache::heads().get(chunk.key) {
            Some(head) => known.push((number, head)),
            None => heads.push(Span { length: chunk.planes.head_len(), tag: number, ..*span }),
        }
    }
    cut(queries, located, known)?;
    let (heads, others) = if certain { (heads, Vec::new()) } else { prefix_estimate::divide(queries, located, heads) };
    if !heads.is_empty() {
        let (read, what) = read_heads(queries, located, &heads, options)?;
        cut(queries, located, read)?;
        report += what;
    }
    prefix_estimate::guess(queries, located, &others);
    located.report += report;
    Ok(())
}

/// Shortens the spans of chunks whose tables are known.
fn cut(queries: &[Query<'_>], located: &mut Located, known: Heads) -> Result<()> {
    for (number, head) in known {
        let Some(span) = located.spans.get(number as usize) else { continue };
        let Some(chunk) = PrefixChunk::of(queries, located, span.tag) else { continue };
        let length = chunk.prefix_len(&head, span.length)?;
        prefix_estimate::learn((chunk.key.0, chunk.count), length, span.length);
        if let Some(span) = located.spans.get_mut(number as usize) {
            span.length = length;
        }
    }
    Ok(())
}

/// The complete span of a chunk for which only `bytes` were fetched; `None` if they suffice.
pub(crate) fn longer(queries: &[Query<'_>], located: &Located, span: &Span, bytes: &[u8]) -> Result<Option<Span>> {
    let Some(whole) = located.guessed.get(&span.tag) else { return Ok(None) };
    let Some(chunk) = PrefixChunk::of(queries, located, span.tag) else { return Ok(None) };
    let head = bytes.get(..chunk.planes.head_len() as usize).unwrap_or(bytes);
    let length = chunk.prefix_len(head, *whole)?;
    prefix_estimate::learn((chunk.key.0, chunk.count), length, *whole);
    cache::heads().put(chunk.key, head.into(), head.len() + 64);
    Ok((length > span.length).then_some(Span { length, ..*span }))
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
    let report = fetch::fetch(&located.sources, &requests, heads, options, |request, bytes| {
        for span in request.spans.iter().filter_map(|i| heads.get(*i as usize)) {
            let head: Arc<[u8]> = fetch::part(request, span, bytes)?.into();
            let piece = located.spans.get(span.tag as usize).map_or(u32::MAX, |whole| whole.tag);
            if let Some(chunk) = PrefixChunk::of(queries, located, piece) {
                cache::heads().put(chunk.key, Arc::clone(&head), head.len() + 64);
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).push((span.tag, head));
        }
        Ok(())
    })?;
    Ok((found.into_inner().unwrap_or_else(PoisonError::into_inner), report))
}
