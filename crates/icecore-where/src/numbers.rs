//! Convert constants to the dtype of a column.
//!
//! Integer columns compare exactly: `n > 2.5` is `n >= 3`, and constants out of range match nothing or everything. For
//! float columns the constant is rounded to the column's dtype, as in NumPy: `x = 0.1` finds values stored as 0.1.

use half::f16;
use icecore_chunk::DType;

use crate::ranges::{Fitted, Steps};

/// A numeric constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constant {
    Int(i128),
    Float(f64),
}

impl Constant {
    pub fn value(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }
}

/// Kind of values of a column, for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    Int,
    Float16,
    Float32,
    Float64,
    Text,
}

pub(crate) fn domain(dtype: &DType) -> Option<Domain> {
    Some(match dtype {
        DType::Bool | DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => Domain::Int,
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => Domain::Int,
        DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => Domain::Int,
        DType::Float16 => Domain::Float16,
        DType::Float32 => Domain::Float32,
        DType::Float64 => Domain::Float64,
        DType::Bytes(_) | DType::Utf32(_) | DType::VlenUtf8 => Domain::Text,
        _ => return None,
    })
}

/// Wider than any integer dtype, so that steps can't overflow.
const LIMIT: i128 = 1 << 100;

pub(crate) static INT: Steps<i128> = Steps { up: |n| n + 1, down: |n| n - 1, lowest: -LIMIT, highest: LIMIT };

pub(crate) fn fit_int(constant: Constant) -> Option<Fitted<i128>> {
    match constant {
        Constant::Int(n) => {
            let n = n.clamp(-LIMIT, LIMIT);
            Some(Fitted { floor: n, ceil: n })
        }
        Constant::Float(x) if x.is_nan() => None,
        Constant::Float(x) => {
            let limit = LIMIT as f64;
            let whole = |x: f64| x.clamp(-limit, limit) as i128;
            Some(Fitted { floor: whole(x.floor()), ceil: whole(x.ceil()) })
        }
    }
}

pub(crate) static FLOAT64: Steps<f64> =
    Steps { up: f64::next_up, down: f64::next_down, lowest: f64::NEG_INFINITY, highest: f64::INFINITY };
pub(crate) static FLOAT16: Steps<f64> =
    Steps { up: |x| next16(x, 1), down: |x| next16(x, -1), lowest: f64::NEG_INFINITY, highest: f64::INFINITY };
pub(crate) static FLOAT32: Steps<f64> = Steps {
    up: |x| f64::from((x as f32).next_up()),
    down: |x| f64::from((x as f32).next_down()),
    lowest: f64::NEG_INFINITY,
    highest: f64::INFINITY,
};

/// The neighbour of a float16: without the sign, the bit patterns are ordered.
fn next16(x: f64, step: i32) -> f64 {
    let bits = i32::from(f16::from_f64(x).to_bits());
    let place = if bits & 0x8000 == 0 { bits } else { -(bits & 0x7fff) };
    let next = (place + step).clamp(-0x7c00, 0x7c00); // the infinities
    f16::from_bits(if next < 0 { 0x8000 | (-next) as u16 } else { next as u16 }).to_f64()
}

/// None for NaN, which is not comparable.
pub(crate) fn fit_float(constant: Constant, domain: Domain) -> Option<Fitted<f64>> {
    let x = constant.value();
    let (rounded, largest) = match domain {
        Domain::Float16 => (f16::from_f64(x).to_f64(), f16::MAX.to_f64()),
        Domain::Float32 => (f64::from(x as f32), f64::from(f32::MAX)),
        _ => (x, f64::MAX),
    };
    if x.is_nan() {
        return None;
    }
    // A number too large for the dtype is between its largest finite value and infinity.
    Some(match (x.is_finite(), rounded) {
        (true, f64::INFINITY) => Fitted { floor: largest, ceil: f64::INFINITY },
        (true, f64::NEG_INFINITY) => Fitted { floor: f64::NEG_INFINITY, ceil: -largest },
        _ => Fitted { floor: rounded, ceil: rounded },
    })
}

pub(crate) fn float_steps(domain: Domain) -> &'static Steps<f64> {
    match domain {
        Domain::Float16 => &FLOAT16,
        Domain::Float32 => &FLOAT32,
        _ => &FLOAT64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Op;

    #[test]
    fn whole_numbers_compare_exactly_with_fractions() {
        let fitted = fit_int(Constant::Float(2.5)).unwrap();
        assert_eq!(fitted.related(Op::Greater, &INT), [(3, LIMIT)]);
        assert_eq!(fitted.related(Op::LessEqual, &INT), [(-LIMIT, 2)]);
        assert!(fitted.related(Op::Equal, &INT).is_empty());
        assert_eq!(fit_int(Constant::Int(7)).unwrap().related(Op::Less, &INT), [(-LIMIT, 6)]);
    }

    #[test]
    fn floats_round_to_the_column() {
        let tenth = fit_float(Constant::Float(0.1), Domain::Float32).unwrap();
        assert_eq!(tenth.related(Op::Equal, &FLOAT32), [(f64::from(0.1f32), f64::from(0.1f32))]);
        let above = tenth.related(Op::Greater, &FLOAT32);
        assert_eq!(above[0].0, f64::from(0.1f32.next_up()));
        let step = |x: f64| ((FLOAT16.down)(x), (FLOAT16.up)(x));
        assert_eq!(step(1.0), (1.0 - 2f64.powi(-11), 1.0 + 2f64.powi(-10)));
        assert_eq!(step(0.0), (-2f64.powi(-24), 2f64.powi(-24)));
        assert_eq!(step(-65504.0), (f64::NEG_INFINITY, -65472.0));
        assert_eq!(step(f64::INFINITY), (65504.0, f64::INFINITY));
        let huge = fit_float(Constant::Float(1e300), Domain::Float32).unwrap();
        assert_eq!(huge.related(Op::Less, &FLOAT32), [(f64::NEG_INFINITY, f64::from(f32::MAX))]);
        assert!(huge.related(Op::Equal, &FLOAT32).is_empty());
        let most = fit_float(Constant::Float(f64::INFINITY), Domain::Float64).unwrap();
        assert!(most.related(Op::Greater, &FLOAT64).is_empty());
    }
}
