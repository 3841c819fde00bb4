//! The elements that a resolved selection takes along each axis, and their positions in the output.

/// Equally spaced source indexes in ascending order; `reversed` where the output runs the other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progression {
    pub first: u64,
    pub step: u64,
    pub count: u64,
    pub reversed: bool,
}

impl Progression {
    pub const EMPTY: Self = Self { first: 0, step: 1, count: 0, reversed: false };

    pub fn one(index: u64) -> Self {
        Self { first: index, step: 1, count: 1, reversed: false }
    }

    /// Converts a list to an arithmetic progression if it is one. Many lists are (`arange`, runs of a mask), and
    /// progressions need no memory and are copied faster.
    pub fn of(values: &[u64]) -> Option<Self> {
        let (&first, &last) = (values.first()?, values.last()?);
        if values.len() == 1 {
            return Some(Self::one(first));
        }
        let (reversed, step) = if values[1] > first { (false, values[1] - first) } else { (true, first - values[1]) };
        let follows = |pair: &[u64]| {
            let (low, high) = if reversed { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
            high > low && high - low == step
        };
        let first = if reversed { last } else { first };
        values.windows(2).all(follows).then_some(Self { first, step, count: values.len() as u64, reversed })
    }
}

/// The elements taken from one axis independently of the others. Output positions are element offsets; the offset of an
/// element is the sum of the contributions of all axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Source index `first + step·k` goes to `dst_first + dst_step·k`, for k in 0 … count − 1; step ≥ 1.
    Range { first: u64, step: u64, count: u64, dst_first: u64, dst_step: i64 },
    /// Source index `values[k]` goes to `dst_step·k`.
    List { values: Vec<u64>, dst_step: u64 },
}

impl Pick {
    /// `stride`: distance in the output between neighbours along this axis; the output fits `i64`.
    pub fn range(progression: Progression, stride: u64) -> Self {
        let Progression { first, step, count, reversed } = progression;
        let dst_first = if reversed { count.saturating_sub(1).saturating_mul(stride) } else { 0 };
        let stride = i64::try_from(stride).unwrap_or(i64::MAX);
        Self::Range { first, step, count, dst_first, dst_step: if reversed { -stride } else { stride } }
    }

    pub fn list(values: Vec<u64>, stride: u64) -> Self {
        match Progression::of(&values) {
            Some(progression) => Self::range(progression, stride),
            None if values.is_empty() => Self::range(Progression::EMPTY, stride),
            None => Self::List { values, dst_step: stride },
        }
    }
}

/// Axes that are indexed together: element k is at `columns[·][k]` on `axes[·]` and goes to `dst_step·k`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joint {
    /// Ascending.
    pub axes: Vec<usize>,
    /// One column of source indexes per axis, all of the same length.
    pub columns: Vec<Vec<u64>>,
    pub dst_step: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_progressions() {
        let run = |first, step, count, reversed| Some(Progression { first, step, count, reversed });
        assert_eq!(Progression::of(&[4, 6, 8]), run(4, 2, 3, false));
        assert_eq!(Progression::of(&[9, 6, 3]), run(3, 3, 3, true));
        assert_eq!(Progression::of(&[5]), run(5, 1, 1, false));
        for not in [&[1, 2, 4][..], &[3, 3], &[], &[1, 3, 1], &[3, 1, 3]] {
            assert_eq!(Progression::of(not), None, "{not:?}");
        }
    }
}
