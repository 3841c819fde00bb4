//! Write elements chunk by chunk; a chunk that is written in part is read first.

use std::collections::BTreeMap;
use std::sync::Arc;

use icecore::chunk::ArrayMeta;
use icecore::grid::{Axis, Error, ErrorKind, Region, Result};
use icecore::read::ArrayView;
use icecore::session::{Pick, Picks, Values};
use icecore::write::Data;

use super::state::State;
use crate::hdf::incoming::Elements;
use crate::hdf::select::check_size;

/// Maximum bytes of stored elements that a change reads.
const MOST: u64 = 256 << 20;

/// Destination of elements, in the order in which they are sent.
pub(crate) enum Places {
    Picks(Picks),
    /// Coordinates, one point after another.
    Points(Vec<u64>),
}

/// One axis of a chunk: its start, its length, and pairs of (position in the chunk, index in the selection).
struct Cut {
    start: u64,
    len: u64,
    pairs: Vec<(u64, u64)>,
}

fn extent(axis: &Axis, len: u64, at: u64) -> (u64, u64) {
    let (_, start, chunk) = axis.find(at);
    (start, chunk.min(len - start))
}

fn cuts(axis: &Axis, len: u64, pick: &Pick) -> Vec<Cut> {
    let coordinates: Box<dyn Iterator<Item = u64>> = match pick {
        Pick::Range { start, step, count } => Box::new((0..*count).map(move |i| start + i * step)),
        Pick::List(list) => Box::new(list.iter().copied()),
    };
    let mut cuts: BTreeMap<u64, Cut> = BTreeMap::new();
    let mut last = (0, 0);
    for (number, at) in (0..).zip(coordinates) {
        if at < last.0 || at >= last.0 + last.1 {
            last = extent(axis, len, at);
        }
        let cut = cuts.entry(last.0).or_insert_with(|| Cut { start: last.0, len: last.1, pairs: Vec::new() });
        cut.pairs.push((at - last.0, number));
    }
    cuts.into_values().collect()
}

/// Elements of one chunk: (position in the chunk, index among the sent elements).
struct Patch {
    region: Region,
    pairs: Vec<(usize, usize)>,
}

impl Patch {
    fn is_whole(&self) -> bool {
        let mut seen = vec![false; self.region.shape.iter().product::<u64>() as usize];
        for (at, _) in &self.pairs {
            if let Some(flag) = seen.get_mut(*at) {
                *flag = true;
            }
        }
        seen.iter().all(|flag| *flag)
    }
}

fn of_picks(meta: &ArrayMeta, picks: &Picks, each: &mut dyn FnMut(Patch) -> Result<()>) -> Result<()> {
    if picks.is_empty() {
        return Ok(());
    }
    let axes: Vec<Vec<Cut>> = meta
        .grid
        .axes
        .iter()
        .zip(&meta.shape)
        .zip(&picks.axes)
        .map(|((axis, len), pick)| cuts(axis, *len, pick))
        .collect();
    let counts: Vec<u64> = picks.out_shape();
    let mut at = vec![0_usize; axes.len()];
    loop {
        let chosen: Vec<&Cut> = axes.iter().zip(&at).filter_map(|(cuts, at)| cuts.get(*at)).collect();
        let region = Region {
            start: chosen.iter().map(|cut| cut.start).collect(),
            shape: chosen.iter().map(|cut| cut.len).collect(),
        };
        let mut pairs: Vec<(usize, usize)> = vec![(0, 0)];
        for (cut, count) in chosen.iter().zip(&counts) {
            pairs = pairs
                .iter()
                .flat_map(|(to, from)| {
                    cut.pairs
                        .iter()
                        .map(move |(t, f)| (to * cut.len as usize + *t as usize, from * *count as usize + *f as usize))
                })
                .collect();
        }
        each(Patch { region, pairs })?;
        let mut axis = axes.len();
        loop {
            if axis == 0 {
                return Ok(());
            }
            axis -= 1;
            let (Some(place), Some(cuts)) = (at.get_mut(axis), axes.get(axis)) else { return Ok(()) };
            *place += 1;
            if *place < cuts.len() {
                break;
            }
            *place = 0;
        }
    }
}

fn of_points(meta: &ArrayMeta, points: &[u64], each: &mut dyn FnMut(Patch) -> Result<()>) -> Result<()> {
    let rank = meta.shape.len().max(1);
    let mut patches: BTreeMap<Vec<u64>, Patch> = BTreeMap::new();
    for (number, point) in points.chunks_exact(rank).enumerate() {
        let (mut start, mut shape, mut to) = (Vec::new(), Vec::new(), 0);
        for ((axis, len), at) in meta.grid.axes.iter().zip(&meta.shape).zip(point) {
            if at >= len {
                return Err(Error::new(
                    ErrorKind::Selection,
                    format!("the point {point:?} is outside {:?}", meta.shape),
                )
                .hint("coordinates count from 0"));
            }
            let (first, count) = extent(axis, *len, *at);
            to = to * count as usize + (at - first) as usize;
            start.push(first);
            shape.push(count);
        }
        let region = Region { start: start.clone(), shape };
        patches.entry(start).or_insert(Patch { region, pairs: Vec::new() }).pairs.push((to, number));
    }
    patches.into_values().try_for_each(each)
}

