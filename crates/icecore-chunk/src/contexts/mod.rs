//! Contexts of the C libraries, kept between calls; the pointers are private.

mod deflate;
mod deflate_framing;
mod zstd;

pub(crate) use deflate::{Deflater, InflateError, Inflater};
pub(crate) use deflate_framing::{DeflateStream, Framing};
pub(crate) use zstd::{Compressor, Decompressor};
