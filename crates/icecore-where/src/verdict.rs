//! Evaluate conditions for a zone of rows from the intervals that cover its values.
//!
//! The result may be undecided, but never wrong: a zone is skipped only if no row can make the clause true.

use crate::ast::{Arithmetic, Op};
use crate::clause::{Condition, Filter, Number};
use crate::ranges::{Ranges, hold, meet};
use crate::truth::{FALSE, Possible, TRUE};

/// Summary of one column in one zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Intervals that cover all values that are not null; empty if all values are null.
    pub values: Ranges,
    /// Whether nulls are possible.
    pub nulls: bool,
}

/// The rows of a zone for which a clause is true: none, some or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    None,
    Some,
    All,
}

impl Filter {
    /// Evaluates the clause for a zone. `zone` returns the summary of a column, or None.
    pub fn verdict(&self, zone: &dyn Fn(usize) -> Option<Zone>) -> Verdict {
        let possible = condition(&self.root, zone);
        match (possible.has(TRUE), possible.is_only(TRUE)) {
            (false, _) => Verdict::None,
            (true, false) => Verdict::Some,
            (true, true) => Verdict::All,
        }
    }
}

type Zones<'a> = &'a dyn Fn(usize) -> Option<Zone>;

fn condition(node: &Condition, zones: Zones<'_>) -> Possible {
    match node {
        Condition::Constant(truth) => Possible::only(*truth),
        Condition::Ranges(column, ranges) => zones(*column).map_or(Possible::ANY, |zone| against(&zone, ranges)),
        Condition::NullColumn(column) => zones(*column).map_or(Possible::of(true, false, true), |zone| {
            let values = match &zone.values {
                Ranges::Int(values) => !values.is_empty(),
                Ranges::Float(values) => !values.is_empty(),
            };
            Possible::of(values, false, zone.nulls)
        }),
        Condition::Text(..) | Condition::CompareInts(..) | Condition::CompareTexts(..) => Possible::ANY,
        Condition::NullNumber(_) => Possible::of(true, false, true),
        Condition::Compare(op, a, b) => match (hull(a, zones), hull(b, zones)) {
            (Some(a), Some(b)) => compare(*op, a, b),
            _ => Possible::ANY,
        },
        Condition::Not(inner) => condition(inner, zones).not(),
        Condition::And(parts) => join(parts, zones, TRUE, |a, b| a.min(b)),
        Condition::Or(parts) => join(parts, zones, FALSE, |a, b| a.max(b)),
    }
}

fn join(parts: &[Condition], zones: Zones<'_>, start: u8, with: fn(u8, u8) -> u8) -> Possible {
    parts.iter().fold(Possible::only(start), |all, part| all.join(condition(part, zones), with))
}

fn against(zone: &Zone, ranges: &Ranges) -> Possible {
    fn both<T: Copy + PartialOrd>(values: &[(T, T)], ranges: &[(T, T)], nulls: bool) -> Possible {
        let inside = values.iter().any(|(low, high)| meet(ranges, *low, *high));
        let outside = values.iter().any(|(low, high)| !hold(ranges, *low, *high));
        Possible::of(outside, nulls, inside)
    }
    match (&zone.values, ranges) {
        (Ranges::Int(values), Ranges::Int(ranges)) => both(values, ranges, zone.nulls),
        (Ranges::Float(values), Ranges::Float(ranges)) => both(values, ranges, zone.nulls),
        _ => Possible::ANY,
    }
}

/// Smallest and largest value. Arithmetic may also give NaN, so "unknown" is always possible.
type Hull = (f64, f64);

fn compare(op: Op, a: Hull, b: Hull) -> Possible {
    let (can_less, can_greater) = (a.0 < b.1, a.1 > b.0);
    let can_equal = a.0 <= b.1 && b.0 <= a.1;
    let outcomes = [(can_less, op.holds(0, 1)), (can_equal, op.holds(0, 0)), (can_greater, op.holds(1, 0))];
    let can = |wanted: bool| outcomes.iter().any(|(possible, truth)| *possible && *truth == wanted);
    Possible::of(can(false), true, can(true))
}

/// Rounding is monotonic, so bounds on the ends of intervals also bound the float64 results between them.
fn hull(node: &Number, zones: Zones<'_>) -> Option<Hull> {
    match node {
        Number::Value(x) => (!x.is_nan()).then_some((*x, *x)),
        Number::Column(column) => match zones(*column)?.values {
            Ranges::Int(values) => Some((values.first()?.0 as f64, values.last()?.1 as f64)),
            Ranges::Float(values) => Some((values.first()?.0, values.last()?.1)),
        },
        Number::Negative(inner) => hull(inner, zones).map(|(low, high)| (-high, -low)),
        Number::Arithmetic(operator, a, b) => {
            let (a, b) = (hull(a, zones)?, hull(b, zones)?);
            let corners = match operator {
                Arithmetic::Add => vec![a.0 + b.0, a.1 + b.1],
                Arithmetic::Subtract => vec![a.0 - b.1, a.1 - b.0],
                Arithmetic::Multiply => vec![a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1],
                Arithmetic::Divide if b.0 > 0.0 || b.1 < 0.0 => vec![a.0 / b.0, a.0 / b.1, a.1 / b.0, a.1 / b.1],
                Arithmetic::Divide | Arithmetic::Remainder => return None,
            };
            let finite = corners.iter().all(|x| x.is_finite());
            let low = corners.iter().copied().fold(f64::INFINITY, f64::min);
            let high = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            finite.then_some((low, high))
        }
        Number::Call(..) | Number::Extreme(..) | Number::Part(..) => None,
    }
}
