//! The write pipeline: plan → gather → encode → append. One file a stage.
//!
//! A caller hands over boxes of whole shards (or whole chunks where an array has no shards); they are encoded on the pool
//! while the caller makes the next ones, and it waits when more than a budget of bytes is on its way.

mod append;
mod assemble;
mod buffers;
mod data;
mod encode;
mod gather;
mod keep;
mod pipeline;
mod plan;

pub use data::Data;
pub use pipeline::{WriteOptions, Writing, Written};
