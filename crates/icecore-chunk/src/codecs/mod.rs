//! Codecs, grouped by their kind in Zarr.
//!
//! - [`bytes`]: bytes→bytes codecs (compressors, shuffles, checksums).
//! - [`array`]: array→array codecs, and array→bytes codecs that other libraries define.
//! - [`own`]: codecs that icecore defines.
//!
//! To add a codec, write one file in a directory and one row in `registry`.

pub(crate) mod array;
mod array_codec;
mod byte_codec;
mod byte_step;
pub(crate) mod bytes;
pub(crate) mod own;
mod plane_split;
#[cfg(target_arch = "x86_64")]
mod plane_split_x86;
mod planes;
mod prefix_sum;
mod registry;
mod word;

pub use array::swap_uniform;
pub(crate) use array::{BitRound, Delta, Pco, Swap, Transpose};
pub(crate) use array_codec::ArrayCodec;
pub(crate) use byte_codec::BytesCodec;
pub(crate) use byte_step::ByteStep;
pub use bytes::{crc32, crc32c};
pub use planes::Planes;
pub use registry::codec_names;
pub(crate) use registry::{Parse, find};
