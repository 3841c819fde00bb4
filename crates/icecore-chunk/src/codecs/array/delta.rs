//! `numcodecs.delta`: differences between neighbours in memory order.

use icecore_grid::{Error, ErrorKind, Result};

use crate::dtype::DType;
use crate::extension::{Extension, config_str};

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["numcodecs.delta"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Int1,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delta {
    number: Number,
}

impl Delta {
    /// Supported only if differences have the array's own type. The codec itself does not depend on the byte order, but
    /// without `astype` zarr-python interprets the elements in the order of `dtype`.
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Delta> {
        let number = match dtype {
            DType::Int8 | DType::UInt8 => Number::Int1,
            DType::Int16 | DType::UInt16 => Number::Int2,
            DType::Int32 | DType::UInt32 => Number::Int4,
            DType::Int64 | DType::UInt64 => Number::Int8,
            DType::Float32 => Number::Float4,
            DType::Float64 => Number::Float8,
            _ => return Err(refused(ext, dtype)),
        };
        let same = if ext.get("astype").is_some() { names } else { names_native };
        for key in ["dtype", "astype"] {
            if ext.get(key).is_some() && !same(dtype, config_str(ext, key)?) {
                return Err(refused(ext, dtype));
            }
        }
        Ok(Delta { number })
    }

    pub fn decode(&self, bytes: &mut [u8]) {
        self.run(bytes, true);
    }

    pub fn encode(&self, bytes: &mut [u8]) {
        self.run(bytes, false);
    }

    /// Sums (decoding) or differences (encoding), in place. Integers wrap, as in NumPy.
    fn run(&self, bytes: &mut [u8], decode: bool) {
        macro_rules! each {
            ($t:ty, $add:expr, $sub:expr) => {{
                let mut last = <$t>::default();
                for chunk in bytes.as_chunks_mut::<{ size_of::<$t>() }>().0 {
                    let value = <$t>::from_ne_bytes(*chunk);
                    let (out, next) = match decode {
                        true => ($add(last, value), $add(last, value)),
                        false => ($sub(value, last), value),
                    };
                    *chunk = out.to_ne_bytes();
                    last = next;
                }
            }};
        }
        match self.number {
            Number::Int1 => each!(u8, u8::wrapping_add, u8::wrapping_sub),
            Number::Int2 => each!(u16, u16::wrapping_add, u16::wrapping_sub),
            Number::Int4 => each!(u32, u32::wrapping_add, u32::wrapping_sub),
            Number::Int8 => each!(u64, u64::wrapping_add, u64::wrapping_sub),
            Number::Float4 => each!(f32, |a, b| a + b, |a, b| a - b),
            Number::Float8 => each!(f64, |a, b| a + b, |a, b| a - b),
        }
    }
}

/// Whether `text` is one of NumPy's names of the type, in any byte order: the codec `bytes` determines the stored
/// order.
pub(super) fn names(dtype: &DType, text: &str) -> bool {
    let numpy = dtype.numpy();
    let code = plain(numpy.as_str().unwrap_or_default());
    plain(text) == code || dtype.to_json().as_str() == Some(text)
}

/// The same, in native byte order only.
pub(super) fn names_native(dtype: &DType, text: &str) -> bool {
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
    names(dtype, text) && (dtype.size() == 1 || !text.starts_with(foreign))
}

fn plain(code: &str) -> &str {
    code.strip_prefix(['<', '>', '|', '=']).unwrap_or(code)
}

fn refused(ext: &Extension, dtype: &DType) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("codec {} of an array of {} with another type of differences", ext.name, dtype.to_json()),
    )
    .hint("only differences in the type of the array itself are read")
}
