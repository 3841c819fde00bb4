//! Parser and decoders for CERN ROOT files: directories, `TTree` with its baskets, and `RNTuple` with its pages.
//!
//! [`File::open`] reads through [`icecore_grid::ReadAt`]: a local file, memory or a remote object.

mod basket;
mod branch;
mod compression;
mod cpp_type;
mod cursor;
mod decode;
#[cfg(test)]
mod decode_table;
mod directory;
mod dtype;
mod embedded;
mod file;
mod interpret;
mod interpretation;
mod key;
mod layout;
mod leaf;
mod object;
mod parts;
mod reduced;
mod source;
mod streamer;
mod tree;
mod values;

pub mod ntuple;

#[doc(hidden)]
pub mod fuzzing;

pub use basket::{Basket, Counts};
pub use branch::{BasketRange, Branch};
pub use compression::Expander;
pub use decode::Column;
pub use dtype::DType;
pub use embedded::Embedded;
pub use file::File;
pub use interpretation::{Field, Interpretation};
pub use key::Key;
pub use layout::{Form, Layout};
pub use leaf::Leaf;
pub use parts::{Part, PartKind};
pub use streamer::{Streamer, StreamerElement};
pub use tree::Tree;
pub use values::Values;
