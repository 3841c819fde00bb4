//! Casting rules: rounding, and handling of numbers outside the range of the target type.
//!
//! Source of the rules: the `cast_value` codec of zarr-extensions.

use std::cmp::Ordering;

use half::f16;

use super::real::Real;
use crate::dtype::DType;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rounding {
    NearestEven,
    NearestAway,
    TowardsZero,
    TowardsPositive,
    TowardsNegative,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OutOfRange {
    Refuse,
    Clamp,
    Wrap,
}

/// Target type of a cast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    Int { min: i128, max: i128 },
    Half,
    Single,
    Double,
}

impl Target {
    /// `None` for types that are neither integers nor floats.
    pub fn of(dtype: &DType) -> Option<Target> {
        macro_rules! int {
            ($t:ty) => {
                Target::Int { min: i128::from(<$t>::MIN), max: i128::from(<$t>::MAX) }
            };
        }
        Some(match dtype {
            DType::Int8 => int!(i8),
            DType::Int16 => int!(i16),
            DType::Int32 => int!(i32),
            DType::Int64 => int!(i64),
            DType::UInt8 => int!(u8),
            DType::UInt16 => int!(u16),
            DType::UInt32 => int!(u32),
            DType::UInt64 => int!(u64),
            DType::Float16 => Target::Half,
            DType::Float32 => Target::Single,
            DType::Float64 => Target::Double,
            _ => return None,
        })
    }

    pub fn is_int(self) -> bool {
        matches!(self, Target::Int { .. })
    }

    /// The neighbour of `value` in the type, above or below it, or `value` itself; infinite beyond the type's range.
    fn nearest(self, value: Real) -> f64 {
        match (self, value) {
            (Target::Half, Real::Int(k)) => f16::from_f64(k as f64).to_f64(),
            (Target::Half, Real::Float(x)) => f16::from_f64(x).to_f64(),
            (Target::Single, Real::Int(k)) => f64::from(k as f32),
            (Target::Single, Real::Float(x)) => f64::from(x as f32),
            (_, Real::Int(k)) => k as f64,
            (_, Real::Float(x)) => x,
        }
    }

    /// The next number of the type above (or below) one of its numbers.
    fn beside(self, number: f64, up: bool) -> f64 {
        match self {
            Target::Half => {
                // Compared as integers: the bit patterns of negative numbers have the reverse order.
                let key = |bits: u16| if bits >> 15 == 1 { -i32::from(bits & 0x7fff) } else { i32::from(bits) };
                let next = key(f16::from_f64(number).to_bits()) + if up { 1 } else { -1 };
                let bits = next.unsigned_abs() as u16 | if next < 0 { 0x8000 } else { 0 };
                f16::from_bits(bits).to_f64()
            }
            Target::Single if up => f64::from((number as f32).next_up()),
            Target::Single => f64::from((number as f32).next_down()),
            _ if up => number.next_up(),
            _ => number.next_down(),
        }
    }

    /// Whether the last bit of a number of the type is 0.
    fn is_even(self, number: f64) -> bool {
        match self {
            Target::Half => f16::from_f64(number).to_bits() & 1 == 0,
            Target::Single => (number as f32).to_bits() & 1 == 0,
            _ => number.to_bits() & 1 == 0,
        }
    }

    /// Twice the power of two of the type's largest numbers: larger numbers are out of range with any rounding.
    fn beyond(self) -> f64 {
        match self {
            Target::Half => 65_536.0,
            Target::Single => 2f64.powi(128),
            _ => f64::INFINITY,
        }
    }
}

/// `value` as a number of the target, or `None` if the rules define none.
pub(crate) fn cast(value: Real, target: Target, rounding: Rounding, beyond: OutOfRange) -> Option<Real> {
    let Target::Int { min, max } = target else { return to_float(value, target, rounding, beyond) };
    let whole = match value {
        Real::Int(k) => k,
        Real::Float(x) if !x.is_finite() => return None,
        // Far beyond every type, and a multiple of 2⁶⁴: saturating keeps the sign, and the remainder is 0.
        Real::Float(x) if x.abs() >= 2f64.powi(120) && beyond == OutOfRange::Wrap => 0,
        Real::Float(x) => round(x, rounding) as i128,
    };
    if (min..=max).contains(&whole) {
        return Some(Real::Int(whole));
    }
    match beyond {
        OutOfRange::Refuse => None,
        OutOfRange::Clamp => Some(Real::Int(whole.clamp(min, max))),
        OutOfRange::Wrap => Some(Real::Int((whole - min).rem_euclid(max - min + 1) + min)),
    }
}

fn round(x: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => x.round_ties_even(),
        Rounding::NearestAway => x.round(),
        Rounding::TowardsZero => x.trunc(),
        Rounding::TowardsPositive => x.ceil(),
        Rounding::TowardsNegative => x.floor(),
    }
}

fn to_float(value: Real, target: Target, rounding: Rounding, beyond: OutOfRange) -> Option<Real> {
    let nearest = target.nearest(value);
    let below = match compare(nearest, value) {
        None | Some(Ordering::Equal) => return Some(Real::Float(nearest)),
        Some(Ordering::Less) => true,
        Some(Ordering::Greater) => false,
    };
    let other = target.beside(nearest, below);
    let (low, high) = if below { (nearest, other) } else { (other, nearest) };
    let negative = matches!(value, Real::Int(k) if k < 0) || matches!(value, Real::Float(x) if x < 0.0);
    let chosen = match (rounding, side(value, low, high, target)) {
        (Rounding::TowardsZero, _) if negative => high,
        (Rounding::TowardsPositive, _) => high,
        (Rounding::TowardsZero | Rounding::TowardsNegative, _) => low,
        (_, Ordering::Less) => low,
        (_, Ordering::Greater) => high,
        (Rounding::NearestAway, _) if negative => low,
        (Rounding::NearestAway, _) => high,
        _ if target.is_even(low) => low,
        _ => high,
    };
    let far = compare(target.beyond(), value).is_some_and(Ordering::is_le)
        || compare(-target.beyond(), value).is_some_and(Ordering::is_ge);
    match chosen.is_infinite() || far {
        false => Some(Real::Float(chosen)),
        true if beyond == OutOfRange::Clamp => {
            Some(Real::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }))
        }
        true => None,
    }
}

/// Exact comparison of a float with a number; `None` for NaN.
fn compare(float: f64, value: Real) -> Option<Ordering> {
    match value {
        Real::Float(x) => float.partial_cmp(&x),
        Real::Int(k) if float.is_finite() && float.abs() < 2f64.powi(126) => {
            let whole = float.floor();
            Some((whole as i128).cmp(&k).then(if float > whole { Ordering::Greater } else { Ordering::Equal }))
        }
        Real::Int(_) => float.partial_cmp(&0.0),
    }
}

/// Which of two neighbouring values of the type is nearer; infinity counts as the first number that rounds to it.
fn side(value: Real, low: f64, high: f64, target: Target) -> Ordering {
    let finite = |x: f64| if x.is_infinite() { target.beyond().copysign(x) } else { x };
    let (low, high) = (finite(low), finite(high));
    match value {
        Real::Float(x) => (x - low).total_cmp(&(high - x)),
        Real::Int(k) => (k - low as i128).cmp(&(high as i128 - k)),
    }
}
