//! One open repository for one program or service: a version's node tree, its arrays, limits, and reads by path and selection text.
//!
//! `tree` lists the nodes, `picks` resolves a selection, `blocks` divides it into reads of bounded size, `arrays` keeps the
//! arrays that were opened, `read` runs the read pipeline.

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
