//! explain: the plan of a read as a value, before any data is fetched.

use icecore_grid::Request;

use super::Query;
use super::fetch::sent;
use super::locate::{Located, State};
use crate::store::stores;

/// Plan of a read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Requests for chunks, without those for shard indexes.
    pub requests: u64,
    pub bytes_wanted: u64,
    pub bytes_fetched: u64,
    /// Total bytes of the chunks that will be decoded.
    pub bytes_decoded: u64,
    /// Bytes of the result.
    pub bytes_out: u64,
    pub chunks: u64,
    pub chunks_missing: u64,
    pub chunks_inline: u64,
    pub chunks_cached: u64,
    /// Preceding requests: for shard indexes and tables of planes.
    pub index_requests: u64,
    pub index_bytes: u64,
    /// Maximum relative error of a number of the result; 0: exact.
    pub rtol_bound: f64,
    pub objects: Vec<ObjectPlan>,
}

/// The part of a plan for one file or object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectPlan {
    pub name: String,
    pub requests: u64,
    pub bytes_wanted: u64,
    pub bytes_fetched: u64,
    /// Assumed seconds to the first byte, bytes per second of a connection, and the longest gap that is read.
    pub latency: f64,
    pub bandwidth: f64,
    pub gap: u64,
}

pub(crate) fn explain(queries: &[Query<'_>], located: &Located, requests: &[Request]) -> Plan {
    let mut plan = Plan {
        requests: requests.iter().map(|request| requests_of(located, request)).sum(),
        bytes_wanted: located.spans.iter().map(|s| s.length).sum(),
        bytes_fetched: requests.iter().map(|r| r.length).sum(),
        bytes_out: queries.iter().map(|q| q.selection.out_len().saturating_mul(q.itemsize() as u64)).sum(),
        chunks: located.pieces.len() as u64,
        index_requests: located.report.requests,
        index_bytes: located.report.bytes_fetched,
        rtol_bound: located.report.rtol_bound,
        objects: objects(located, requests),
        ..Plan::default()
    };
    for piece in &located.pieces {
        match piece.state {
            State::Missing => plan.chunks_missing += 1,
            State::Cached(_) => plan.chunks_cached += 1,
            State::Inline(_) => plan.chunks_inline += 1,
            State::Stored => {}
        }
        if matches!(piece.state, State::Stored | State::Inline(_))
            && let Some(query) = queries.get(piece.query as usize)
        {
            let flat = located.cuts.get(piece.query as usize).map_or(0, |c| c.chunk_flat(piece.cut as usize));
            let shape = query.array.grid().chunk_shape(&query.array.grid().coords(flat));
            plan.bytes_decoded += shape.iter().product::<u64>().saturating_mul(query.itemsize() as u64);
        }
    }
    plan
}

fn requests_of(located: &Located, request: &Request) -> u64 {
    located.sources.get(request.object as usize).map_or(1, |source| sent(source, request))
}

fn objects(located: &Located, requests: &[Request]) -> Vec<ObjectPlan> {
    let mut objects: Vec<ObjectPlan> = located
        .sources
        .iter()
        .map(|source| {
            let cost = stores().cost(source);
            ObjectPlan {
                name: source.name().to_owned(),
                requests: 0,
                bytes_wanted: 0,
                bytes_fetched: 0,
                latency: cost.latency(),
                bandwidth: cost.bandwidth(),
                gap: cost.merge().gap,
            }
        })
        .collect();
    for request in requests {
        if let Some(object) = objects.get_mut(request.object as usize) {
            object.requests += requests_of(located, request);
            object.bytes_fetched += request.length;
        }
    }
    for span in &located.spans {
        if let Some(object) = objects.get_mut(span.object as usize) {
            object.bytes_wanted += span.length;
        }
    }
    objects.retain(|o| o.requests > 0);
    objects
}
