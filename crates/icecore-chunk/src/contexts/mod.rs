//! What the C libraries want kept between calls, with their pointers out of sight.

mod deflate;
mod deflate_framing;
mod zstd;

pub(crate) use deflate::{Deflater, InflateError, Inflater};
pub(crate) use deflate_framing::{DeflateStream, Framing};
pub(crate) use zstd::{Compressor, Decompressor};
