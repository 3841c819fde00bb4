//! `numcodecs.packbits`: eight booleans per byte, the first in the highest bit, after a byte with the number of padding
//! bits.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::buffer::grow;
use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::corrupt;
use crate::extension::Extension;
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["numcodecs.packbits"];

#[derive(Debug)]
pub(crate) struct PackBits {
    inner: Chain,
}

impl PackBits {
    /// `rest` is the list of the codecs that follow, a chain for bytes.
    pub fn parse(ext: &Extension, dtype: &DType, rest: &[Value]) -> Result<PackBits> {
        if *dtype != DType::Bool {
            return Err(Error::new(ErrorKind::Unsupported, format!("{} of {}", ext.name, dtype.to_json()))
                .hint("it supports booleans"));
        }
        Ok(PackBits { inner: Chain::parse(&Value::Array(rest.to_vec()), &DType::UInt8, &[0])? })
    }

    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }
}

impl ArrayCodec for PackBits {
    fn decode(
        &self,
        stored: &[u8],
        _shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let length = 1 + out.len().div_ceil(8);
        let mut buffer = scratch.take();
        let packed = buffer.sized(length)?;
        self.inner.decode(stored, &[length as u64], (0, length as u64), packed, scratch)?;
        if packed[0] as usize != (length - 1) * 8 - out.len() {
            let what = format!("{} bits are left over of {} for {} elements", packed[0], (length - 1) * 8, out.len());
            return Err(corrupt("numcodecs.packbits", what));
        }
        for (index, out) in out[wanted.clone()].iter_mut().enumerate() {
            let at = wanted.start + index;
            *out = packed[1 + at / 8] >> (7 - at % 8) & 1;
        }
        scratch.give(buffer);
        Ok(())
    }

    fn encode(&self, raw: &[u8], _shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let length = 1 + raw.len().div_ceil(8);
        let mut packed = Vec::new();
        grow(&mut packed, length)?;
        packed.fill(0);
        packed[0] = ((length - 1) * 8 - raw.len()) as u8;
        for (at, bit) in raw.iter().enumerate() {
            packed[1 + at / 8] |= u8::from(*bit != 0) << (7 - at % 8);
        }
        self.inner.append(&packed, &[length as u64], out, scratch)
    }
}
