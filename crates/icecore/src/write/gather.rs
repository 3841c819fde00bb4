//! gather: copies one chunk out of a box of data, C order, padded with the fill value beyond the array's edge.

/// Position of a chunk in a box.
pub(crate) struct Window<'a> {
    /// Shape of the box.
    pub shape: &'a [u64],
    /// First element of the chunk, relative to the box.
    pub start: &'a [u64],
    /// Full shape of the chunk.
    pub chunk: &'a [u64],
}

/// Calls `copy(source element, chunk element, elements)` for each contiguous run that chunk and box share.
pub(crate) fn runs(window: &Window<'_>, mut copy: impl FnMut(usize, usize, usize)) {
    let rank = window.shape.len();
    let clipped: Vec<usize> =
        (0..rank).map(|a| window.chunk[a].min(window.shape[a].saturating_sub(window.start[a])) as usize).collect();
    if clipped.contains(&0) {
        return;
    }
    let source = strides(window.shape);
    let target = strides(window.chunk);
    let run = clipped.last().copied().unwrap_or(1);
    let mut from: usize = window.start.iter().zip(&source).map(|(s, stride)| *s as usize * stride).sum();
    let mut to = 0;
    let mut index = vec![0usize; rank];
    loop {
        copy(from, to, run);
        let mut axis = rank.saturating_sub(1);
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            (from, to) = (from + source[axis], to + target[axis]);
            index[axis] += 1;
            if index[axis] < clipped[axis] {
                break;
            }
            (from, to) = (from - index[axis] * source[axis], to - index[axis] * target[axis]);
            index[axis] = 0;
        }
    }
}

fn strides(shape: &[u64]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as usize;
    }
    strides
}

/// Index in the box of the chunk's first element, if the whole chunk is contiguous there.
pub(crate) fn in_one_run(window: &Window<'_>) -> Option<usize> {
    let first = window.chunk.iter().position(|n| *n != 1).unwrap_or(window.chunk.len());
    let mut behind = window.chunk.iter().zip(window.shape).skip(first + 1);
    if hangs_over(window) || !behind.all(|(chunk, shape)| chunk == shape) {
        return None;
    }
    Some(window.start.iter().zip(strides(window.shape)).map(|(start, stride)| *start as usize * stride).sum())
}

/// Whether the window exceeds the box, so that padding is needed.
pub(crate) fn hangs_over(window: &Window<'_>) -> bool {
    window.start.iter().zip(window.chunk).zip(window.shape).any(|((s, c), n)| s + c > *n)
}

/// Fills `out` with repetitions of `fill`.
pub(crate) fn pad(out: &mut [u8], fill: &[u8]) {
    for element in out.chunks_exact_mut(fill.len().max(1)) {
        element.copy_from_slice(fill);
    }
}

/// Whether every element is the fill value, bit for bit.
pub(crate) fn all_fill(chunk: &[u8], fill: &[u8]) -> bool {
    // The first element is compared, then each with the one before it: a comparison of whole blocks of memory.
    let size = fill.len();
    size > 0 && (chunk.len() < size || (chunk.starts_with(fill) && chunk[size..] == chunk[..chunk.len() - size]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_in_the_corner_is_padded() {
        let data: Vec<u8> = (0..12).collect(); // 3 × 4
        let window = Window { shape: &[3, 4], start: &[2, 2], chunk: &[2, 3] };
        assert!(hangs_over(&window));
        let mut out = vec![0; 6];
        pad(&mut out, &[99]);
        runs(&window, |from, to, n| out[to..to + n].copy_from_slice(&data[from..from + n]));
        assert_eq!(out, [10, 11, 99, 99, 99, 99]);
    }

    #[test]
    fn a_chunk_in_one_run_begins_where_its_only_run_does() {
        let cases: [(&[u64], &[u64], &[u64]); 8] = [
            (&[9], &[3], &[3]),
            (&[9], &[8], &[3]),
            (&[3, 4], &[1, 0], &[2, 4]),
            (&[3, 4], &[1, 0], &[2, 3]),
            (&[3, 4], &[2, 1], &[1, 3]),
            (&[3, 4, 5], &[1, 2, 0], &[1, 2, 5]),
            (&[3, 4, 5], &[1, 2, 0], &[2, 2, 5]),
            (&[], &[], &[]),
        ];
        for (shape, start, chunk) in cases {
            let window = Window { shape, start, chunk };
            let mut seen = Vec::new();
            runs(&window, |from, to, n| match seen.last_mut() {
                Some((first, count)) if *first + *count == from && to == *count => *count += n,
                _ => seen.push((from, n)),
            });
            let whole = seen.len() == 1 && seen[0].1 as u64 == chunk.iter().product::<u64>();
            assert_eq!(in_one_run(&window), whole.then(|| seen[0].0), "{shape:?} {start:?} {chunk:?}");
        }
    }

    #[test]
    fn zero_dimensions_are_one_element() {
        let mut seen = Vec::new();
        runs(&Window { shape: &[], start: &[], chunk: &[] }, |a, b, n| seen.push((a, b, n)));
        assert_eq!(seen, [(0, 0, 1)]);
    }

    #[test]
    fn nan_is_a_fill_value() {
        let nan = f32::NAN.to_ne_bytes();
        assert!(all_fill(&[nan, nan].concat(), &nan));
        assert!(!all_fill(&[nan, 1f32.to_ne_bytes()].concat(), &nan));
        assert!(all_fill(&nan.repeat(1000), &nan) && all_fill(&[], &nan));
    }
}
