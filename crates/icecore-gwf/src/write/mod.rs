//! Writer of frame files (GWF version 8, little-endian) with table of contents, checksums and history.

mod body;
mod dictionary;
mod encode;
mod file;
mod frame;
mod suppress;
mod toc;

pub use encode::{Compress, EncodedVect, encode_vect};
pub use file::{ChannelFields, Counts, FrameWriter, History};
pub use frame::FrameFields;
