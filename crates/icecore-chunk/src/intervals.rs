//! Cover values by a few closed intervals: their range, split at its widest gaps.

use crate::number::Number;

/// Number of intervals of a zone: enough for an orbit's longitudes, which jump twice a turn.
pub const INTERVALS: usize = 4;

/// Number of buckets that values are sorted into. A gap is one or more empty buckets; gaps narrower than two buckets
/// may be missed.
const BUCKETS: usize = 1024;

/// Number of values whose buckets are computed at once, and number of values that are compared together.
pub(crate) const BLOCK: usize = 64;
const LANES: usize = 8;

/// Whether all values are equal, as in most blocks of slowly changing data.
#[inline(always)]
pub(crate) fn alike<T: Number>(block: &[T]) -> bool {
    block.first().is_some_and(|first| block.iter().fold(true, |all, v| all & (v == first)))
}

/// Divides [low, high], the range of `values`, at its widest gaps; ascending. If fewer intervals are needed, the last
/// one is repeated.
#[inline(always)]
pub(crate) fn intervals<T: Number>(values: &[T], low: T, high: T) -> [(T, T); INTERVALS] {
    let mut found = [(low, high); INTERVALS];
    let (from, width) = (low.float(), high.float() - low.float());
    if !(width.is_finite() && width > 0.0) {
        return found;
    }
    let scale = Scale { from, factor: (BUCKETS - 1) as f64 / width };
    let gaps = widest(&taken(values, low, scale));
    let (mut start, mut used) = (low, 0);
    if gaps.iter().any(|gap| gap.width() > 0) {
        let cuts = gaps.into_iter().zip(ends(values, (low, high), scale, &gaps));
        for (slot, (_, (end, next))) in found.iter_mut().zip(cuts.filter(|(gap, _)| gap.width() > 0)) {
            *slot = (start, end);
            (start, used) = (next, used + 1);
        }
    }
    found.iter_mut().skip(used).for_each(|slot| *slot = (start, high));
    found
}

/// Maps a value to its bucket.
#[derive(Clone, Copy)]
struct Scale {
    from: f64,
    factor: f64,
}

impl Scale {
    /// The bucket, below [`BUCKETS`]; monotonic in the value.
    #[inline(always)]
    fn number<T: Number>(self, value: T) -> u16 {
        let x = (value.float() - self.from) * self.factor;
        (x as i32).clamp(0, BUCKETS as i32 - 1) as u16
    }

    #[inline(always)]
    fn numbers<T: Number>(self, values: &[T; BLOCK]) -> [u16; BLOCK] {
        let mut numbers = [0; BLOCK];
        numbers.iter_mut().zip(values).for_each(|(number, v)| *number = self.number(*v));
        numbers
    }
}

/// Adds all values; `last` are those after the whole blocks. Blocks are passed by reference because copies would be
/// slow.
#[inline(always)]
fn blocks<'a, T>(values: &'a [T], last: &'a [T; BLOCK]) -> impl Iterator<Item = &'a [T; BLOCK]> {
    let (whole, rest) = values.as_chunks();
    whole.iter().chain((!rest.is_empty()).then_some(last))
}

/// The values after the whole blocks, padded with one of them.
#[inline(always)]
fn last<T: Number>(values: &[T], any: T) -> [T; BLOCK] {
    let mut last = [any; BLOCK];
    last.iter_mut().zip(values.as_chunks::<BLOCK>().1).for_each(|(place, v)| *place = *v);
    last
}

#[inline(always)]
fn taken<T: Number>(values: &[T], any: T, scale: Scale) -> [bool; BUCKETS] {
    let mut taken = [false; BUCKETS];
    for block in blocks(values, &last(values, any)) {
        if alike(block) {
            taken[usize::from(scale.number(block[0]))] = true;
            continue;
        }
        for number in scale.numbers(block) {
            taken[usize::from(number)] = true;
        }
    }
    taken
}

