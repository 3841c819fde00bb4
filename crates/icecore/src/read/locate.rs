//! locate: queries → pieces: the chunks, their byte ranges and their sources.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use icecore_catalog::{ChunkTable, Location, Place};
use icecore_grid::{Cuts, Error, ErrorKind, Merge, Result, Span};

use super::cache::{ShardIndex, chunk_key, chunks, indexes};
use super::{ArrayView, Depth, Query, ReadOptions, Report, coalesce, fetch};
use crate::store::{Source, stores};

/// One chunk of one query.
pub(crate) struct Piece {
    pub query: u32,
    pub cut: u32,
    pub state: State,
}

/// Location of a piece's bytes.
pub(crate) enum State {
    /// Not stored: the chunk has only fill values.
    Missing,
    /// Encoded, in the catalog itself.
    Inline(Bytes),
    /// Decoded, in the cache.
    Cached(Arc<[u8]>),
    /// In a source; a span gives the byte range.
    Stored,
}

/// The input of the later stages.
pub(crate) struct Located {
    pub cuts: Vec<Cuts>,
    pub pieces: Vec<Piece>,
    /// `tag` is the piece's number, `object` the source's.
    pub spans: Vec<Span>,
    pub sources: Vec<Source>,
    /// Rules for merging requests, by source.
    pub merges: Vec<Merge>,
    /// The part of each query's chunks to read.
    pub depths: Vec<Depth>,
    /// Chunks (by piece) whose spans were shortened by an estimate, with their full lengths.
    pub guessed: HashMap<u32, u64>,
    /// Whether to cache partially used chunks.
    pub keep: bool,
    /// Cost of reading the shard indexes.
    pub report: Report,
}

impl Located {
    /// Stored chunks that are not decoded yet.
    pub fn to_decode(&self) -> u64 {
        self.pieces.iter().filter(|p| matches!(p.state, State::Stored | State::Inline(_))).count() as u64
    }
}

