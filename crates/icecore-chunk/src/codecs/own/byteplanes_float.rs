//! Error bounds of a floating-point number without its low bytes.

use crate::codecs::plane_split::Pattern;
use crate::dtype::DType;

/// IEEE 754's binary formats, by the position of the exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Float {
    /// Mask of the exponent bits.
    pub exponent: u64,
    /// Bits of the mantissa, without the hidden one.
    pub mantissa: u32,
}

impl Float {
    /// The floating-point format of an element; `None` for other types.
    pub fn of(dtype: &DType) -> Option<Float> {
        match dtype {
            DType::Float16 => Some(Float { exponent: 0x7c00, mantissa: 10 }),
            DType::Float32 | DType::Complex64 => Some(Float { exponent: 0x7f80_0000, mantissa: 23 }),
            DType::Float64 | DType::Complex128 => Some(Float { exponent: 0x7ff0_0000_0000_0000, mantissa: 52 }),
            _ => None,
        }
    }

    /// Maximum relative error of a number whose lowest `missing` bits are replaced: by 1000…, or by zeros.
    ///
    /// A normal number is (2^m + k) · 2^e with 0 ≤ k < 2^m, m mantissa bits. Let l be the value of its low L bits, 0 ≤
    /// l ≤ 2^L − 1. If l is replaced by 2^(L−1), the error is at most 2^(L−1) · 2^e, relative to at least 2^m · 2^e:
    /// 2^(L−1−m), reached at k = 0. If l is replaced by zero, it is below 2^L · 2^e: under 2^(L−m). Zero, subnormal
    /// numbers, infinities and NaN are stored bit for bit (`byteplanes_escape.rs`).
    pub fn bound(&self, missing: u32, midpoint: bool) -> f64 {
        let exponent = missing as i32 - self.mantissa as i32 - i32::from(midpoint);
        if missing == 0 { 0.0 } else { 2f64.powi(exponent) }
    }

    /// Replacement of the lowest `missing` bits; `None` for zeros.
    pub fn pattern(&self, missing: u32, midpoint: bool) -> Option<Pattern> {
        (missing > 0 && midpoint).then(|| Pattern { exponent: self.exponent, low: 1 << (missing - 1) })
    }
}
