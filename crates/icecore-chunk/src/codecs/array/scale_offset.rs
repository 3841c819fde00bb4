//! `scale_offset`: (value − offset) · scale, in the arithmetic of the array's own type. Source: zarr-extensions.

use half::f16;
use icecore_grid::Result;
use serde_json::Value;

use super::cast_rules::Target;
use super::conversion::{Conversion, Converted, target};
use super::real::{Real, load};
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, only_keys};
use crate::fill_value::parse_fill;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["scale_offset"];

#[derive(Debug)]
struct ScaleOffset {
    target: Target,
    offset: Real,
    scale: Real,
}

/// The codec and its inner chain, for elements of `dtype`.
pub(crate) fn parse(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Converted> {
    only_keys(ext, &["offset", "scale"])?;
    let conversion = ScaleOffset {
        target: target(dtype),
        offset: scalar(ext, "offset", dtype, 0)?,
        scale: scalar(ext, "scale", dtype, 1)?,
    };
    if matches!(conversion.scale, Real::Int(0) | Real::Float(0.0)) {
        return Err(bad_config(ext, "scale", "any number but 0"));
    }
    Converted::new(ext, dtype, dtype.clone(), fill, Box::new(conversion), rest)
}

fn scalar(ext: &Extension, key: &str, dtype: &DType, default: i64) -> Result<Real> {
    let refused = || bad_config(ext, key, &format!("a value of the type {}", dtype.to_json()));
    let default = Value::from(default);
    let bytes = parse_fill(ext.get(key).unwrap_or(&default), dtype).map_err(|_| refused())?;
    let mut found = Vec::new();
    load(dtype, &bytes, &mut found);
    // Not a number: see `parse`.
    Ok(found.first().copied().unwrap_or(Real::Int(1)))
}

impl ScaleOffset {
    /// A number rounded to the type after one operation; `None` beyond the range of an integer type.
    fn held(&self, value: Real) -> Option<Real> {
        match (self.target, value) {
            (Target::Int { min, max }, Real::Int(k)) => (min..=max).contains(&k).then_some(value),
            (Target::Half, Real::Float(x)) => Some(Real::Float(f16::from_f64(x).to_f64())),
            (Target::Single, Real::Float(x)) => Some(Real::Float(f64::from(x as f32))),
            _ => Some(value),
        }
    }
}

impl Conversion for ScaleOffset {
    // One operation in float64, rounded to a narrower type, equals that type's own operation: float64 has more than
    // twice the digits.
    fn encode_one(&self, value: Real) -> Option<Real> {
        let difference = match (value, self.offset) {
            (Real::Int(a), Real::Int(b)) => Real::Int(a - b),
            (Real::Float(a), Real::Float(b)) => Real::Float(a - b),
            _ => return None,
        };
        match (self.held(difference)?, self.scale) {
            (Real::Int(a), Real::Int(b)) => self.held(Real::Int(a * b)),
            (Real::Float(a), Real::Float(b)) => self.held(Real::Float(a * b)),
            _ => None,
        }
    }

    fn decode_one(&self, value: Real) -> Option<Real> {
        let quotient = match (value, self.scale) {
            (Real::Int(a), Real::Int(b)) if a % b == 0 => Real::Int(a / b),
            (Real::Float(a), Real::Float(b)) => Real::Float(a / b),
            _ => return None,
        };
        match (self.held(quotient)?, self.offset) {
            (Real::Int(a), Real::Int(b)) => self.held(Real::Int(a + b)),
            (Real::Float(a), Real::Float(b)) => self.held(Real::Float(a + b)),
            _ => None,
        }
    }
}
