//! What the values of a branch are, from its leaves and its class.

use crate::dtype::DType;

/// The values of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpretation {
    /// A branch that only holds others.
    Group,
    /// One number an entry, or an array of fixed shape.
    Flat { dtype: DType, shape: Vec<u64> },
    /// Several members an entry, stored one behind the other.
    Record { fields: Vec<Field>, size: usize },
    /// A list an entry. `skip` bytes precede its elements; `counter` is the path of the branch that counts them, for lists
    /// without a length of their own.
    Jagged { dtype: DType, inner_shape: Vec<u64>, skip: usize, counter: Option<String> },
    /// One string an entry, behind `skip` bytes and a length of 1 or 5 bytes.
    String { skip: usize },
    /// While reading: a counter is known, the rest is not. No tree has it.
    #[doc(hidden)]
    CountedBy(String),
    /// Values that this crate does not decode, with the C++ type's name.
    Unsupported(String),
}

/// A member of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// Where the member begins in the record, in bytes.
    pub start: usize,
}
