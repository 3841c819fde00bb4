//! Contexts of the C libraries, kept between calls, with private pointers.

mod deflate;
mod deflate_framing;
mod zstd;

pub(crate) use deflate::{Deflater, InflateError, Inflater};
pub(crate) use deflate_framing::{DeflateStream, Framing};
pub(crate) use zstd::{Compressor, Decompressor};
