//! The write pipeline: plan → gather → encode → append. One file per stage.
//!
//! A caller passes boxes of whole shards (or whole chunks if an array has no shards). They are encoded on the pool
//! while the caller prepares the next ones; it waits if more than a budget of bytes is queued. Rows at the end of an
//! array (`rows`, those of a `table`) are encoded chunk by chunk, before a shard is complete.

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
mod unshard;

pub use data::Data;
pub use pipeline::{Places, WriteOptions, Writing, Written};
pub use rows::Rows;
pub use table::TableRows;
pub(crate) use table::string_sum;
