//! `cast_value`: store numbers as another type, by the rules of zarr-extensions.

use icecore_grid::Result;
use serde_json::Value;

use super::cast_rules::{OutOfRange, Rounding, Target, cast};
use super::conversion::{Conversion, Converted, target};
use super::real::{Real, load};
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_str, only_keys};
use crate::fill_value::parse_fill;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["cast_value"];

/// Maximum number of pairs in a map.
const MAX_PAIRS: usize = 1 << 16;

#[derive(Debug)]
struct CastValue {
    outer: Target,
    stored: Target,
    rounding: Rounding,
    beyond: OutOfRange,
    encode: Vec<(Real, Real)>,
    decode: Vec<(Real, Real)>,
}

/// The codec and its inner chain, for elements of `dtype`.
pub(crate) fn parse(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Converted> {
    only_keys(ext, &["data_type", "rounding", "out_of_range", "scalar_map"])?;
    let allowed = "a data type of integers or floats";
    let refused = || bad_config(ext, "data_type", allowed);
    let stored = DType::parse(ext.get("data_type").ok_or_else(refused)?)?;
    let rounding = match ext.get("rounding").map(|_| config_str(ext, "rounding")).transpose()? {
        None | Some("nearest-even") => Rounding::NearestEven,
        Some("nearest-away") => Rounding::NearestAway,
        Some("towards-zero") => Rounding::TowardsZero,
        Some("towards-positive") => Rounding::TowardsPositive,
        Some("towards-negative") => Rounding::TowardsNegative,
        Some(_) => {
            let names = "nearest-even, nearest-away, towards-zero, towards-positive, towards-negative";
            return Err(bad_config(ext, "rounding", names));
        }
    };
    let beyond = match ext.get("out_of_range").map(|_| config_str(ext, "out_of_range")).transpose()? {
        None => OutOfRange::Refuse,
        Some("clamp") => OutOfRange::Clamp,
        Some("wrap") if target(&stored).is_int() => OutOfRange::Wrap,
        Some(_) => return Err(bad_config(ext, "out_of_range", "clamp, or wrap for integers")),
    };
    let conversion = CastValue {
        outer: target(dtype),
        stored: target(&stored),
        rounding,
        beyond,
        encode: pairs(ext, "encode", dtype, &stored)?,
        decode: pairs(ext, "decode", &stored, dtype)?,
    };
    Converted::new(ext, dtype, stored, fill, Box::new(conversion), rest)
}

/// One direction of `scalar_map`: values of `from` are replaced by values of `to`.
fn pairs(ext: &Extension, key: &str, from: &DType, to: &DType) -> Result<Vec<(Real, Real)>> {
    let list = match ext.get("scalar_map").map(|map| map.get(key)) {
        None | Some(None | Some(Value::Null)) => return Ok(Vec::new()),
        Some(Some(list)) => list,
    };
    let refused = || bad_config(ext, "scalar_map", "lists of pairs of values of the two types");
    let list = list.as_array().filter(|list| list.len() <= MAX_PAIRS).ok_or_else(refused)?;
    let one = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([input, output]) => Some((scalar(input, from)?, scalar(output, to)?)),
        _ => None,
    };
    list.iter().map(|pair| one(pair).ok_or_else(refused)).collect()
}

/// A value in the spelling of fill values; the codec's own example also writes an infinity with a plus.
fn scalar(value: &Value, dtype: &DType) -> Option<Real> {
    let plain = Value::from("Infinity");
    let value = if value.as_str() == Some("+Infinity") { &plain } else { value };
    let mut found = Vec::new();
    load(dtype, &parse_fill(value, dtype).ok().filter(|_| !value.is_null())?, &mut found);
    found.first().copied()
}

impl CastValue {
    fn convert(&self, value: Real, map: &[(Real, Real)], to: Target, beyond: OutOfRange) -> Option<Real> {
        match map.iter().find(|(key, _)| key.same(value)) {
            Some((_, mapped)) => Some(*mapped),
            None => cast(value, to, self.rounding, beyond),
        }
    }
}

impl Conversion for CastValue {
    fn encode_one(&self, value: Real) -> Option<Real> {
        self.convert(value, &self.encode, self.stored, self.beyond)
    }

    fn decode_one(&self, value: Real) -> Option<Real> {
        // Floats can't wrap, even if the stored integers do.
        let wraps = self.beyond == OutOfRange::Wrap && !self.outer.is_int();
        self.convert(value, &self.decode, self.outer, if wraps { OutOfRange::Refuse } else { self.beyond })
    }
}
