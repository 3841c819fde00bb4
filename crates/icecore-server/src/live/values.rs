//! Write elements chunk by chunk; a chunk that is written in part is read first.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use icecore::cancel;
use icecore::chunk::ArrayMeta;
use icecore::grid::{Axis, Error, ErrorKind, Region, Result};
use icecore::read::ArrayView;
use icecore::session::{Pick, Picks, Values};
use icecore::write::Data;

use super::state::State;
use crate::hdf5::incoming::Elements;
use crate::http::size::check_size;

/// Maximum bytes of stored elements that a change reads.
const MOST: u64 = 256 << 20;

/// Destination of elements, in the order in which they are sent.
pub(crate) enum Places {
    Picks(Picks),
    /// Coordinates, one point after another.
    Points(Vec<u64>),
}

/// A region of a chunk, and the elements in it: their places and their numbers in the request.
type Moved = (Region, Vec<(usize, usize)>);

/// One axis of a chunk: its start, its length, and what of the selection lies in it.
struct Cut {
    start: u64,
    len: u64,
    along: Along,
}

/// Pairs of (position in the chunk, index in the selection).
enum Along {
    Range { position: u64, step: u64, index: u64, count: u64 },
    List(Vec<(u64, u64)>),
}

impl Along {
    fn len(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(pairs) => pairs.len() as u64,
        }
    }

    fn pair(&self, number: u64) -> (u64, u64) {
        match self {
            Self::Range { position, step, index, .. } => (position + number * step, index + number),
            Self::List(pairs) => pairs.get(number as usize).copied().unwrap_or_default(),
        }
    }

    /// Whether it has every position of an axis of this length.
    fn covers(&self, len: u64) -> bool {
        match self {
            Self::Range { count, .. } => *count == len,
            Self::List(pairs) => pairs.iter().map(|(position, _)| position).collect::<HashSet<_>>().len() as u64 == len,
        }
    }
}

fn extent(axis: &Axis, len: u64, at: u64) -> (u64, u64) {
    let (_, start, chunk) = axis.find(at);
    (start, chunk.min(len - start))
}

/// The chunks of an axis that a selection touches.
fn cuts(axis: &Axis, len: u64, pick: &Pick) -> Result<Vec<Cut>> {
    match pick {
        Pick::Range { start, step, count } => {
            let (mut cuts, mut index) = (Vec::new(), 0);
            while index < *count {
                let at = start + index * step;
                let (first, long) = extent(axis, len, at);
                let here = ((first + long - 1 - at) / step + 1).min(count - index);
                let along = Along::Range { position: at - first, step: *step, index, count: here };
                cuts.push(Cut { start: first, len: long, along });
                check_chunks(cuts.len())?;
                index += here;
            }
            Ok(cuts)
        }
        Pick::List(list) => {
            let mut cuts: BTreeMap<u64, (u64, Vec<(u64, u64)>)> = BTreeMap::new();
            for (index, at) in (0..).zip(list) {
                let (first, long) = extent(axis, len, *at);
                cuts.entry(first).or_insert((long, Vec::new())).1.push((at - first, index));
            }
            check_chunks(cuts.len())?;
            let cut = |(start, (len, pairs))| Cut { start, len, along: Along::List(pairs) };
            Ok(cuts.into_iter().map(cut).collect())
        }
    }
}

/// Maximum number of chunks of a request.
const MOST_CHUNKS: usize = 1 << 20;

fn check_chunks(count: usize) -> Result<()> {
    if count <= MOST_CHUNKS {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Memory, format!("the selection has more than {MOST_CHUNKS} chunks"));
    Err(error.hint("write fewer elements at a time, or choose larger chunks"))
}

/// Elements of one chunk.
struct Patch<'a> {
    region: Region,
    pairs: Pairs<'a>,
}

/// Pairs of (position in the chunk, index among the sent elements).
enum Pairs<'a> {
    /// All combinations of the axes, and the counts of the selection.
    Product(Vec<&'a Cut>, &'a [u64]),
    List(Vec<(usize, usize)>),
}

