//! Syntax tree of a where-clause.

use crate::message::Place;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub kind: Kind,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Column(String),
    Int(i128),
    Float(f64),
    Text(String),
    Bool(bool),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Compare(Op, Box<Node>, Box<Node>),
    Between(Box<Node>, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Node>),
    Null(Box<Node>),
    Like(Box<Node>, String),
    Negative(Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Call(String, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Less,
    LessEqual,
    Equal,
    Unequal,
    GreaterEqual,
    Greater,
}

impl Op {
    /// The operator after swapping both sides.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }

    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessEqual => a <= b,
            Self::Equal => a == b,
            Self::Unequal => a != b,
            Self::GreaterEqual => a >= b,
            Self::Greater => a > b,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}
