//! The write pipeline: plan → gather → encode → append. One file a stage.
//!
//! A caller hands over boxes of whole shards (or whole chunks where an array has no shards); they are encoded on the pool
//! while the caller makes the next ones, and it waits when more than a budget of bytes is on its way. Rows for the end of an array
//! (`rows`, those of a `table`) are encoded chunk by chunk, before there are enough of them for a shard.

mod append;
mod assemble;
mod buffers;
mod chunk_reuse;
mod data;
mod encode;
mod gather;
mod min_match;
mod pipeline;
mod plan;
mod rows;
mod table;

pub use data::Data;
pub use pipeline::{WriteOptions, Writing, Written};
pub use rows::Rows;
pub use table::TableRows;
pub(crate) use table::string_sum;