/// Copies elements to their positions. `field`: only these bytes of each element, which `elements` then consists of.
fn patched(old: Elements, new: &Elements, pairs: &[(usize, usize)]) -> Result<Elements> {
    let lost = || Error::new(ErrorKind::Internal, "elements of two kinds, or outside of their chunk");
    match (old, new) {
        (Elements::Fixed { mut bytes, size }, Elements::Fixed { bytes: from, size: other }) if size == *other => {
            for (to, number) in pairs {
                let element = from.get(number * size..(number + 1) * size).ok_or_else(lost)?;
                bytes.get_mut(to * size..(to + 1) * size).ok_or_else(lost)?.copy_from_slice(element);
            }
            Ok(Elements::Fixed { bytes, size })
        }
        (Elements::Variable(mut elements), Elements::Variable(from)) => {
            for (to, number) in pairs {
                elements.get_mut(*to).ok_or_else(lost)?.clone_from(from.get(*number).ok_or_else(lost)?);
            }
            Ok(Elements::Variable(elements))
        }
        _ => Err(lost()),
    }
}

fn blank(count: usize, elements: &Elements) -> Elements {
    match elements {
        Elements::Fixed { size, .. } => Elements::Fixed { bytes: vec![0; count * size], size: *size },
        Elements::Variable(_) => Elements::Variable(vec![Vec::new(); count]),
    }
}

pub(super) fn from_values(values: Values) -> Result<Elements> {
    if !values.dtype.is_vlen() {
        let size = values.dtype.size();
        return Ok(Elements::Fixed { bytes: values.bytes, size });
    }
    let views = values.bytes.chunks_exact(values.dtype.size());
    Ok(Elements::Variable(views.map(|view| values.resolve(view).map(<[u8]>::to_vec)).collect::<Result<_>>()?))
}

fn data(elements: Elements) -> Data {
    match elements {
        Elements::Fixed { bytes, .. } => Data::Fixed(Box::new(bytes)),
        Elements::Variable(elements) => {
            let (mut blob, mut ends) = (Vec::new(), Vec::new());
            for element in elements {
                blob.extend(element);
                ends.push(blob.len());
            }
            Data::Variable { blob, ends }
        }
    }
}

impl State {
    /// The array of a dataset, including uncommitted writes.
    pub(crate) fn view(&mut self, path: &str) -> Result<Arc<ArrayView>> {
        self.refresh()?;
        self.session.array(path)
    }

    /// The elements at some positions.
    pub(crate) fn read(&mut self, path: &str, places: &Places) -> Result<Elements> {
        let view = self.view(path)?;
        let count = match places {
            Places::Picks(picks) => picks.len(),
            Places::Points(points) => points.len() as u64,
        };
        check_size(count, view.meta().dtype.size(), MOST)?;
        let values = match places {
            Places::Picks(picks) => self.session.read(&view, picks)?,
            Places::Points(points) => {
                let rank = view.meta().shape.len().max(1);
                let columns: Vec<Vec<u64>> =
                    (0..rank).map(|axis| points.iter().skip(axis).step_by(rank).copied().collect()).collect();
                let selection = icecore::grid::Selection::points(&view.meta().shape, &columns)?;
                self.session.read_into(&view, &selection, Vec::new())?.0
            }
        };
        from_values(values)
    }

    /// Writes elements.
    ///
    /// # Errors
    /// `mismatch` where their number is another; `selection` for points outside; `invalid` for texts that are not UTF-8 in
    /// a plain Zarr array. Then nothing is written.
    pub(crate) fn write(&mut self, path: &str, places: &Places, elements: &Elements) -> Result<()> {
        if let Places::Points(points) = places {
            // Before the array is converted, and before any element is written.
            of_points(self.view(path)?.meta(), points, &mut |_| Ok(()))?;
        }
        self.widen(path, elements)?;
        let view = self.view(path)?;
        let meta = Arc::new(view.meta().clone());
        let session = self.session.clone();
        self.has_written = true;
        self.stale = true;
        let writing = self.writing()?;
        let mut each = |patch: Patch| {
            let count = patch.region.shape.iter().product::<u64>() as usize;
            let old = if patch.is_whole() {
                blank(count, elements)
            } else {
                let axes = patch.region.start.iter().zip(&patch.region.shape);
                let axes = axes.map(|(start, count)| Pick::Range { start: *start, step: 1, count: *count }).collect();
                let reduced = vec![false; meta.shape.len()];
                from_values(session.read(&view, &Picks { shape: meta.shape.clone(), axes, reduced })?)?
            };
            let new = patched(old, elements, &patch.pairs)?;
            writing.write(path, &meta, patch.region, data(new))
        };
        let queued = match places {
            Places::Picks(picks) => of_picks(&meta, picks, &mut each),
            Places::Points(points) => of_points(&meta, points, &mut each),
        };
        let written = queued.and_then(|()| writing.flush());
        if written.is_err() {
            // None of the request's elements are kept, and the next commit does not fail because of them.
            writing.discard(path);
        }
        written
    }
}
