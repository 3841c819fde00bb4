//! What the C libraries want kept between calls, with their pointers out of sight.

mod deflate;
mod deflated;
mod zstd;

pub(crate) use deflate::{Deflater, InflateError, Inflater};
pub(crate) use deflated::{Deflated, Framing};
pub(crate) use zstd::{Compressor, Decompressor};
