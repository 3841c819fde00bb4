//! Codecs, grouped by their kind in Zarr.
//!
//! - [`bytes`]: bytes→bytes codecs (compressors, shuffles, checksums), registered in `byte_table`.
//! - [`array`]: array→array codecs, and array→bytes codecs that other libraries define. Those that change values or their
//!   type are registered in `convert_table`.
//! - [`own`]: codecs that icecore defines, registered in `array_table` (`icecore.decimal` and `icecore.offset` in `convert_table`).
//!
//! To add a codec, write one file in a directory and one row in a table.

pub(crate) mod array;
mod array_codec;
mod array_table;
mod byte_codec;
mod byte_table;
pub(crate) mod bytes;
mod convert_table;
pub(crate) mod own;
mod plane_split;
#[cfg(target_arch = "x86_64")]
mod plane_split_x86;
mod planes;
mod prefix_sum;
mod word;

pub(crate) use array::{BitRound, Delta, Pco, Swap, Transpose};
pub(crate) use array_codec::ArrayCodec;
pub(crate) use array_table::{array_table, is_array_codec};
pub(crate) use byte_codec::BytesCodec;
pub(crate) use byte_table::{ByteStep, byte_table};
pub use bytes::{crc32, crc32c};
pub(crate) use convert_table::{convert_table, is_converting};
pub use planes::Planes;
