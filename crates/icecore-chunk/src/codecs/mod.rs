//! The codecs, one file each.

mod array_codec;
mod array_table;
mod bitround;
mod bitshuffle;
#[cfg(target_arch = "x86_64")]
mod bitshuffle_x86;
mod blosc;
mod blosc_block;
mod blosc_frame;
mod blosclz;
mod byteplanes;
mod byteplanes_escape;
mod byteplanes_float;
mod byteplanes_head;
mod byteplanes_merge;
#[cfg(target_arch = "x86_64")]
mod byteplanes_merge_x86;
mod byteplanes_raw;
mod bz2;
mod cast_rules;
mod cast_value;
mod checksum;
mod choice;
mod codec;
mod convert_table;
mod converted;
mod decimal;
mod decimal_number;
mod delta;
mod fixed_scale_offset;
mod fpc;
mod gzip;
mod h5bitshuffle;
mod h5lz4;
mod lz4;
mod lz4_runs;
mod lzf;
mod lzma;
mod nested_shard;
mod numpy_cast;
mod packbits;
mod packed_bits;
mod pco;
#[cfg(target_arch = "x86_64")]
mod pco_page;
#[cfg(target_arch = "x86_64")]
mod pco_table;
mod planes;
mod predict;
mod real;
mod reshape;
mod scale_offset;
mod scan;
mod shuffle;
mod stream;
mod swap;
mod table;
mod transpose;
#[cfg(target_arch = "x86_64")]
mod unshuffle_x86;
mod whole;
mod word;
mod zlib;
mod zstd;

pub(crate) use array_codec::ArrayCodec;
pub(crate) use array_table::{array_table, is_array_codec};
pub(crate) use bitround::BitRound;
pub use checksum::{crc32, crc32c};
pub(crate) use codec::BytesCodec;
pub(crate) use convert_table::{convert_table, is_converting};
pub(crate) use delta::Delta;
pub(crate) use pco::Pco;
pub use planes::Planes;
pub(crate) use swap::Swap;
pub(crate) use table::{ByteStep, table};
pub(crate) use transpose::Transpose;
