//! Elements of any numeric type as one common type, for codecs that convert values.

use crate::dtype::DType;
use crate::number::Number;

/// The exact value of an integer or floating-point element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Real {
    Int(i128),
    Float(f64),
}

impl Real {
    /// The nearest float64.
    pub fn float(self) -> f64 {
        match self {
            Real::Int(k) => k as f64,
            Real::Float(x) => x,
        }
    }

    /// Whether two numbers are equal; all NaNs are equal.
    pub fn same(self, other: Real) -> bool {
        matches!((self, other), (Real::Float(a), Real::Float(b)) if a.is_nan() && b.is_nan()) || self == other
    }
}

/// Whether elements of the type have a [`Real`].
pub(crate) fn is_real(dtype: &DType) -> bool {
    use DType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    matches!(dtype, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Float16 | Float32 | Float64)
}

/// Replaces `out` by the elements of `bytes`, in native order.
pub(crate) fn load(dtype: &DType, bytes: &[u8], out: &mut Vec<Real>) {
    out.clear();
    with_number!(dtype, T => {
        match T::FLOAT {
            true => out.extend(T::values(bytes).map(|v| Real::Float(v.float()))),
            false => out.extend(T::values(bytes).map(|v| Real::Int(v.int()))),
        }
    }, else {});
}

/// Appends the numbers as elements of `dtype`, which must represent each of them exactly.
pub(crate) fn store(dtype: &DType, values: &[Real], out: &mut Vec<u8>) {
    with_number!(dtype, T => {
        for value in values {
            match *value {
                Real::Int(k) => T::from_int(k).put(out),
                Real::Float(x) => T::from_float(x).put(out),
            }
        }
    }, else {});
}
