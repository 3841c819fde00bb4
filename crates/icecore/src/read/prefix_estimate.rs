//! Estimate of the length of a chunk's first byte planes, learned from other chunks of the same array.
//!
//! On a remote store this saves one request per chunk: one request fetches table and planes. If the estimate was too short, a
//! second request fetches the rest.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use icecore_catalog::PerProcess;
use icecore_grid::Span;

use super::Query;
use super::locate::Located;
use super::prefix_chunk::PrefixChunk;
use crate::store::Source;

/// Number of tables read first for an array without an estimate.
const SAMPLE: usize = 8;
/// Safety margin of the estimate, because chunks differ.
const MARGIN: f64 = 1.125;
/// A share larger than the others is forgotten after some hundred chunks.
const FORGET: f64 = 0.998;

/// Array number and number of planes.
type Key = (u64, usize);

/// The largest recent share of a chunk that its first planes took.
fn shares() -> MutexGuard<'static, HashMap<Key, f64>> {
    static SHARES: PerProcess<Mutex<HashMap<Key, f64>>> = PerProcess::new();
    SHARES.get_or(|_| Mutex::default()).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the length of a chunk's first planes.
pub(super) fn learn(key: Key, prefix: u64, whole: u64) {
    let share = prefix as f64 / whole.max(1) as f64;
    let mut shares = shares();
    let known = shares.entry(key).or_insert(share);
    *known = share.max(*known * FORGET);
}

/// The tables (spans, tagged with the numbers of the chunks' spans) that must be read first, and those of chunks that
/// can be estimated.
pub(super) fn divide(queries: &[Query<'_>], located: &Located, heads: Vec<Span>) -> (Vec<Span>, Vec<Span>) {
    let key = |head: &Span| {
        let span = located.spans.get(head.tag as usize)?;
        let is_far = matches!(located.sources.get(span.object as usize), Some(Source::Remote(_)));
        PrefixChunk::of(queries, located, span.tag).filter(|_| is_far).map(|chunk| (chunk.key.0, chunk.count))
    };
    let mut counts: HashMap<Key, usize> = HashMap::new();
    heads.iter().filter_map(key).for_each(|key| *counts.entry(key).or_default() += 1);
    let known: HashMap<Key, bool> = counts.keys().map(|key| (*key, shares().contains_key(key))).collect();
    let mut seen: HashMap<Key, usize> = HashMap::new();
    heads.into_iter().partition(|head| {
        let Some(key) = key(head) else { return true };
        let nth = seen.entry(key).or_default();
        *nth += 1;
        let every = counts.get(&key).map_or(1, |count| count.div_ceil(SAMPLE));
        !known.get(&key).is_some_and(|known| *known) && (*nth - 1).is_multiple_of(every)
    })
}

/// Shortens the spans of these chunks to the estimated end of their first planes.
pub(super) fn guess(queries: &[Query<'_>], located: &mut Located, heads: &[Span]) {
    for head in heads {
        let Some(span) = located.spans.get(head.tag as usize).copied() else { continue };
        let Some(chunk) = PrefixChunk::of(queries, located, span.tag) else { continue };
        let share = shares().get(&(chunk.key.0, chunk.count)).copied().unwrap_or(1.0);
        let length = ((span.length as f64 * share * MARGIN) as u64).clamp(head.length, span.length);
        if length == span.length {
            continue;
        }
        located.guessed.insert(span.tag, span.length);
        if let Some(span) = located.spans.get_mut(head.tag as usize) {
            span.length = length;
        }
    }
}
