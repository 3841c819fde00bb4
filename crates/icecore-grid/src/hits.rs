//! The chunks that one axis of a selection touches, and the elements taken from each.

use std::sync::Arc;

use crate::chunk_grid::Axis;
use crate::pick::Pick;
use crate::run::Scatter;

/// One chunk along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub chunk: u64,
    /// Stored length of the chunk along the axis.
    pub full: u64,
    /// Number of elements taken along the axis, at least 1.
    pub n: u64,
    pub taken: Taken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Elements at `src`, `src + src_step`, … of the chunk go to `dst`, `dst + dst_step`, ….
    Step { src: u64, src_step: u64, dst: u64, dst_step: i64 },
    /// Entries of the axis's table, from `lo`.
    Scatter { lo: usize },
}

/// All chunks that one axis touches, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hits {
    /// Equally spaced elements on equal chunks: computed on demand, whatever the length of the axis.
    Even(Even),
    /// Stored explicitly: rectilinear axes and lists.
    Listed { hits: Vec<Hit>, table: Option<Arc<Scatter>> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Even {
    chunk: u64,
    first: u64,
    step: u64,
    count: u64,
    dst_first: u64,
    dst_step: i64,
}

impl Hits {
    pub fn new(number: usize, axis: &Axis, pick: &Pick) -> Self {
        match (pick, axis) {
            (&Pick::Range { first, step, count, dst_first, dst_step }, &Axis::Regular { chunk, .. }) => {
                Self::Even(Even { chunk, first, step, count, dst_first, dst_step })
            }
            (&Pick::Range { first, step, count, dst_first, dst_step }, Axis::Rectilinear { .. }) => {
                let even = Even { chunk: 0, first, step, count, dst_first, dst_step };
                Self::Listed { hits: walk_range(axis, even), table: None }
            }
            (Pick::List { values, dst_step }, _) => walk_list(number, axis, values, *dst_step),
        }
    }

    /// Number of chunks.
    pub fn len(&self) -> u64 {
        match self {
            Self::Even(Even { count: 0, .. }) => 0,
            Self::Even(even) if even.step > even.chunk => even.count,
            Self::Even(even) => (even.first + even.step * (even.count - 1)) / even.chunk - even.first / even.chunk + 1,
            Self::Listed { hits, .. } => hits.len() as u64,
        }
    }

    /// The k-th chunk; k < `len`.
    #[inline]
    pub fn get(&self, k: u64) -> Hit {
        match self {
            Self::Even(even) => even.get(k),
            Self::Listed { hits, .. } => hits[k as usize],
        }
    }

    pub fn table(&self) -> Option<&Arc<Scatter>> {
        match self {
            Self::Even(_) => None,
            Self::Listed { table, .. } => table.as_ref(),
        }
    }
}

impl Even {
    #[inline]
    fn get(&self, k: u64) -> Hit {
        if self.step > self.chunk {
            // The step is at least a chunk: each element is in a chunk of its own.
            let index = self.first + self.step * k;
            return self.hit(index / self.chunk, k, 1, index % self.chunk);
        }
        let chunk = self.first / self.chunk + k;
        let start = chunk * self.chunk;
        let from = self.position(start);
        let n = self.position(start.saturating_add(self.chunk)).min(self.count) - from;
        self.hit(chunk, from, n, self.first + self.step * from - start)
    }

    /// The first position whose source index is not below `bound`.
    #[inline]
    fn position(&self, bound: u64) -> u64 {
        let distance = bound.saturating_sub(self.first);
        if self.step == 1 { distance } else { distance.div_ceil(self.step) }
    }

    #[inline]
    fn hit(&self, chunk: u64, from: u64, n: u64, src: u64) -> Hit {
        let taken = Taken::Step { src, src_step: self.step, dst: self.dst(from), dst_step: self.dst_step };
        Hit { chunk, full: self.chunk, n, taken }
    }

    fn dst(&self, position: u64) -> u64 {
        self.dst_first.wrapping_add_signed(self.dst_step.wrapping_mul(position as i64))
    }
}

fn walk_range(axis: &Axis, range: Even) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut at = 0;
    while at < range.count {
        let index = range.first + range.step * at;
        let (chunk, start, full) = axis.find(index);
        let src = index - start;
        let n = (full - src).div_ceil(range.step).min(range.count - at);
        hits.push(Hit { full, ..range.hit(chunk, at, n, src) });
        at += n;
    }
    hits
}

