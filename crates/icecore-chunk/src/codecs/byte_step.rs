//! One bytes→bytes codec of a chain.

use std::sync::Arc;

use icecore_grid::Result;

use super::byte_codec::BytesCodec;
use crate::codecs::bytes::checksum::Checksum;
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
