//! Indexing by definition: for each element of the result, where it comes from. Slow, and shares no code with the crate.

use icecore_grid::{ChunkGrid, Cut, Cuts, Index, Mode, Selection};

/// Shape of the result, and for each of its elements the flat number of the source element; `None`: refused.
pub type Picked = Option<(Vec<u64>, Vec<usize>)>;

/// What one source axis is indexed with.
enum Axis {
    Whole(Vec<usize>),
    One(usize),
    List { shape: Vec<usize>, values: Vec<i64> },
}

fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// All positions of an array of this shape, in C order.
fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut out = vec![vec![]];
    for &len in shape {
        out = out.iter().flat_map(|at| (0..len).map(move |k| [&at[..], &[k]].concat())).collect();
    }
    out
}

fn flat(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |flat, (len, at)| flat * len + at)
}

fn wrap(at: i64, len: usize) -> Option<usize> {
    let at = if at < 0 { at + len as i64 } else { at };
    usize::try_from(at).ok().filter(|&at| at < len)
}

fn slice(len: usize, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Option<Vec<usize>> {
    let (len, step) = (len as i64, step.unwrap_or(1));
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let bound = |at: i64| if at < 0 { (at + len).max(low) } else { at.min(high) };
    let start = start.map_or(if step > 0 { low } else { high }, bound);
    let stop = stop.map_or(if step > 0 { high } else { low }, bound);
    let mut out = vec![];
    let mut at = start;
    while step != 0 && ((step > 0 && at < stop) || (step < 0 && at > stop)) {
        out.push(at as usize);
        at += step;
    }
    (step != 0).then_some(out)
}

/// One entry per axis; an ellipsis for zero axes still separates its neighbours.
fn expand(shape: &[usize], indexes: &[Index]) -> Option<(Vec<Axis>, Option<usize>)> {
    let consumed = |index: &Index| match index {
        Index::Mask { shape, .. } => shape.len(),
        Index::Ellipsis => 0,
        _ => 1,
    };
    let used: usize = indexes.iter().map(consumed).sum();
    let mut out = vec![];
    let (mut gap, mut ellipses) = (None, 0);
    for index in indexes {
        let axis = out.len();
        let len = || shape.get(axis).copied();
        match index {
            Index::At(at) => out.push(Axis::One(wrap(*at, len()?)?)),
            Index::Slice { start, stop, step } => out.push(Axis::Whole(slice(len()?, *start, *stop, *step)?)),
            Index::List { shape, values } if shape.is_empty() => out.push(Axis::One(wrap(values[0], len()?)?)),
            Index::List { shape, values } => {
                len()?;
                out.push(Axis::List { shape: shape.iter().map(|&n| n as usize).collect(), values: values.clone() });
            }
            Index::Mask { shape: of, values } => {
                let of: Vec<usize> = of.iter().map(|&n| n as usize).collect();
                if of.is_empty() || shape.get(axis..axis + of.len()) != Some(&of[..]) {
                    return None;
                }
                let hits: Vec<_> = positions(&of).into_iter().filter(|at| values[flat(&of, at)]).collect();
                for k in 0..of.len() {
                    let values = hits.iter().map(|at| at[k] as i64).collect();
                    out.push(Axis::List { shape: vec![hits.len()], values });
                }
            }
            Index::Ellipsis => {
                ellipses += 1;
                let missing = shape.len().checked_sub(used)?;
                if missing == 0 {
                    gap = Some(axis);
                }
                out.extend(shape[axis..axis + missing].iter().map(|&len| Axis::Whole((0..len).collect())));
            }
        }
    }
    let rest = shape.get(out.len()..)?;
    out.extend(rest.iter().map(|&len| Axis::Whole((0..len).collect())));
    (ellipses < 2).then_some((out, gap))
}

/// The lists' common shape.
fn common_shape(axes: &[Axis]) -> Option<Vec<usize>> {
    let mut common: Vec<usize> = vec![];
    for axis in axes {
        let Axis::List { shape, .. } = axis else { continue };
        while common.len() < shape.len() {
            common.insert(0, 1);
        }
        let lead = common.len() - shape.len();
        for (k, &n) in shape.iter().enumerate() {
            match (common[lead + k], n) {
                (a, b) if a == b => {}
                (1, b) => common[lead + k] = b,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(common)
}

pub fn pick(shape: &[u64], indexes: &[Index], mode: Mode) -> Picked {
    let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    let (axes, gap) = expand(&shape, indexes)?;
    match mode {
        Mode::Numpy => pick_numpy(&shape, &axes, gap),
        Mode::Orthogonal => pick_orthogonal(&shape, &axes, indexes),
    }
}

fn pick_orthogonal(shape: &[usize], axes: &[Axis], indexes: &[Index]) -> Picked {
    let flat_only = |index: &Index| match index {
        Index::List { shape, .. } | Index::Mask { shape, .. } => shape.len() <= 1,
        _ => true,
    };
    if !indexes.iter().all(flat_only) {
        return None;
    }
    let mut chosen: Vec<Vec<usize>> = vec![];
    let mut out_shape = vec![];
    for (axis, &len) in axes.iter().zip(shape) {
        let values: Vec<usize> = match axis {
            Axis::One(at) => vec![*at],
            Axis::Whole(values) => values.clone(),
            Axis::List { values, .. } => values.iter().map(|&at| wrap(at, len)).collect::<Option<_>>()?,
        };
        if !matches!(axis, Axis::One(_)) {
            out_shape.push(values.len() as u64);
        }
        chosen.push(values);
    }
    let lens: Vec<usize> = chosen.iter().map(Vec::len).collect();
    let source = |at: Vec<usize>| {
        let from: Vec<usize> = chosen.iter().zip(at).map(|(values, k)| values[k]).collect();
        flat(shape, &from)
    };
    Some((out_shape, positions(&lens).into_iter().map(source).collect()))
}

fn pick_numpy(shape: &[usize], axes: &[Axis], gap: Option<usize>) -> Picked {
    let common = common_shape(axes)?;
    let any_list = axes.iter().any(|axis| matches!(axis, Axis::List { .. }));
    let advanced: Vec<usize> = (0..axes.len()).filter(|&k| any_list && !matches!(axes[k], Axis::Whole(_))).collect();
    let apart = |pair: &[usize]| pair[1] != pair[0] + 1 || gap == Some(pair[1]);
    let front = advanced.windows(2).any(apart);
    let before = if front { 0 } else { advanced.first().map_or(0, |&first| first) };
    let mut out: Vec<usize> =
        axes.iter().filter_map(|a| if let Axis::Whole(v) = a { Some(v.len()) } else { None }).collect();
    for &len in common.iter().rev() {
        out.insert(before, len);
    }
    let mut picked = vec![];
    for axis in axes.iter().zip(shape) {
        if let (Axis::List { values, .. }, &len) = axis
            && count(&common) > 0
        {
            values.iter().map(|&at| wrap(at, len)).collect::<Option<Vec<_>>>()?;
        }
    }
    for at in positions(&out) {
        let listed = &at[before..before + common.len()];
        let mut sliced = at[..before].iter().chain(&at[before + common.len()..]);
        let mut from = vec![];
        for (axis, &len) in axes.iter().zip(shape) {
            from.push(match axis {
                Axis::One(at) => *at,
                Axis::Whole(values) => values[*sliced.next()?],
                Axis::List { shape, values } => {
                    let lead = common.len() - shape.len();
                    let of: Vec<usize> =
                        shape.iter().zip(&listed[lead..]).map(|(&n, &k)| if n == 1 { 0 } else { k }).collect();
                    wrap(values[flat(shape, &of)], len)?
                }
            });
        }
        picked.push(flat(shape, &from));
    }
    Some((out.iter().map(|&n| n as u64).collect(), picked))
}

/// What element number `flat` of the array consists of.
pub fn element(flat: usize, itemsize: usize) -> Vec<u8> {
    (0..itemsize).map(|byte| ((flat + 1) * (2 * byte + 7) % 251) as u8).collect()
}

/// The stored bytes of a chunk, at its full shape; bytes outside the array or the promised span are arbitrary.
fn stored(grid: &ChunkGrid, cut: &Cut, itemsize: usize) -> Vec<u8> {
    let shape: Vec<usize> = grid.shape().iter().map(|&n| n as usize).collect();
    let full: Vec<usize> = cut.shape.iter().map(|&n| n as usize).collect();
    let start = grid.region(&cut.chunk).start;
    let (lo, hi) = cut.copy.source_span();
    let mut out = vec![];
    for (number, at) in positions(&full).iter().enumerate() {
        let at: Vec<usize> = at.iter().zip(&start).map(|(&k, &start)| k + start as usize).collect();
        let inside = at.iter().zip(&shape).all(|(at, len)| at < len) && (lo..hi).contains(&(number as u64));
        out.extend(if inside { element(flat(&shape, &at), itemsize) } else { vec![0xEE; itemsize] });
    }
    out
}

/// Reads a selection chunk by chunk, checking everything that a cut promises on the way.
pub fn read(selection: &Selection, grid: &ChunkGrid, itemsize: usize) -> Vec<u8> {
    let cuts = Cuts::new(selection, grid).unwrap();
    let bytes = selection.out_len() as usize * itemsize;
    let (mut out, mut filled) = (vec![0xAA; bytes], vec![0xAA; bytes]);
    let fill = element(77, itemsize);
    let (mut elements, mut seen) = (0, std::collections::BTreeSet::new());
    let mut reused = Cut::default();
    for i in 0..cuts.len() {
        let cut = cuts.get(i);
        cuts.cut_into(i, &mut reused);
        assert_eq!(cut, reused);
        assert!(grid.contains(&cut.chunk));
        assert_eq!(cut.shape, grid.chunk_shape(&cut.chunk));
        assert_eq!(cuts.chunk_flat(i), grid.flat(&cut.chunk));
        assert!(cut.elements > 0 && seen.insert(cuts.chunk_flat(i)), "a chunk is cut once");
        elements += cut.elements;
        let chunk = stored(grid, &cut, itemsize);
        // SAFETY: the chunk has its full shape, both outputs have the selection's length.
        unsafe {
            cut.copy.place(chunk.as_ptr(), out.as_mut_ptr(), itemsize);
            cut.copy.fill(&fill, filled.as_mut_ptr());
        }
        if let Some(at) = cut.copy.whole() {
            let at = at as usize * itemsize;
            assert_eq!(out[at..at + chunk.len()], chunk, "a whole chunk lands as it is");
        }
    }
    assert_eq!(elements, selection.out_len());
    assert_eq!(filled, fill.repeat(selection.out_len() as usize));
    out
}

/// The same by definition.
pub fn expected(picked: &[usize], itemsize: usize) -> Vec<u8> {
    picked.iter().flat_map(|&from| element(from, itemsize)).collect()
}
