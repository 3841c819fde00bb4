//! Array→array codecs that change values, and possibly their type: the codecs that follow form an inner chain.

use std::fmt::Debug;
use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use super::cast_rules::Target;
use super::real::{Real, is_real, load, store};
use crate::buffer::grow;
use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::corrupt;
use crate::extension::Extension;
use crate::scratch::Scratch;

/// Elements converted together.
const BLOCK: usize = 256;

/// Conversion of one number; None if the codec has no result for it.
pub(crate) trait Conversion: Debug + Send + Sync {
    /// Whether `encode` does the same as other writers; otherwise the codec is read-only.
    fn writes(&self) -> bool {
        true
    }
    /// Whether the codec's definition requires an encoded fill value. Otherwise zero replaces a fill value that can't be
    /// encoded (such as NaN as an integer); only missing inner chunks of shards would show it.
    fn asks_for_fill(&self) -> bool {
        true
    }
    fn encode_one(&self, value: Real) -> Option<Real>;
    fn decode_one(&self, value: Real) -> Option<Real>;

    /// Converts many numbers in place. `Err` is the index of one without a result.
    fn encode(&self, values: &mut [Real]) -> std::result::Result<(), usize> {
        each(values, |value| self.encode_one(value))
    }
    fn decode(&self, values: &mut [Real]) -> std::result::Result<(), usize> {
        each(values, |value| self.decode_one(value))
    }
}

fn each(values: &mut [Real], convert: impl Fn(Real) -> Option<Real>) -> std::result::Result<(), usize> {
    for (index, value) in values.iter_mut().enumerate() {
        *value = convert(*value).ok_or(index)?;
    }
    Ok(())
}

/// Target type of a conversion. For other types, [`Converted::new`] returns an error with the type's name.
pub(crate) fn target(dtype: &DType) -> Target {
    Target::of(dtype).unwrap_or(Target::Double)
}

/// A conversion of elements of `outer` to elements of the inner chain's type.
#[derive(Debug)]
pub(crate) struct Converted {
    name: String,
    outer: DType,
    conversion: Box<dyn Conversion>,
    inner: Chain,
}

impl Converted {
    /// `rest` is the list of the codecs that follow, for elements of `stored`; the array's fill value is converted for
    /// them.
    pub fn new(
        ext: &Extension,
        outer: &DType,
        stored: DType,
        fill: &[u8],
        conversion: Box<dyn Conversion>,
        rest: &[Value],
    ) -> Result<Converted> {
        for dtype in [outer, &stored] {
            if !is_real(dtype) {
                return Err(Error::new(ErrorKind::Unsupported, format!("codec {} of {}", ext.name, dtype.to_json()))
                    .hint("it supports integers and floats of up to 64 bits"));
            }
        }
        let mut values = Vec::new();
        load(outer, fill, &mut values);
        let mut inner_fill = Vec::new();
        match conversion.encode(&mut values) {
            Ok(()) => store(&stored, &values, &mut inner_fill),
            Err(_) if !conversion.asks_for_fill() => inner_fill.resize(stored.size(), 0),
            Err(_) => {
                let text = format!("codec {}: {} can't represent the array's fill value", ext.name, stored.to_json());
                return Err(Error::new(ErrorKind::Format, text).hint("the codec's definition asks for one"));
            }
        }
        let inner = Chain::parse(&Value::Array(rest.to_vec()), &stored, &inner_fill)?;
        Ok(Converted { name: ext.name.to_string(), outer: outer.clone(), conversion, inner })
    }

    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn misfit(&self, index: usize, value: Real, to: &DType) -> String {
        let number = match value {
            Real::Int(k) => k.to_string(),
            Real::Float(x) => format!("{x:?}"),
        };
        format!("element {index} of the chunk, {number}, can't be represented as {}", to.to_json())
    }
}

impl ArrayCodec for Converted {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (size, wide) = (self.inner.dtype().size(), self.outer.size());
        let elements = wanted.start / wide..wanted.end / wide;
        let inner_wanted = ((elements.start * size) as u64, (elements.end * size) as u64);
        let mut buffer = scratch.take();
        let bytes = buffer.sized(out.len() / wide * size)?;
        self.inner.decode(stored, shape, inner_wanted, bytes, scratch)?;
        let (mut values, mut block) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK * wide));
        let bytes = &bytes[elements.start * size..elements.end * size];
        let blocks = bytes.chunks(BLOCK * size).zip(out[wanted].chunks_mut(BLOCK * wide));
        for (number, (bytes, out)) in blocks.enumerate() {
            load(self.inner.dtype(), bytes, &mut values);
            if let Err(at) = self.conversion.decode(&mut values) {
                load(self.inner.dtype(), bytes, &mut values);
                let index = elements.start + number * BLOCK + at;
                return Err(corrupt(&self.name, self.misfit(index, values[at], &self.outer)));
            }
            block.clear();
            store(&self.outer, &values, &mut block);
            out.copy_from_slice(&block);
        }
        scratch.give(buffer);
        Ok(())
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if !self.conversion.writes() {
            return Err(Error::new(ErrorKind::Unsupported, format!("codec {} is read, not written", self.name))
                .hint("`bitround` rounds floats as well"));
        }
        let (size, wide) = (self.inner.dtype().size(), self.outer.size());
        let mut bytes = Vec::new();
        grow(&mut bytes, raw.len() / wide * size)?;
        bytes.clear();
        let mut values = Vec::with_capacity(BLOCK);
        for (number, block) in raw.chunks(BLOCK * wide).enumerate() {
            load(&self.outer, block, &mut values);
            if let Err(at) = self.conversion.encode(&mut values) {
                load(&self.outer, block, &mut values);
                let what = self.misfit(number * BLOCK + at, values[at], self.inner.dtype());
                return Err(Error::new(ErrorKind::Codec, format!("{}: {what}", self.name))
                    .hint("change the settings of the codec, or remove it"));
            }
            store(self.inner.dtype(), &values, &mut bytes);
        }
        self.inner.append(&bytes, shape, out, scratch)
    }
}