/// Finds every chunk of every query.
pub(crate) fn locate(queries: &[Query<'_>], options: &ReadOptions) -> Result<Located> {
    let cuts = queries.iter().map(|q| Cuts::new(q.selection, q.array.grid())).collect::<Result<Vec<_>>>()?;
    let tables = load_tables(queries, &cuts)?;
    let depths = queries.iter().map(|q| options.precision.of(q.array)).collect::<Result<Vec<_>>>()?;
    let keep = options.cache && partial_bytes(queries, &cuts) <= (super::cache_info().cap / 2) as u64;
    let bound = depths.iter().map(|d| d.bound).fold(0.0, f64::max);
    let (pieces, spans) = (Vec::new(), Vec::new());
    let mut locator = Locator { options, tables: &tables, sources: Sources::default(), pieces, spans, depths, keep };
    let mut report = Report { rtol_bound: bound, ..Report::default() };
    report += locator.indexes_together(queries, &cuts)?;
    for (number, (query, cuts)) in queries.iter().zip(&cuts).enumerate() {
        let number = u32::try_from(number).map_err(|_| too_many())?;
        match query.array.meta().shard {
            None => locator.chunks(number, query.array, cuts)?,
            Some(_) => report += locator.shards(number, query.array, cuts)?,
        }
    }
    let Locator { sources, pieces, spans, depths, keep, .. } = locator;
    let merges = sources.list.iter().map(|s| stores().cost(s).merge()).collect();
    let guessed = HashMap::new();
    Ok(Located { cuts, pieces, spans, sources: sources.list, merges, depths, guessed, keep, report })
}

/// A table for each query, with at least the references that its cuts need.
fn load_tables(queries: &[Query<'_>], cuts: &[Cuts]) -> Result<Vec<Arc<ChunkTable>>> {
    let needs = queries.iter().zip(cuts).map(|(query, cuts)| Ok((query.array, needed(query.array, cuts)?)));
    ArrayView::tables_with(&needs.collect::<Result<Vec<_>>>()?)
}

/// The flat numbers of the references that these cuts need; none if the whole table is loaded anyway.
fn needed(view: &ArrayView, cuts: &Cuts) -> Result<Vec<u64>> {
    let mut flats = Vec::new();
    if !view.is_divided() {
        return Ok(flats);
    }
    let nest = view.meta().shard.as_ref().map(|_| Nest::of(view)).transpose()?;
    let flat = |cut| nest.as_ref().map_or(cuts.chunk_flat(cut), |nest| nest.find(cuts.chunk_flat(cut)).0);
    for flat in (0..cuts.len()).map(flat) {
        if flats.last() != Some(&flat) {
            flats.push(flat);
        }
    }
    Ok(flats)
}

fn too_many() -> Error {
    Error::new(ErrorKind::Memory, "more than 2³² chunks in one read").hint("read the selection in parts")
}

/// Bytes of partially used chunks, which would be cached.
fn partial_bytes(queries: &[Query<'_>], cuts: &[Cuts]) -> u64 {
    queries
        .iter()
        .zip(cuts)
        .map(|(q, c)| (c.len() as u64).saturating_mul(largest_chunk(q.array)))
        .fold(0, u64::saturating_add)
}

fn largest_chunk(view: &ArrayView) -> u64 {
    let elements = view.grid().axes.iter().map(|a| a.extent(0).1).fold(1u64, u64::saturating_mul);
    elements.saturating_mul(view.meta().dtype.size() as u64)
}

struct Locator<'a> {
    options: &'a ReadOptions,
    /// By query.
    tables: &'a [Arc<ChunkTable>],
    sources: Sources<'a>,
    pieces: Vec<Piece>,
    spans: Vec<Span>,
    depths: Vec<Depth>,
    keep: bool,
}

impl<'a> Locator<'a> {
    /// An array whose references are chunks.
    fn chunks(&mut self, query: u32, view: &'a ArrayView, cuts: &Cuts) -> Result<()> {
        let table = self.table(query)?;
        self.reserve(cuts.len())?;
        for cut in 0..cuts.len() {
            let place = table.get(cuts.chunk_flat(cut));
            self.piece(query, view, cuts, cut, place)?;
        }
        Ok(())
    }

    /// An array whose references are shards: the shard indexes locate the chunks.
    fn shards(&mut self, query: u32, view: &'a ArrayView, cuts: &Cuts) -> Result<Report> {
        let nest = Nest::of(view)?;
        let table = self.table(query)?;
        let (indexes, report) = self.indexes(view, table, &nest, cuts)?;
        self.reserve(cuts.len())?;
        let mut last: Option<(u64, &Arc<ShardIndex>, Place)> = None;
        for cut in 0..cuts.len() {
            let (shard, inner) = nest.find(cuts.chunk_flat(cut));
            if last.as_ref().is_none_or(|(known, ..)| *known != shard) {
                last = indexes.get(&shard).map(|index| (shard, index, table.get(shard)));
            }
            let entry = last.as_ref().filter(|(known, ..)| *known == shard).and_then(|(_, index, place)| {
                let (offset, length) = index.get(usize::try_from(inner).ok()?).copied().flatten()?;
                Some(within(place, offset, length))
            });
            self.piece(query, view, cuts, cut, entry.unwrap_or(Place::Missing))?;
        }
        Ok(report)
    }

    fn reserve(&mut self, more: usize) -> Result<()> {
        if self.pieces.len().saturating_add(more) > u32::MAX as usize {
            return Err(too_many());
        }
        let fail = |e| Error::new(ErrorKind::Memory, format!("cannot plan {more} chunks: {e}"));
        self.pieces.try_reserve(more).map_err(fail)?;
        self.spans.try_reserve(more).map_err(fail)
    }

    fn table(&self, query: u32) -> Result<&'a Arc<ChunkTable>> {
        self.tables.get(query as usize).ok_or_else(|| Error::new(ErrorKind::Internal, "a query has no table"))
    }

    fn piece(&mut self, query: u32, view: &'a ArrayView, cuts: &Cuts, cut: usize, place: Place) -> Result<()> {
        let tag = self.pieces.len() as u32; // `reserve` has checked that it fits
        let state = match place {
            Place::Missing => State::Missing,
            Place::Inline(bytes) => State::Inline(bytes),
            Place::Range { object, offset, length } => {
                let planes = self.depths.get(query as usize).map_or(usize::MAX, |depth| depth.planes);
                let key = chunk_key(view.number(), planes, cuts.chunk_flat(cut));
                let cached = if self.keep { chunks().get(key) } else { None };
                let table = self.table(query)?;
                match cached {
                    Some(chunk) => {
                        // Rejects a changed linked file even if its old content is cached.
                        if is_link(table, object) {
                            self.sources.number(view, table, object, self.options)?;
                        }
                        State::Cached(chunk)
                    }
                    None => {
                        let object = self.sources.number(view, table, object, self.options)?;
                        self.spans.push(Span { object, offset, length, tag });
                        State::Stored
                    }
                }
            }
        };
        self.pieces.push(Piece { query, cut: cut as u32, state });
        Ok(())
    }

    /// Puts the shard indexes of several arrays into the cache with one coalesced read: a read for each array would
    /// take the store's latency times the number of arrays.
    fn indexes_together(&mut self, queries: &[Query<'a>], cuts: &[Cuts]) -> Result<Report> {
        let sharded = || {
            let all = queries.iter().zip(cuts).zip(self.tables);
            all.filter(|((query, _), _)| query.array.meta().shard.is_some())
        };
        if sharded().count() < 2 {
            return Ok(Report::default());
        }
        let (mut nests, mut wanted, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        let all: Vec<_> = sharded().collect();
        for ((query, cuts), table) in all {
            let (view, nest) = (query.array, Nest::of(query.array)?);
            let mut seen = HashSet::new();
            for cut in 0..cuts.len() {
                let (shard, _) = nest.find(cuts.chunk_flat(cut));
                if !seen.insert(shard) || indexes().get((view.number(), shard)).is_some() {
                    continue;
                }
                if let Place::Range { object, offset, length } = table.get(shard) {
                    let (at, bytes) = nest.span(offset, length).map_err(|e| named(view, shard, e))?;
                    let object = self.sources.number(view, table, object, self.options)?;
                    spans.push(Span { object, offset: at, length: bytes, tag: wanted.len() as u32 });
                    wanted.push((nests.len(), shard, length));
                }
            }
            nests.push((view, nest));
        }
        let found = |number: usize| nests.get(number).map(|(view, nest)| (*view, nest));
        self.read_indexes(found, &wanted, &spans, |_, _| ())
    }

    /// The indexes of all shards that the cuts touch, from the cache or from one coalesced read.
    fn indexes(
        &mut self,
        view: &'a ArrayView,
        table: &'a Arc<ChunkTable>,
        nest: &Nest,
        cuts: &Cuts,
    ) -> Result<(HashMap<u64, Arc<ShardIndex>>, Report)> {
        let mut found = HashMap::new();
        let mut wanted = Vec::new();
        let mut spans = Vec::new();
        let mut last = None;
        for cut in 0..cuts.len() {
            let (shard, _) = nest.find(cuts.chunk_flat(cut));
            if last == Some(shard) || found.contains_key(&shard) {
                continue;
            }
            last = Some(shard);
            match table.get(shard) {
                Place::Missing => {}
                Place::Inline(bytes) => {
                    let index = nest.parse(nest.slice(&bytes).map_err(|e| named(view, shard, e))?, bytes.len() as u64);
                    found.insert(shard, index.map_err(|e| named(view, shard, e))?);
                    continue;
                }
                Place::Range { object, offset, length } => match indexes().get((view.number(), shard)) {
                    Some(index) => {
                        found.insert(shard, index);
                        continue;
                    }
                    None => {
                        let (at, bytes) = nest.span(offset, length).map_err(|e| named(view, shard, e))?;
                        let object = self.sources.number(view, table, object, self.options)?;
                        spans.push(Span { object, offset: at, length: bytes, tag: wanted.len() as u32 });
                        wanted.push((0, shard, length));
                    }
                },
            }
            found.insert(shard, Arc::from([])); // marked as seen; filled in below
        }
        let read = |shard, index| {
            found.insert(shard, index);
        };
        let report = self.read_indexes(|_| Some((view, nest)), &wanted, &spans, read)?;
        Ok((found, report))
    }

    /// Reads shard indexes and caches them. `wanted`: number of the array, shard and its length.
    fn read_indexes<'n>(
        &self,
        array: impl Fn(usize) -> Option<(&'n ArrayView, &'n Nest<'n>)> + Sync,
        wanted: &[(usize, u64, u64)],
        spans: &[Span],
        mut each: impl FnMut(u64, Arc<ShardIndex>),
    ) -> Result<Report> {
        let merges: Vec<Merge> = self.sources.list.iter().map(|s| stores().cost(s).merge()).collect();
        let requests = coalesce::requests(spans, &merges);
        let parsed = std::sync::Mutex::new(Vec::with_capacity(wanted.len()));
        let report = fetch::fetch(&self.sources.list, &requests, spans, self.options, |request, bytes| {
            for span in request.spans.iter().filter_map(|i| spans.get(*i as usize)) {
                let Some((number, shard, length)) = wanted.get(span.tag as usize) else { continue };
                let Some((view, nest)) = array(*number) else { continue };
                let stored = fetch::part(request, span, bytes)?;
                let index = nest.parse(stored, *length).map_err(|e| named(view, *shard, e))?;
                indexes().put((view.number(), *shard), Arc::clone(&index), index.len() * 24);
                parsed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((*shard, index));
            }
            Ok(())
        })?;
        let parsed = parsed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        parsed.into_iter().for_each(|(shard, index)| each(shard, index));
        Ok(report)
    }
}

fn is_link(table: &ChunkTable, object: u32) -> bool {
    table.objects.get(object as usize).is_some_and(|o| matches!(o.location, Location::Link(_)))
}

/// The location of a chunk inside a shard.
fn within(shard: &Place, offset: u64, length: u64) -> Place {
    match shard {
        Place::Missing => Place::Missing,
        // `parse_index` has checked offset + length against the shard's length.
        Place::Inline(bytes) => Place::Inline(bytes.slice(offset as usize..(offset + length) as usize)),
        Place::Range { object, offset: start, .. } => Place::Range { object: *object, offset: start + offset, length },
    }
}

fn named(view: &ArrayView, shard: u64, error: Error) -> Error {
    let coords = view.meta().grid.coords(shard);
    Error { message: format!("{}: shard {coords:?}: {}", view.path(), error.message), ..error }
}

/// Relation of inner chunks and shards.
struct Nest<'a> {
    shard: &'a icecore_chunk::Shard,
    /// Per axis: inner chunks of the array, inner chunks per shard, shards of the array.
    axes: Vec<(u64, u64, u64)>,
    chunks: usize,
}

impl<'a> Nest<'a> {
    fn of(view: &'a ArrayView) -> Result<Self> {
        let meta = view.meta();
        let shard = meta.shard.as_ref().ok_or_else(|| Error::new(ErrorKind::Internal, "not a sharded array"))?;
        let shape = meta.grid.chunk_shape(&vec![0; meta.shape.len()]);
        let per_shard = shard.counts(&shape);
        let chunks = per_shard.iter().try_fold(1u64, |n, c| n.checked_mul(*c)).and_then(|n| usize::try_from(n).ok());
        let chunks = chunks.ok_or_else(|| {
            Error::new(ErrorKind::Format, format!("{}: a shard of {per_shard:?} chunks is too large", view.path()))
        })?;
        let axes = view
            .grid()
            .counts()
            .into_iter()
            .zip(per_shard)
            .zip(meta.grid.counts())
            .map(|((a, b), c)| (a, b.max(1), c))
            .collect();
        Ok(Self { shard, axes, chunks })
    }

    /// Converts a flat inner chunk number to (flat shard number, flat number of the chunk in the shard).
    fn find(&self, flat: u64) -> (u64, u64) {
        let (mut rest, mut shard, mut inner) = (flat, 0, 0);
        let (mut shard_stride, mut inner_stride) = (1, 1);
        for (count, per_shard, shards) in self.axes.iter().rev() {
            let coordinate = rest % count.max(&1);
            rest /= count.max(&1);
            shard += coordinate / per_shard * shard_stride;
            inner += coordinate % per_shard * inner_stride;
            shard_stride *= shards;
            inner_stride *= per_shard;
        }
        (shard, inner)
    }

    /// The position of the index in an object, given the position of the shard.
    fn span(&self, offset: u64, length: u64) -> Result<(u64, u64)> {
        let bytes = self.shard.index_bytes(self.chunks) as u64;
        let slack = length.checked_sub(bytes).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, format!("it has {length} bytes, its index alone needs {bytes}"))
        })?;
        Ok((if self.shard.index_at_end { offset + slack } else { offset }, bytes))
    }

    fn slice<'b>(&self, shard: &'b [u8]) -> Result<&'b [u8]> {
        let (at, bytes) = self.span(0, shard.len() as u64)?;
        shard
            .get(at as usize..(at + bytes) as usize)
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, "the shard is cut off"))
    }

    fn parse(&self, stored: &[u8], shard_bytes: u64) -> Result<Arc<ShardIndex>> {
        Ok(self.shard.parse_index(stored, self.chunks, Some(shard_bytes))?.into())
    }
}

