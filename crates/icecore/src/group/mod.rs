//! Rows by their keys: numbers for keys, and what is known so far about the rows of each.
//!
//! A key's number is its place among those met so far and never changes, so that nothing has to be joined after the last
//! batch. Known keys are looked up, large words numbered and columns folded on all cores. Several key columns are numbered one
//! after the other: two numbers side by side are a word, which is a key again.

mod dealt;
mod ends;
mod extremes;
mod far;
mod fold;
mod moments;
mod number;
mod sums;
mod texts;
mod words;

pub use dealt::Rows;
pub use ends::Ends;
pub use fold::{Fold, Function, Part};
pub use texts::Texts;
pub use words::Words;
