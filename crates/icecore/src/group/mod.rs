//! Grouped reductions: numbering of keys and accumulators per key.
//!
//! A key's number is its place among those met so far and never changes, so that nothing must be joined after the last
//! batch. Known keys are looked up, large words numbered and columns folded on all cores. Several key columns are numbered one
//! after the other: two numbers side by side are a word, which is a key again.

mod extremes;
mod fold;
mod key_numbers;
mod moments;
mod sharded_accumulators;
mod sums;
mod text_extremes;
mod text_keys;
mod word_keys;
mod word_tables;

pub use fold::{Fold, Function, Part};
pub use sharded_accumulators::Rows;
pub use text_extremes::Ends;
pub use text_keys::Texts;
pub use word_keys::Words;