/// A run of empty buckets: the last occupied bucket before it, and the first one after it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    before: u16,
    after: u16,
}

impl Gap {
    /// Number of empty buckets.
    fn width(self) -> u16 {
        (self.after - self.before).saturating_sub(1)
    }
}

/// The widest gaps, ascending; gaps of width zero are unused.
fn widest(taken: &[bool; BUCKETS]) -> [Gap; INTERVALS - 1] {
    let mut gaps = [Gap::default(); INTERVALS - 1];
    let mut before = 0;
    for (after, _) in (0u16..).zip(taken).filter(|(_, taken)| **taken) {
        let mut gap = Gap { before, after };
        if gap.width() > 0 {
            for kept in &mut gaps {
                if gap.width() > kept.width() {
                    std::mem::swap(&mut gap, kept);
                }
            }
        }
        before = after;
    }
    gaps.sort_unstable();
    gaps
}

/// The largest value before each gap, and the smallest one after it.
#[inline(always)]
fn ends<T: Number>(
    values: &[T],
    (low, high): (T, T),
    scale: Scale,
    gaps: &[Gap; INTERVALS - 1],
) -> [(T, T); INTERVALS - 1] {
    let mut most = [[low; LANES]; INTERVALS - 1];
    let mut least = [[high; LANES]; INTERVALS - 1];
    for block in blocks(values, &last(values, low)) {
        let numbers = scale.numbers(block);
        for ((gap, most), least) in gaps.iter().zip(&mut most).zip(&mut least) {
            let beside = |number: &u16| (*number == gap.before) | (*number == gap.after);
            if !numbers.iter().fold(false, |any, number| any | beside(number)) {
                continue; // the usual case
            }
            for (numbers, values) in numbers.as_chunks::<LANES>().0.iter().zip(block.as_chunks::<LANES>().0) {
                for (lane, (number, value)) in numbers.iter().zip(values).enumerate() {
                    let below = if *number == gap.before { *value } else { low };
                    let above = if *number == gap.after { *value } else { high };
                    most[lane] = if below > most[lane] { below } else { most[lane] };
                    least[lane] = if above < least[lane] { above } else { least[lane] };
                }
            }
        }
    }
    let mut found = [(low, high); INTERVALS - 1];
    for (end, (most, least)) in found.iter_mut().zip(most.into_iter().zip(least)) {
        end.0 = most.into_iter().fold(low, |a, b| if b > a { b } else { a });
        end.1 = least.into_iter().fold(high, |a, b| if b < a { b } else { a });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> [(f64, f64); INTERVALS] {
        let (low, high) =
            (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max));
        intervals(values, low, high)
    }

    #[test]
    fn cuts_are_made_at_the_widest_gaps() {
        let values: Vec<f64> =
            (0..1000).map(|i| [0.0, 10.0, 50.0, 52.0, 99.0][i % 5] + (i / 5) as f64 * 1e-3).collect();
        assert_eq!(of(&values), [(0.0, 0.199), (10.0, 10.199), (50.0, 52.199), (99.0, 99.199)]);
        assert_eq!(of(&values[..3]), [(0.0, 0.0), (10.0, 10.0), (50.0, 50.0), (50.0, 50.0)]);
    }

    #[test]
    fn what_has_no_gap_is_one_interval() {
        let values: Vec<f64> = (0..4096).map(f64::from).collect();
        assert_eq!(of(&values), [(0.0, 4095.0); INTERVALS]);
        assert_eq!(of(&[7.0; 100]), [(7.0, 7.0); INTERVALS]);
    }

    #[test]
    fn whole_numbers_far_from_zero() {
        let values = [i64::MIN, i64::MIN + 1, 5, i64::MAX];
        assert_eq!(
            intervals(&values, i64::MIN, i64::MAX),
            [(i64::MIN, i64::MIN + 1), (5, 5), (i64::MAX, i64::MAX), (i64::MAX, i64::MAX)]
        );
    }
}
