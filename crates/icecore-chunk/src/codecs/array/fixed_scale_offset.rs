//! `numcodecs.fixedscaleoffset`: round((value − offset) · scale), with NumPy's type promotion.

use half::f16;
use icecore_grid::Result;
use serde_json::Value;

use super::cast_rules::Target;
use super::conversion::{Conversion, Converted, target};
use super::delta::{names, names_native};
use super::numpy_cast::{as_type, named, other_type};
use super::real::Real;
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_str};

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["numcodecs.fixedscaleoffset"];

#[derive(Debug)]
struct FixedScaleOffset {
    outer: Target,
    stored: Target,
    offset: Real,
    scale: Real,
}

/// The codec and its inner chain, for elements of `dtype`.
pub(crate) fn parse(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Converted> {
    let kept = ext.get("astype").is_some();
    // As for `delta`: without `astype` zarr-python interprets the elements in another byte order.
    let same = if kept { names } else { names_native };
    if !same(dtype, config_str(ext, "dtype")?) {
        return Err(other_type(ext, "dtype", dtype));
    }
    let stored = if kept { named(ext, "astype")? } else { dtype.clone() };
    let conversion = FixedScaleOffset {
        outer: target(dtype),
        stored: target(&stored),
        offset: scalar(ext, "offset")?,
        scale: scalar(ext, "scale")?,
    };
    if conversion.scale.float() == 0.0 {
        return Err(bad_config(ext, "scale", "any number but 0"));
    }
    Converted::new(ext, dtype, stored, fill, Box::new(conversion), rest)
}

fn scalar(ext: &Extension, key: &str) -> Result<Real> {
    let value = ext.get(key).unwrap_or(&Value::Null);
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let found = whole.map(Real::Int).or_else(|| value.as_f64().map(Real::Float));
    found.ok_or_else(|| bad_config(ext, key, "a number"))
}

/// Rounds a result to the type of NumPy's operation: float64 for integer operands. One operation in float64, rounded to
/// a narrower type, equals that type's own operation, because float64 has more than twice the digits.
fn held(value: f64, of: Target) -> f64 {
    match of {
        Target::Half => f16::from_f64(value).to_f64(),
        Target::Single => f64::from(value as f32),
        _ => value,
    }
}

/// The value after conversion to an integer type.
fn fits(value: i128, of: Target) -> Option<Real> {
    match of {
        Target::Int { min, max } => (min..=max).contains(&value).then_some(Real::Int(value)),
        _ => None,
    }
}

impl Conversion for FixedScaleOffset {
    fn asks_for_fill(&self) -> bool {
        false
    }

    // NumPy's integers would wrap here, which no decoder can undo: no result.
    fn encode_one(&self, value: Real) -> Option<Real> {
        let float = |x: f64| held(x, self.outer);
        let difference = match (value, self.offset) {
            (Real::Int(a), Real::Int(b)) => fits(a - b, self.outer)?,
            (a, b) => Real::Float(float(a.float() - float(b.float()))),
        };
        let product = match (difference, self.scale) {
            (Real::Int(a), Real::Int(b)) => fits(a.checked_mul(b)?, self.outer)?,
            (a, b) => Real::Float(float(a.float() * float(b.float())).round_ties_even()),
        };
        as_type(product, self.stored)
    }

    fn decode_one(&self, value: Real) -> Option<Real> {
        let float = |x: f64| held(x, self.stored);
        let quotient = float(value.float() / float(self.scale.float()));
        as_type(Real::Float(float(quotient + float(self.offset.float()))), self.outer)
    }
}
