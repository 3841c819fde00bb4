//! Bytes→bytes codecs: compressors, shuffles and checksums.

pub(super) mod bitshuffle;
#[cfg(target_arch = "x86_64")]
mod bitshuffle_x86;
pub(super) mod blosc;
mod blosc_block;
mod blosc_frame;
mod blosclz;
pub(super) mod bz2;
pub(super) mod checksum;
pub(super) mod gzip;
pub(super) mod h5bitshuffle;
pub(super) mod h5lz4;
pub(super) mod lz4;
mod lz4_runs;
pub(super) mod lzf;
pub(super) mod lzma;
mod one_shot;
pub(super) mod shuffle;
mod stream;
#[cfg(target_arch = "x86_64")]
mod unshuffle_x86;
pub(super) mod zlib;
pub(super) mod zstd;

pub use checksum::{crc32, crc32c};
