//! Parse fill values: every JSON form of Zarr v3, as one element in native byte order.

use base64::Engine;
use half::f16;
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::dtype::DType;

/// One element in native order. For the variable-length types: the bytes of the string itself.
/// `null` is a zero (an empty string).
pub fn parse_fill(value: &Value, dtype: &DType) -> Result<Vec<u8>> {
    if value.is_null() {
        return Ok(vec![0; if dtype.is_vlen() { 0 } else { dtype.size() }]);
    }
    fill(value, dtype).ok_or_else(|| {
        let text: String = value.to_string().chars().take(80).collect();
        let name = dtype.to_json().to_string();
        Error::new(ErrorKind::Format, format!("fill value {text} does not fit the data type {name}"))
    })
}

fn fill(value: &Value, dtype: &DType) -> Option<Vec<u8>> {
    macro_rules! integer {
        ($t:ty) => {
            <$t>::try_from(integer(value)?).ok()?.to_ne_bytes().to_vec()
        };
    }
    Some(match dtype {
        DType::Bool => vec![value.as_bool().map_or_else(|| bit(value), |b| Some(u8::from(b)))?],
        DType::Int8 => integer!(i8),
        DType::Int16 => integer!(i16),
        DType::Int32 => integer!(i32),
        DType::Int64 => integer!(i64),
        DType::UInt8 => integer!(u8),
        DType::UInt16 => integer!(u16),
        DType::UInt32 => integer!(u32),
        DType::UInt64 => integer!(u64),
        DType::Float16 | DType::Float32 | DType::Float64 => float(value, dtype.size())?,
        DType::Complex64 | DType::Complex128 => complex(value, dtype.size() / 2)?,
        DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => match value.as_str() {
            Some("NaT") => i64::MIN.to_ne_bytes().to_vec(),
            _ => integer!(i64),
        },
        DType::Bytes(n) | DType::Raw(n) => padded(bytes(value)?, *n)?,
        DType::Utf32(n) => {
            let units = value.as_str()?.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
            padded(units, 4 * n)?
        }
        DType::Struct(fields) => structured(value, fields, dtype.size())?,
        DType::VlenUtf8 => value.as_str()?.as_bytes().to_vec(),
        DType::VlenBytes => bytes(value)?,
    })
}

fn bit(value: &Value) -> Option<u8> {
    value.as_u64().filter(|v| *v < 2).map(|v| v as u8)
}

/// Integers may be written as a float with no fraction.
fn integer(value: &Value) -> Option<i128> {
    if let Some(v) = value.as_i64() {
        return Some(i128::from(v));
    }
    if let Some(v) = value.as_u64() {
        return Some(i128::from(v));
    }
    value.as_f64().filter(|v| v.fract() == 0.0 && v.abs() < 1.8e19).map(|v| v as i128)
}

fn float(value: &Value, size: usize) -> Option<Vec<u8>> {
    let number = match value {
        Value::String(text) => match text.as_str() {
            // The quiet NaN without payload or sign, as Zarr v3 defines it.
            "NaN" => return bits(0x7ff8_0000_0000_0000, 0x7fc0_0000, 0x7e00, size),
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            hex => return hex_bits(hex, size),
        },
        _ => value.as_f64()?,
    };
    Some(match size {
        2 => f16::from_f64(number).to_ne_bytes().to_vec(),
        4 => (number as f32).to_ne_bytes().to_vec(),
        _ => number.to_ne_bytes().to_vec(),
    })
}

fn bits(wide: u64, single: u32, half: u16, size: usize) -> Option<Vec<u8>> {
    Some(match size {
        2 => half.to_ne_bytes().to_vec(),
        4 => single.to_ne_bytes().to_vec(),
        _ => wide.to_ne_bytes().to_vec(),
    })
}

/// `"0x7fc00001"`: the bit pattern of a float as an unsigned number, with exactly the digits of its width.
fn hex_bits(text: &str, size: usize) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    if digits.len() != 2 * size || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let wide = u64::from_str_radix(digits, 16).ok()?;
    bits(wide, wide as u32, wide as u16, size)
}

fn complex(value: &Value, size: usize) -> Option<Vec<u8>> {
    match value {
        Value::Array(parts) if parts.len() == 2 => {
            let mut out = float(&parts[0], size)?;
            out.extend(float(&parts[1], size)?);
            Some(out)
        }
        _ => {
            let mut out = float(value, size)?;
            out.resize(2 * size, 0);
            Some(out)
        }
    }
}

/// Base64, or a list of byte values.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => base64::engine::general_purpose::STANDARD.decode(text).ok(),
        Value::Array(list) => list.iter().map(|v| u8::try_from(v.as_u64()?).ok()).collect(),
        _ => None,
    }
}

fn padded(mut bytes: Vec<u8>, size: usize) -> Option<Vec<u8>> {
    if bytes.len() > size {
        return None;
    }
    bytes.resize(size, 0);
    Some(bytes)
}

fn structured(value: &Value, fields: &[(String, DType)], size: usize) -> Option<Vec<u8>> {
    match value {
        Value::Object(object) => {
            let mut out = Vec::with_capacity(size);
            for (name, dtype) in fields {
                out.extend(parse_fill(object.get(name).unwrap_or(&Value::Null), dtype).ok()?);
            }
            Some(out)
        }
        // Older writers stored the raw element: little-endian, as in NumPy's memory.
        Value::String(_) => {
            let raw = bytes(value)?;
            (raw.len() == size && cfg!(target_endian = "little")).then_some(raw)
        }
        _ => None,
    }
}
