//! A where-clause bound to a table's columns, evaluated row by row or zone by zone.

use crate::ast::{Arithmetic, Op};
use crate::ranges::Ranges;
use crate::text::TextTest;
use crate::time_parts::{Clock, Part};

/// A where-clause bound to its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub(crate) root: Condition,
    /// Indexes of the columns it reads, ascending.
    pub columns: Vec<usize>,
}

/// A number for each row, bound to the columns that it is computed from; null is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub(crate) root: Number,
    /// Indexes of the columns it reads, ascending.
    pub columns: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Constant(u8),
    Ranges(usize, Ranges),
    Text(usize, TextTest),
    NullColumn(usize),
    NullNumber(Number),
    /// Comparison in float64.
    Compare(Op, Number, Number),
    /// Exact comparison of two columns of integers or times, each with the factor of its unit.
    CompareInts(Op, (usize, i128), (usize, i128)),
    CompareTexts(Op, usize, usize),
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    Column(usize),
    Value(f64),
    Negative(Box<Number>),
    Arithmetic(Arithmetic, Box<Number>, Box<Number>),
    Call(Function, Box<Number>),
    /// The least, or the greatest, of several numbers; NaN if one of them is NaN, as in NumPy.
    Extreme(Extreme, Vec<Number>),
    /// A part of the times of a column.
    Part(Part, usize, Clock),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Min,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Round,
    Log,
    Log10,
    Exp,
    Sin,
    Cos,
    Radians,
}

/// The functions of one number, by name.
pub(crate) const FUNCTIONS: [(&str, Function); 12] = [
    ("abs", Function::Abs),
    ("sqrt", Function::Sqrt),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("round", Function::Round),
    ("log", Function::Log),
    ("ln", Function::Log),
    ("log10", Function::Log10),
    ("exp", Function::Exp),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("radians", Function::Radians),
];

impl Function {
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Abs => x.abs(),
            Self::Sqrt => x.sqrt(),
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Round => x.round_ties_even(), // as NumPy
            Self::Log => x.ln(),
            Self::Log10 => x.log10(),
            Self::Exp => x.exp(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Radians => x.to_radians(),
        }
    }
}

impl Extreme {
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

impl Number {
    /// Adds the columns in it to `found`.
    pub fn columns(&self, found: &mut Vec<usize>) {
        match self {
            Self::Column(number) | Self::Part(_, number, _) => found.push(*number),
            Self::Extreme(_, items) => items.iter().for_each(|item| item.columns(found)),
            Self::Value(_) => {}
            Self::Negative(inner) | Self::Call(_, inner) => inner.columns(found),
            Self::Arithmetic(_, a, b) => {
                a.columns(found);
                b.columns(found);
            }
        }
    }
}

impl Arithmetic {
    /// The remainder has the sign of the divisor, as in Python and NumPy.
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Remainder => {
                let rest = a % b;
                if rest == 0.0 {
                    return rest.copysign(b); // keep the sign of zero: dividing by it gives +inf or -inf
                }
                if (rest < 0.0) == (b < 0.0) { rest } else { rest + b }
            }
        }
    }
}
