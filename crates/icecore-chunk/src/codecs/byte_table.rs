//! Table of bytes→bytes codecs. To add one, add a file and a row here.

use std::sync::Arc;

use icecore_grid::Result;

use super::byte_codec::BytesCodec;
use crate::codecs::bytes::blosc::Blosc;
use crate::codecs::bytes::bz2::Bz2;
use crate::codecs::bytes::checksum::Checksum;
use crate::codecs::bytes::gzip::Gzip;
use crate::codecs::bytes::h5bitshuffle::H5BitShuffle;
use crate::codecs::bytes::h5lz4::H5Lz4;
use crate::codecs::bytes::lz4::Lz4;
use crate::codecs::bytes::lzf::Lzf;
use crate::codecs::bytes::lzma::Lzma;
use crate::codecs::bytes::shuffle::Shuffle;
use crate::codecs::bytes::zlib::Zlib;
use crate::codecs::bytes::zstd::Zstd;
use crate::extension::Extension;
use crate::scratch::Scratch;

/// One step between the serialized array and the stored bytes.
#[derive(Debug, Clone)]
pub(crate) enum ByteStep {
    Codec(Arc<dyn BytesCodec>),
    /// Checksums only add bytes at one end: decoding shortens a view and copies nothing.
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

impl ByteStep {
    /// Whether it is a checksum after the data.
    pub fn is_sum_behind(&self) -> bool {
        matches!(self, ByteStep::Checksum(sum) if sum.is_behind())
    }

    /// Appends the encoded bytes to `out`.
    pub fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        match self {
            ByteStep::Codec(codec) => codec.encode(input, out, scratch),
            ByteStep::Checksum(sum) => {
                sum.encode(input, out);
                Ok(())
            }
        }
    }

    /// Replaces `out` by the encoded bytes.
    pub fn encode_over(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if let ByteStep::Codec(codec) = self {
            return codec.encode_over(input, out, scratch);
        }
        out.clear();
        self.encode(input, out, scratch)
    }
}

/// The table of bytes→bytes codecs: `None` for an unknown name. `itemsize` is the size of an array element, the default
/// of codecs whose configuration omits it.
pub(crate) fn byte_table(ext: &Extension, itemsize: usize) -> Result<Option<ByteStep>> {
    if let Some(checksum) = Checksum::parse(ext)? {
        return Ok(Some(ByteStep::Checksum(checksum)));
    }
    let codec: Arc<dyn BytesCodec> = match ext.name {
        "zlib" | "numcodecs.zlib" => Arc::new(Zlib::parse(ext)?),
        "gzip" | "numcodecs.gzip" => Arc::new(Gzip::parse(ext)?),
        "zstd" | "numcodecs.zstd" => Arc::new(Zstd::parse(ext)?),
        "lz4" | "numcodecs.lz4" => Arc::new(Lz4::parse(ext)?),
        "icecore.h5lz4" | "imagecodecs_lz4h5" => Arc::new(H5Lz4::parse(ext)?),
        "blosc" | "numcodecs.blosc" => Arc::new(Blosc::parse(ext, itemsize)?),
        "shuffle" | "numcodecs.shuffle" => Arc::new(Shuffle::parse(ext, itemsize)?),
        "icecore.h5bitshuffle" => Arc::new(H5BitShuffle::parse(ext)?),
        "icecore.h5lzf" | "imagecodecs_lzf" => Arc::new(Lzf::parse(ext)?),
        "bz2" | "numcodecs.bz2" => Arc::new(Bz2::parse(ext)?),
        "numcodecs.lzma" => Arc::new(Lzma::parse(ext)?),
        _ => return Ok(None),
    };
    Ok(Some(ByteStep::Codec(codec)))
}
