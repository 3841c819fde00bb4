//! The codecs, one file each. A new bytes→bytes codec is one file and one row in `table`.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Result};

use crate::extension::Extension;
use crate::scratch::{Buffer, Scratch};

mod bitround;
mod bitshuffle;
mod blosc;
mod blosc_frame;
mod blosclz;
mod bz2;
mod checksum;
pub(crate) mod deflate;
mod delta;
mod gzip;
mod h5bitshuffle;
mod h5lz4;
mod lz4;
mod lzf;
mod pco;
mod shuffle;
mod swap;
mod transpose;
#[cfg(target_arch = "x86_64")]
mod unshuffle_x86;
mod zlib;
pub(crate) mod zstd;

pub(crate) use bitround::BitRound;
pub(crate) use checksum::Checksum;
pub(crate) use delta::Delta;
pub(crate) use pco::Pco;
pub(crate) use swap::Swap;
pub(crate) use transpose::Transpose;

/// A bytes→bytes codec.
///
/// Decoders are given an output of exactly the decoded length and refuse (`Corrupt`) data of any other length.
pub(crate) trait BytesCodec: Debug + Send + Sync {
    /// The encoded length, for codecs where the decoded length alone decides it.
    fn encoded_len(&self, _decoded: usize) -> Option<usize> {
        None
    }

    /// Fills `out`. Only the bytes of `wanted` (a range of `out`) must be right on return.
    fn decode_into(&self, input: &[u8], out: &mut [u8], wanted: Range<usize>, scratch: &mut Scratch) -> Result<()>;

    /// Decodes where the length is not known beforehand (at most `cap` bytes); returns the length.
    fn decode_unsized(&self, input: &[u8], out: &mut Buffer, cap: usize, scratch: &mut Scratch) -> Result<usize>;

    /// Replaces `out` by the encoded bytes.
    fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()>;
}

/// One step between the serialised array and what is stored.
#[derive(Debug, Clone)]
pub(crate) enum ByteStep {
    Codec(Arc<dyn BytesCodec>),
    /// Checksums only add bytes at one end: decoding narrows a view and copies nothing.
    Checksum(Checksum),
}

impl ByteStep {
    pub fn encoded_len(&self, decoded: usize) -> Option<usize> {
        match self {
            ByteStep::Codec(codec) => codec.encoded_len(decoded),
            ByteStep::Checksum(_) => decoded.checked_add(4),
        }
    }
}

/// The table of bytes→bytes codecs: `None` for a name that is not one of them.
/// `itemsize` is the size of an array element, for codecs that guess it where their configuration does not say.
pub(crate) fn table(ext: &Extension, itemsize: usize) -> Result<Option<ByteStep>> {
    if let Some(checksum) = Checksum::parse(ext)? {
        return Ok(Some(ByteStep::Checksum(checksum)));
    }
    let codec: Arc<dyn BytesCodec> = match ext.name {
        "zlib" | "numcodecs.zlib" => Arc::new(zlib::Zlib::parse(ext)?),
        "gzip" | "numcodecs.gzip" => Arc::new(gzip::Gzip::parse(ext)?),
        "zstd" | "numcodecs.zstd" => Arc::new(zstd::Zstd::parse(ext)?),
        "lz4" | "numcodecs.lz4" => Arc::new(lz4::Lz4::parse(ext)?),
        "icecore.h5lz4" | "imagecodecs_lz4h5" => Arc::new(h5lz4::H5Lz4::parse(ext)?),
        "blosc" | "numcodecs.blosc" => Arc::new(blosc::Blosc::parse(ext, itemsize)?),
        "shuffle" | "numcodecs.shuffle" => Arc::new(shuffle::Shuffle::parse(ext)?),
        "icecore.h5bitshuffle" => Arc::new(h5bitshuffle::H5BitShuffle::parse(ext)?),
        "icecore.h5lzf" | "imagecodecs_lzf" => Arc::new(lzf::Lzf::parse(ext)?),
        "bz2" | "numcodecs.bz2" => Arc::new(bz2::Bz2::parse(ext)?),
        _ => return Ok(None),
    };
    Ok(Some(ByteStep::Codec(codec)))
}

/// Data that is not what its codec wrote.
pub(crate) fn corrupt(codec: &str, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{codec}: {}", what.into())).hint(
        "the stored bytes are damaged or were written with other codecs; `icecore verify --deep` finds all such chunks",
    )
}

/// Data that decodes to another length than the shape and type of the chunk ask for.
pub(crate) fn wrong_length(codec: &str, found: impl std::fmt::Display, expected: usize) -> Error {
    corrupt(codec, format!("decodes to {found} bytes, expected {expected}"))
}

/// A value of the configuration outside what the codec defines.
pub(crate) fn bad_config(ext: &Extension, key: &str, allowed: &str) -> Error {
    let found = ext.get(key).map_or("nothing".to_string(), |v| v.to_string().chars().take(60).collect());
    Error::new(ErrorKind::Format, format!("codec {}: {key} is {found}, allowed: {allowed}", ext.name))
}

/// The room for output of unknown length to start with.
pub(crate) fn first_guess(input: usize, cap: usize) -> usize {
    input.saturating_mul(4).clamp(4096, 1 << 26).min(cap)
}
