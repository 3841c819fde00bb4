//! `bitround`: round floats to fewer bits before compression. Decoding is the identity.

use half::f16;
use icecore_grid::{Error, ErrorKind, Result};

use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_u64};

/// Names in the metadata.
pub(crate) const NAMES: &[&str] =
    &["bitround", "numcodecs.bitround", "https://codec.zarrs.dev/array_to_array/bitround"];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BitRound {
    keepbits: u32,
}

impl BitRound {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<BitRound> {
        let mantissa = match dtype {
            DType::Float16 => 10,
            DType::Float32 | DType::Complex64 => 23,
            DType::Float64 | DType::Complex128 => 52,
            other => {
                return Err(Error::new(ErrorKind::Unsupported, format!("{} of {}", ext.name, other.to_json()))
                    .hint("only floats are rounded"));
            }
        };
        match config_u64(ext, "keepbits")? {
            keepbits if keepbits <= mantissa => Ok(BitRound { keepbits: keepbits as u32 }),
            _ => Err(bad_config(ext, "keepbits", &format!("0 to {mantissa}"))),
        }
    }

    /// Rounds in place, half to even. Infinities and NaN are unchanged.
    pub fn encode(&self, dtype: &DType, bytes: &mut [u8]) {
        macro_rules! round {
            ($float:ty, $bits:ty, $mantissa:literal) => {{
                let drop = $mantissa - self.keepbits;
                if drop > 0 {
                    for chunk in bytes.as_chunks_mut::<{ size_of::<$bits>() }>().0 {
                        let bits = <$bits>::from_ne_bytes(*chunk);
                        if <$float>::from_bits(bits).is_finite() {
                            let half = ((1 as $bits) << (drop - 1)) - 1 + (bits >> drop & 1);
                            *chunk = (bits.wrapping_add(half) >> drop << drop).to_ne_bytes();
                        }
                    }
                }
            }};
        }
        match dtype {
            DType::Float16 => round!(f16, u16, 10),
            DType::Float32 | DType::Complex64 => round!(f32, u32, 23),
            _ => round!(f64, u64, 52),
        }
    }
}
