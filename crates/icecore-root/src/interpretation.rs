//! Interpretation of a branch's values.

use crate::dtype::DType;

/// The values of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpretation {
    /// A branch that only contains other branches.
    Group,
    /// One number per entry, or an array of fixed shape.
    Flat { dtype: DType, shape: Vec<u64> },
    /// Several members per entry, stored consecutively.
    Record { fields: Vec<Field>, size: usize },
    /// A list per entry. `skip` bytes precede its elements; `counter` is the path of the branch that counts them, for
    /// lists without a length of their own.
    Jagged { dtype: DType, inner_shape: Vec<u64>, skip: usize, counter: Option<String> },
    /// One string per entry, after `skip` bytes and a length of 1 or 5 bytes.
    String { skip: usize },
    /// Values that are decoded entry by entry, in the form of [`Branch::form`](crate::Branch::form).
    Nested,
    /// Intermediate state: the counter is known, the rest is not. Does not occur in a tree.
    #[doc(hidden)]
    CountedBy(String),
    /// Unsupported values, with the C++ type's name.
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
