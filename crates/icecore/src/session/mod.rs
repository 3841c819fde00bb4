//! A repository opened for one program or service: a version's node tree, its arrays, limits, and reads by path and
//! selection text.
//!
//! `tree` lists the nodes, `picks` resolves a selection, `blocks` divides it into reads of bounded size, `arrays`
//! caches opened arrays, `read` runs the read pipeline.

mod arrays;
mod blocks;
mod limits;
mod open;
mod picks;
mod read;
mod tree;

pub use limits::Limits;
pub use open::Session;
pub use picks::{Pick, Picks};
pub use read::Values;
pub use tree::{Node, Tree};
