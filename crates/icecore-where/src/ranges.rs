//! Sets of values as closed intervals; every comparison of a column with constants is converted to one.

use crate::ast::Op;

/// Disjoint closed intervals in ascending order, of integers (including times) or floats.
#[derive(Clone, Debug, PartialEq)]
pub enum Ranges {
    Int(Vec<(i128, i128)>),
    Float(Vec<(f64, f64)>),
}

/// A constant in a column's dtype: the largest value not above it and the smallest value not below it.
/// Both are equal if the dtype can represent the constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fitted<T> {
    pub floor: T,
    pub ceil: T,
}

/// The neighbours of a value in a column's dtype.
pub(crate) struct Steps<T> {
    pub up: fn(T) -> T,
    pub down: fn(T) -> T,
    pub lowest: T,
    pub highest: T,
}

impl<T: Copy + PartialOrd> Fitted<T> {
    /// The values for which the comparison with the constant is true. "Unequal" is handled as the complement of "equal".
    pub fn related(self, op: Op, steps: &Steps<T>) -> Vec<(T, T)> {
        let exact = self.floor == self.ceil;
        let range = match op {
            Op::LessEqual => (steps.lowest, self.floor),
            Op::GreaterEqual => (self.ceil, steps.highest),
            Op::Less if !exact => (steps.lowest, self.floor),
            Op::Greater if !exact => (self.ceil, steps.highest),
            Op::Less if self.floor > steps.lowest => (steps.lowest, (steps.down)(self.floor)),
            Op::Greater if self.ceil < steps.highest => ((steps.up)(self.ceil), steps.highest),
            Op::Equal if exact => (self.floor, self.ceil),
            _ => return Vec::new(),
        };
        if range.0 <= range.1 { vec![range] } else { Vec::new() }
    }
}

/// Sorts the intervals and joins overlapping ones.
pub(crate) fn tidy<T: Copy + PartialOrd>(mut ranges: Vec<(T, T)>) -> Vec<(T, T)> {
    ranges.retain(|(low, high)| low <= high);
    ranges.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let mut joined: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match joined.last_mut() {
            Some(last) if low <= last.1 => {
                if high > last.1 {
                    last.1 = high;
                }
            }
            _ => joined.push((low, high)),
        }
    }
    joined
}

/// Whether any interval overlaps [low, high].
pub(crate) fn meet<T: Copy + PartialOrd>(ranges: &[(T, T)], low: T, high: T) -> bool {
    let at = ranges.partition_point(|r| r.1 < low);
    ranges.get(at).is_some_and(|r| r.0 <= high)
}

/// Whether one interval contains all of [low, high].
pub(crate) fn hold<T: Copy + PartialOrd>(ranges: &[(T, T)], low: T, high: T) -> bool {
    let at = ranges.partition_point(|r| r.1 < low);
    ranges.get(at).is_some_and(|r| r.0 <= low && high <= r.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_are_joined() {
        assert_eq!(tidy(vec![(5, 9), (1, 2), (2, 4), (20, 10)]), [(1, 4), (5, 9)]);
    }

    #[test]
    fn meeting_and_holding() {
        let ranges = [(1, 4), (10, 20)];
        assert!(meet(&ranges, 4, 6) && meet(&ranges, 0, 30) && !meet(&ranges, 5, 9) && !meet(&ranges, 21, 22));
        assert!(hold(&ranges, 10, 20) && hold(&ranges, 2, 2) && !hold(&ranges, 4, 10) && !hold(&ranges, 0, 1));
    }
}
