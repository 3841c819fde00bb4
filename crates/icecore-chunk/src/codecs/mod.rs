//! The codecs, one file each.

mod bitround;
mod bitshuffle;
mod blosc;
mod blosc_frame;
mod blosclz;
mod bz2;
mod checksum;
mod codec;
mod delta;
mod gzip;
mod h5bitshuffle;
mod h5lz4;
mod lz4;
mod lzf;
mod pco;
mod shuffle;
mod swap;
mod table;
mod transpose;
#[cfg(target_arch = "x86_64")]
mod unshuffle_x86;
mod zlib;
mod zstd;

pub(crate) use bitround::BitRound;
pub(crate) use delta::Delta;
pub(crate) use pco::Pco;
pub(crate) use swap::Swap;
pub(crate) use table::{ByteStep, table};
pub(crate) use transpose::Transpose;
