//! Grouped reductions: numbering of keys and accumulators per key.
//!
//! Keys are numbered in the order of their first occurrence and keep their numbers, so that no merge is needed after
//! the last batch. Look-ups of known keys, numbering of large words and reductions run on all cores. Several key
//! columns are numbered one after another: two key numbers form one word, which is numbered again.

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
