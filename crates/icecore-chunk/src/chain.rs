//! Codec chain: converts an array chunk to its stored bytes and back.

use std::ops::Range;
use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::codecs::{ArrayCodec, BitRound, ByteStep, BytesCodec, Delta, Pco, Planes, Swap, Transpose};
use crate::dtype::DType;

/// Maximum decoded size of a chunk in bytes (1 TiB), a limit against hostile metadata.
pub(crate) const MAX_CHUNK: u64 = 1 << 40;

/// A parsed `codecs` list for arrays of one data type. Cheap to clone.
///
/// `decode` and `encode` are for types of fixed length, `decode_vlen` and `encode_vlen` for strings and byte strings.
#[derive(Debug, Clone)]
pub struct Chain {
    pub(crate) dtype: DType,
    pub(crate) arrays: Vec<ArrayStep>,
    pub(crate) serializer: Serializer,
    pub(crate) bytes: Vec<ByteStep>,
    pub(crate) codecs: Value,
    pub(crate) names: Vec<String>,
}

/// An array→array codec.
#[derive(Debug, Clone)]
pub(crate) enum ArrayStep {
    Transpose(Transpose),
    BitRound(BitRound),
    Delta(Delta),
}

/// The array→bytes codec.
#[derive(Debug, Clone)]
pub(crate) enum Serializer {
    Bytes(Swap),
    Pco(Pco),
    /// A codec that the registry parses (`Parse::Elements`, `Parse::Converting`); most contain codec lists.
    Own(Arc<dyn ArrayCodec>),
    /// u32 count, then u32 length and bytes of each element; UTF-8 is checked.
    Vlen {
        utf8: bool,
    },
}

/// Two chains are equal when they were parsed from the same list for the same type.
impl PartialEq for Chain {
    fn eq(&self, other: &Chain) -> bool {
        self.codecs == other.codecs && self.dtype == other.dtype
    }
}

impl Chain {
    /// The codecs' names, in metadata order.
    pub fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The stored length of a chunk of this shape, if the shape determines it (no compression, as in the usual chain of
    /// a shard index).
    pub fn fixed_len(&self, shape: &[u64]) -> Option<usize> {
        match self.serializer {
            Serializer::Bytes(_) => {}
            _ => return None,
        }
        let raw = self.raw_len(shape).ok()?;
        self.bytes.iter().try_fold(raw, |len, step| step.encoded_len(len))
    }

    /// The planes of a chunk, if its first planes can be fetched and decoded alone: `icecore.byteplanes` of floats as
    /// the last codec, after no codec that combines numbers.
    pub fn planes(&self) -> Option<&dyn Planes> {
        let mixed = self.arrays.iter().any(|step| matches!(step, ArrayStep::Delta(_)));
        match &self.serializer {
            Serializer::Own(codec) if self.bytes.is_empty() && !mixed => codec.planes(),
            _ => None,
        }
    }

    /// The bytes of an encoded chunk that may be a chunk of another array, if only checksums follow the codec that
    /// contains it.
    pub(crate) fn contained(&self, stored: &[u8]) -> Option<Range<usize>> {
        let checksums = self.names.iter().rev().take_while(|name| *name == "crc32c").count();
        match &self.serializer {
            Serializer::Own(codec) if checksums == self.bytes.len() => {
                codec.contained(&stored[..stored.len().checked_sub(4 * checksums)?])
            }
            _ => None,
        }
    }

    /// The codec, if it is the only one and receives the elements unchanged.
    pub(crate) fn only_codec(&self) -> Option<&dyn BytesCodec> {
        match (&self.serializer, self.bytes.as_slice()) {
            (Serializer::Bytes(swap), [ByteStep::Codec(codec)]) if swap.is_none() && self.arrays.is_empty() => {
                Some(codec.as_ref())
            }
            _ => None,
        }
    }

    /// Bytes of a decoded chunk.
    pub(crate) fn raw_len(&self, shape: &[u64]) -> Result<usize> {
        raw_len(shape, self.dtype.size())
    }

    /// The length after decoding step `index` of the bytes→bytes codecs, if it is known.
    pub(crate) fn decoded_len(&self, index: usize, raw: Option<usize>) -> Option<usize> {
        self.bytes[..index].iter().try_fold(raw?, |len, step| step.encoded_len(len))
    }
}

/// Bytes of a chunk of this shape; `Unsupported` above one tebibyte.
pub(crate) fn raw_len(shape: &[u64], itemsize: usize) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(itemsize as u64, |len, n| len.checked_mul(*n))
        .filter(|len| *len <= MAX_CHUNK)
        .and_then(|len| usize::try_from(len).ok())
        .ok_or_else(|| {
            let what = format!("a chunk of {shape:?} elements of {itemsize} bytes; at most {MAX_CHUNK} bytes are read");
            Error::new(ErrorKind::Unsupported, what)
                .hint("the metadata may be damaged; otherwise choose smaller chunks")
        })
}