/// The sources of a read: one per distinct location, shared by all arrays.
#[derive(Default)]
struct Sources<'a> {
    list: Vec<Source>,
    by_location: HashMap<(&'a str, bool, &'a str), u32>,
    last: Option<(*const ChunkTable, u32, u32)>,
}

impl<'a> Sources<'a> {
    fn number(
        &mut self,
        view: &'a ArrayView,
        table: &'a Arc<ChunkTable>,
        object: u32,
        options: &ReadOptions,
    ) -> Result<u32> {
        let key = (Arc::as_ptr(table), object);
        if let Some((known, was, number)) = self.last
            && (known, was) == key
        {
            return Ok(number);
        }
        let entry = table
            .objects
            .get(object as usize)
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("{}: a chunk has no object", view.path())))?;
        let location = match &entry.location {
            Location::Native(name) => (view.repo().url(), true, name.as_str()),
            Location::Link(url) => (view.repo().url(), false, url.as_str()),
        };
        let number = match self.by_location.get(&location) {
            Some(number) => *number,
            None => {
                let source = stores().open(view.repo(), view.snapshot(), entry)?;
                let number = u32::try_from(self.list.len()).map_err(|_| too_many())?;
                self.list.push(options.wrap.as_ref().map_or(source.clone(), |wrap| wrap(source)));
                self.by_location.insert(location, number);
                number
            }
        };
        self.last = Some((key.0, key.1, number));
        Ok(number)
    }
}
