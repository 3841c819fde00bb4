//! `numcodecs.astype` and `numcodecs.quantize`: store elements as another type, with NumPy's casting rules.

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use super::cast_rules::{OutOfRange, Rounding, Target, cast};
use super::conversion::{Conversion, Converted, target};
use super::delta::{names, names_native};
use super::real::Real;
use crate::dtype::DType;
use crate::extension::{Extension, config_str};

/// Name of the codec that casts.
pub(crate) const ASTYPE: &[&str] = &["numcodecs.astype"];

/// Name of the codec that rounds.
pub(crate) const QUANTIZE: &[&str] = &["numcodecs.quantize"];

const TYPES: [DType; 11] = [
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
    DType::Float16,
    DType::Float32,
    DType::Float64,
];

#[derive(Debug)]
struct NumpyCast {
    outer: Target,
    stored: Target,
    writes: bool,
}

/// `numcodecs.astype` and its inner chain, for elements of `dtype`.
pub(crate) fn parse_astype(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Converted> {
    let stored = named(ext, "encode_dtype")?;
    if ext.get("decode_dtype").is_some() && named(ext, "decode_dtype")? != *dtype {
        return Err(other_type(ext, "decode_dtype", dtype));
    }
    convert(ext, dtype, stored, true, fill, rest)
}

/// `numcodecs.quantize`: decoding is the identity. Its writers have never stored another type or byte order.
pub(crate) fn parse_quantize(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Converted> {
    for key in ["dtype", "astype"] {
        if ext.get(key).is_some() && !names_native(dtype, config_str(ext, key)?) {
            return Err(other_type(ext, key, dtype));
        }
    }
    convert(ext, dtype, dtype.clone(), false, fill, rest)
}

fn convert(
    ext: &Extension,
    dtype: &DType,
    stored: DType,
    writes: bool,
    fill: &[u8],
    rest: &[Value],
) -> Result<Converted> {
    let conversion = NumpyCast { outer: target(dtype), stored: target(&stored), writes };
    Converted::new(ext, dtype, stored, fill, Box::new(conversion), rest)
}

/// The type that a setting names, in NumPy's notation.
pub(crate) fn named(ext: &Extension, key: &str) -> Result<DType> {
    let text = config_str(ext, key)?;
    TYPES.into_iter().find(|dtype| names(dtype, text)).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, format!("codec {}: {key} is {text:?}", ext.name))
            .hint("integers and floats of up to 64 bits are read")
    })
}

pub(crate) fn other_type(ext: &Extension, key: &str, dtype: &DType) -> Error {
    let text = config_str(ext, key).unwrap_or_default();
    Error::new(
        ErrorKind::Unsupported,
        format!("codec {}: {key} is {text:?} in an array of {}", ext.name, dtype.to_json()),
    )
    .hint("the two have to be the same")
}

/// Converts a number as NumPy's `astype` does. For a float beyond the range of an integer type NumPy's result depends
/// on the machine: None.
pub(crate) fn as_type(value: Real, to: Target) -> Option<Real> {
    let (rounding, beyond) = match (value, to.is_int()) {
        (_, false) => (Rounding::NearestEven, OutOfRange::Clamp),
        (Real::Int(_), true) => (Rounding::NearestEven, OutOfRange::Wrap),
        (Real::Float(_), true) => (Rounding::TowardsZero, OutOfRange::Refuse),
    };
    cast(value, to, rounding, beyond)
}

impl Conversion for NumpyCast {
    fn writes(&self) -> bool {
        self.writes
    }

    fn asks_for_fill(&self) -> bool {
        false
    }

    fn encode_one(&self, value: Real) -> Option<Real> {
        as_type(value, self.stored)
    }

    fn decode_one(&self, value: Real) -> Option<Real> {
        as_type(value, self.outer)
    }
}