fn walk_list(number: usize, axis: &Axis, values: &[u64], dst_step: u64) -> Hits {
    // Most long lists are ascending and are not copied: allocating the copy would cost more than this check.
    let mut order: Vec<(u64, u64)> = vec![];
    if !values.is_sorted() {
        order.extend(values.iter().copied().zip(0_u64..));
        order.sort_unstable();
    }
    let at = |k: usize| if order.is_empty() { (values[k], k as u64) } else { order[k] };
    let count = values.len();
    let mut table = Scatter { axes: vec![number], index: Vec::with_capacity(count), dst: Vec::with_capacity(count) };
    let mut hits = Vec::new();
    let mut lo = 0;
    while lo < count {
        let (chunk, start, full) = axis.find(at(lo).0);
        let mut hi = lo;
        while hi < count && (hi == lo || at(hi).0 - start < full) {
            let (index, position) = at(hi);
            table.index.push(index - start);
            table.dst.push(position * dst_step);
            hi += 1;
        }
        let taken = as_step(&table.index[lo..], &table.dst[lo..]).unwrap_or(Taken::Scatter { lo });
        hits.push(Hit { chunk, full, n: (hi - lo) as u64, taken });
        lo = hi;
    }
    Hits::Listed { hits, table: Some(Arc::new(table)) }
}

/// Converts a stretch of a list to a strided loop, if it is one.
fn as_step(index: &[u64], dst: &[u64]) -> Option<Taken> {
    let (src, to) = (*index.first()?, *dst.first()?);
    let (src_step, dst_step) = match (index.get(1), dst.get(1)) {
        (Some(&next), Some(&next_to)) => (next - src, next_to.wrapping_sub(to) as i64),
        _ => (1, 0),
    };
    let even = index.windows(2).all(|pair| pair[1] - pair[0] == src_step)
        && dst.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) as i64 == dst_step);
    even.then_some(Taken::Step { src, src_step, dst: to, dst_step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pick::Progression;

    fn pick(first: u64, step: u64, count: u64, reversed: bool) -> Pick {
        Pick::range(Progression { first, step, count, reversed }, 1)
    }

    #[test]
    fn an_axis_of_any_length_costs_no_memory() {
        let axis = Axis::Regular { len: 1 << 60, chunk: 1 };
        let hits = Hits::new(0, &axis, &pick(0, 1, 1 << 60, false));
        assert_eq!(hits.len(), 1 << 60);
        assert_eq!(hits.get(1 << 59).chunk, 1 << 59);
        let end = Hits::new(0, &Axis::Regular { len: u64::MAX, chunk: u64::MAX - 1 }, &pick(u64::MAX - 2, 1, 2, false));
        assert_eq!((end.len(), end.get(1).chunk, end.get(1).n), (2, 1, 1));
    }

    #[test]
    fn both_kinds_of_axis_agree() {
        let regular = Axis::Regular { len: 23, chunk: 5 };
        let listed = Axis::Rectilinear { len: 23, bounds: vec![0, 5, 10, 15, 20, 25] };
        for (first, step, count, reversed) in
            [(0, 1, 23, false), (3, 4, 5, true), (1, 7, 4, false), (22, 1, 1, false), (2, 5, 4, true)]
        {
            let pick = pick(first, step, count, reversed);
            let (a, b) = (Hits::new(0, &regular, &pick), Hits::new(0, &listed, &pick));
            let all = |hits: &Hits| (0..hits.len()).map(|k| hits.get(k)).collect::<Vec<_>>();
            assert_eq!(all(&a), all(&b), "{pick:?}");
        }
    }

    #[test]
    fn stretches_of_lists_become_strides() {
        let axis = Axis::Regular { len: 100, chunk: 10 };
        let hits = Hits::new(0, &axis, &Pick::list(vec![3, 4, 5, 27, 21, 27], 2));
        let Hits::Listed { hits, .. } = hits else { panic!("a list is written down") };
        assert_eq!(hits[0].taken, Taken::Step { src: 3, src_step: 1, dst: 0, dst_step: 2 });
        assert_eq!((hits[1].chunk, hits[1].n, hits[1].taken), (2, 3, Taken::Scatter { lo: 3 }));
    }
}