impl Pairs<'_> {
    fn each(&self, work: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()> {
        match self {
            Self::List(pairs) => pairs.iter().try_for_each(|(to, from)| work(*to, *from)),
            Self::Product(cuts, counts) => combined(cuts, counts, (0, 0), work),
        }
    }
}

fn combined(
    cuts: &[&Cut],
    counts: &[u64],
    (to, from): (u64, u64),
    work: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let (Some((cut, inner)), Some((count, counts))) = (cuts.split_first(), counts.split_first()) else {
        return work(to as usize, from as usize);
    };
    (0..cut.along.len()).try_for_each(|number| {
        let (position, index) = cut.along.pair(number);
        combined(inner, counts, (to * cut.len + position, from * count + index), work)
    })
}

impl Patch<'_> {
    fn is_whole(&self) -> bool {
        match &self.pairs {
            Pairs::Product(cuts, _) => cuts.iter().all(|cut| cut.along.covers(cut.len)),
            Pairs::List(pairs) => {
                let places: HashSet<usize> = pairs.iter().map(|(to, _)| *to).collect();
                places.len() as u64 == self.region.shape.iter().product::<u64>()
            }
        }
    }
}

fn of_picks(meta: &ArrayMeta, picks: &Picks, each: &mut dyn FnMut(Patch<'_>) -> Result<()>) -> Result<()> {
    if picks.is_empty() {
        return Ok(());
    }
    let axes = meta.grid.axes.iter().zip(&meta.shape).zip(&picks.axes);
    let axes: Vec<Vec<Cut>> = axes.map(|((axis, len), pick)| cuts(axis, *len, pick)).collect::<Result<_>>()?;
    check_chunks(axes.iter().fold(1_usize, |all, cuts| all.saturating_mul(cuts.len())))?;
    let counts: Vec<u64> = picks.out_shape();
    let mut at = vec![0_usize; axes.len()];
    loop {
        let chosen: Vec<&Cut> = axes.iter().zip(&at).filter_map(|(cuts, at)| cuts.get(*at)).collect();
        let region = Region {
            start: chosen.iter().map(|cut| cut.start).collect(),
            shape: chosen.iter().map(|cut| cut.len).collect(),
        };
        each(Patch { region, pairs: Pairs::Product(chosen, &counts) })?;
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

fn of_points(meta: &ArrayMeta, points: &[u64], each: &mut dyn FnMut(Patch<'_>) -> Result<()>) -> Result<()> {
    let rank = meta.shape.len().max(1);
    let mut patches: BTreeMap<Vec<u64>, Moved> = BTreeMap::new();
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
        patches.entry(start).or_insert((region, Vec::new())).1.push((to, number));
    }
    check_chunks(patches.len())?;
    patches.into_values().try_for_each(|(region, pairs)| each(Patch { region, pairs: Pairs::List(pairs) }))
}

/// Copies elements to their positions. `field`: only these bytes of each element, which `elements` then consists of.
fn patched(old: Elements, new: &Elements, pairs: &Pairs<'_>) -> Result<Elements> {
    let lost = || Error::new(ErrorKind::Internal, "elements of two kinds, or outside of their chunk");
    match (old, new) {
        (Elements::Fixed { mut bytes, size }, Elements::Fixed { bytes: from, size: other }) if size == *other => {
            pairs.each(&mut |to, number| {
                let element = from.get(number * size..(number + 1) * size).ok_or_else(lost)?;
                bytes.get_mut(to * size..(to + 1) * size).ok_or_else(lost)?.copy_from_slice(element);
                Ok(())
            })?;
            Ok(Elements::Fixed { bytes, size })
        }
        (Elements::Variable(mut elements), Elements::Variable(from)) => {
            pairs.each(&mut |to, number| {
                elements.get_mut(to).ok_or_else(lost)?.clone_from(from.get(number).ok_or_else(lost)?);
                Ok(())
            })?;
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
        let mut each = |patch: Patch<'_>| {
            cancel::check()?;
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
