//! Elements sent by a client: from JSON to the API's bytes, and from these to stored elements.

use std::fmt::Write as _;

use icecore::chunk::half::f16;
use icecore::grid::{Error, ErrorKind, Result};
use serde_json::Value;

use super::types::H5Type;
use crate::http::base64::unbase64;

/// Elements in the form that arrays are written in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Elements {
    /// Of fixed size, native byte order.
    Fixed {
        bytes: Vec<u8>,
        size: usize,
    },
    Variable(Vec<Vec<u8>>),
}

impl Elements {
    pub fn len(&self) -> usize {
        match self {
            Self::Fixed { bytes, size } => bytes.len() / (*size).max(1),
            Self::Variable(elements) => elements.len(),
        }
    }

    /// Bytes of the longest element in memory.
    pub fn longest(&self) -> usize {
        match self {
            Self::Fixed { size, .. } => *size,
            Self::Variable(elements) => size_of::<Vec<u8>>() + elements.iter().map(Vec::len).max().unwrap_or(0),
        }
    }

    /// One element, repeated.
    pub fn repeated(self, count: usize) -> Self {
        match self {
            Self::Fixed { bytes, size } => Self::Fixed { bytes: bytes.repeat(count), size },
            Self::Variable(elements) => Self::Variable(elements.iter().cycle().take(count).cloned().collect()),
        }
    }
}

/// Maximum bytes of elements from JSON: short texts are padded to the length of their type.
const MOST: usize = 256 << 20;

fn short() -> Error {
    Error::new(ErrorKind::Invalid, "the value ends in the middle of an element").hint("send whole elements")
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(short)?;
    *bytes = rest;
    Ok(taken)
}

fn counted<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = take(bytes, 4)?.try_into().map(u32::from_le_bytes).map_err(|_| short())?;
    take(bytes, count as usize)
}

/// Takes the next element in the API's encoding.
pub(crate) fn element<'a>(h5: &H5Type, bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let all = *bytes;
    skip(h5, bytes)?;
    Ok(all.get(..all.len() - bytes.len()).unwrap_or_default())
}

fn skip(h5: &H5Type, bytes: &mut &[u8]) -> Result<()> {
    match h5 {
        H5Type::Text | H5Type::Bytes | H5Type::Vlen(_) | H5Type::Utf32(_) => counted(bytes).map(|_| ()),
        H5Type::Sent(inner) => skip(inner, bytes),
        H5Type::Compound(fields) => fields.iter().try_for_each(|(_, field)| skip(field, bytes)),
        H5Type::Array { base, dims } => (0..dims.iter().product::<u64>()).try_for_each(|_| skip(base, bytes)),
        plain => take(bytes, plain.size()).map(|_| ()),
    }
}

/// Converts the API's bytes to elements.
///
/// # Errors
/// `invalid` for an incomplete last element; `unsupported`.
pub(crate) fn elements(bytes: &[u8], h5: &H5Type, big: bool) -> Result<Elements> {
    if h5.is_plain() {
        if !bytes.len().is_multiple_of(h5.size().max(1)) {
            return Err(short());
        }
        let mut bytes = bytes.to_vec();
        if big != cfg!(target_endian = "big") {
            bytes.chunks_exact_mut(h5.size().max(1)).for_each(|element| swap(element, h5));
        }
        return Ok(Elements::Fixed { bytes, size: h5.size() });
    }
    let mut rest = bytes;
    if let H5Type::Utf32(count) = h5 {
        let mut out = Vec::new();
        while !rest.is_empty() {
            out.extend(utf32(counted(&mut rest)?, *count)?);
        }
        return Ok(Elements::Fixed { bytes: out, size: 4 * count });
    }
    let mut out = Vec::new();
    while !rest.is_empty() {
        out.push(match h5 {
            H5Type::Text | H5Type::Bytes | H5Type::Vlen(_) => counted(&mut rest)?.to_vec(),
            H5Type::Sent(inner) => element(inner, &mut rest)?.to_vec(),
            _ => {
                return Err(Error::new(ErrorKind::Unsupported, "records with texts of this array cannot be written")
                    .hint("write them with the icecore library"));
            }
        });
    }
    Ok(Elements::Variable(out))
}

fn utf32(text: &[u8], count: usize) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(text).map_err(|_| Error::new(ErrorKind::Invalid, "a text is not UTF-8"))?;
    let mut out: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
    if out.len() > 4 * count {
        return Err(Error::new(ErrorKind::Invalid, format!("a text of more than {count} characters: {text:.40}")));
    }
    out.resize(4 * count, 0);
    Ok(out)
}

/// Reverses the bytes of every number of an element of fixed length.
pub(crate) fn swap(element: &mut [u8], h5: &H5Type) {
    match h5 {
        H5Type::Integer { size, .. }
        | H5Type::Enum { size, .. }
        | H5Type::Float { size }
        | H5Type::Complex { size } => {
            element.chunks_exact_mut((*size).max(1)).for_each(<[u8]>::reverse);
        }
        H5Type::Compound(fields) => {
            let mut rest = element;
            for (_, field) in fields {
                let Some((part, behind)) = rest.split_at_mut_checked(field.size()) else { return };
                swap(part, field);
                rest = behind;
            }
        }
        H5Type::Array { base, .. } => element.chunks_exact_mut(base.size().max(1)).for_each(|part| swap(part, base)),
        _ => {}
    }
}

/// The default element: zeros, and empty variable-length parts.
pub(crate) fn nothing(h5: &H5Type, out: &mut Vec<u8>) {
    match h5 {
        H5Type::Text | H5Type::Bytes | H5Type::Vlen(_) | H5Type::Utf32(_) => out.extend([0; 4]),
        H5Type::Sent(inner) => nothing(inner, out),
        H5Type::Compound(fields) => fields.iter().for_each(|(_, field)| nothing(field, out)),
        H5Type::Array { base, dims } => (0..dims.iter().product::<u64>()).for_each(|_| nothing(base, out)),
        plain => out.resize(out.len() + plain.size(), 0),
    }
}

/// Converts nested lists of `rank` levels to the API's bytes; returns the number of elements.
///
/// # Errors
/// `invalid` for values that do not fit the type.
pub(crate) fn from_json(value: &Value, rank: usize, h5: &H5Type, big: bool, out: &mut Vec<u8>) -> Result<u64> {
    if out.len() > MOST {
        let message = format!("the elements of the request take more than {MOST} bytes");
        return Err(Error::new(ErrorKind::Memory, message).hint("send fewer at a time"));
    }
    match (rank, value) {
        (0, value) => one(value, h5, big, out).map(|()| 1),
        (_, Value::Array(items)) => {
            items.iter().try_fold(0, |count, item| Ok(count + from_json(item, rank - 1, h5, big, out)?))
        }
        // A single element is accepted as a list of one.
        (_, value) => one(value, h5, big, out).map(|()| 1),
    }
}

fn unfit(value: &Value, h5: &H5Type) -> Error {
    let text: String = value.to_string().chars().take(60).collect();
    Error::new(ErrorKind::Invalid, format!("the value {text} does not fit the type {}", h5.json(false)))
        .hint("send elements of the dataset's type")
}

fn one(value: &Value, h5: &H5Type, big: bool, out: &mut Vec<u8>) -> Result<()> {
    let unfit = || unfit(value, h5);
    match h5 {
        H5Type::Integer { size, signed } => {
            number(integer(value).ok_or_else(unfit)?, *size, *signed, big, out).ok_or_else(unfit)?
        }
        H5Type::Enum { size, signed, members } => {
            let named = value.as_str().and_then(|name| members.get(name)).map(|n| i128::from(*n));
            number(named.or_else(|| integer(value)).ok_or_else(unfit)?, *size, *signed, big, out).ok_or_else(unfit)?;
        }
        H5Type::Bool => out.push(match value {
            Value::Bool(flag) => u8::from(*flag),
            Value::String(name) if name == "TRUE" || name == "FALSE" => u8::from(name == "TRUE"),
            other => u8::from(integer(other).ok_or_else(unfit)? != 0),
        }),
        H5Type::Float { size } => float(value, *size, big, out).ok_or_else(unfit)?,
        H5Type::Complex { size } => match value.as_array().map(Vec::as_slice) {
            Some([real, imaginary]) => {
                float(real, *size, big, out).ok_or_else(unfit)?;
                float(imaginary, *size, big, out).ok_or_else(unfit)?;
            }
            _ => {
                float(value, *size, big, out).ok_or_else(unfit)?;
                out.resize(out.len() + size, 0);
            }
        },
        H5Type::Fixed(n) | H5Type::Opaque(n) => {
            let mut bytes = text(value).ok_or_else(unfit)?;
            if matches!(h5, H5Type::Opaque(_)) {
                bytes = std::str::from_utf8(&bytes).ok().and_then(unbase64).unwrap_or(bytes);
            }
            bytes.resize(*n, 0);
            out.extend(bytes);
        }
        H5Type::Text | H5Type::Utf32(_) => {
            let bytes = text(value).ok_or_else(unfit)?;
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(bytes);
        }
        H5Type::Bytes => items(value, &H5Type::Integer { size: 1, signed: false }, big, out)?,
        H5Type::Vlen(base) => items(value, base, big, out)?,
        H5Type::Sent(inner) => one(value, inner, big, out)?,
        H5Type::Compound(fields) => {
            let parts = value.as_array().filter(|parts| parts.len() == fields.len()).ok_or_else(unfit)?;
            fields.iter().zip(parts).try_for_each(|((_, field), part)| one(part, field, big, out))?;
        }
        H5Type::Array { base, dims } => {
            let count = from_json(value, dims.len(), base, big, out)?;
            if count != dims.iter().product::<u64>() {
                return Err(unfit());
            }
        }
    }
    Ok(())
}

fn items(value: &Value, base: &H5Type, big: bool, out: &mut Vec<u8>) -> Result<()> {
    let mut inner = Vec::new();
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| one(item, base, big, &mut inner))?,
        Value::Null => {}
        Value::Number(number) if number.as_u64() == Some(0) => {}
        Value::String(text) if matches!(base, H5Type::Integer { size: 1, .. }) => inner.extend(text.as_bytes()),
        other => one(other, base, big, &mut inner)?,
    }
    out.extend((inner.len() as u32).to_le_bytes());
    out.extend(inner);
    Ok(())
}

fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Null => Some(Vec::new()),
        Value::Number(number) if number.as_u64() == Some(0) => Some(Vec::new()),
        Value::Number(number) => Some(number.to_string().into_bytes()),
        Value::Array(bytes) => bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect(),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i128> {
    let wide = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let whole = || value.as_f64().filter(|v| v.fract() == 0.0 && v.abs() < 1.8e19).map(|v| v as i128);
    wide.or_else(|| value.as_bool().map(i128::from)).or_else(whole)
}

fn number(value: i128, size: usize, signed: bool, big: bool, out: &mut Vec<u8>) -> Option<()> {
    let bits = 8 * size as u32;
    let (low, high) = if signed { (-(1_i128 << (bits - 1)), 1_i128 << (bits - 1)) } else { (0, 1_i128 << bits) };
    if !(low..high).contains(&value) {
        return None;
    }
    ordered(value.to_le_bytes().get(..size)?, big, out);
    Some(())
}

fn float(value: &Value, size: usize, big: bool, out: &mut Vec<u8>) -> Option<()> {
    let number = match value {
        Value::Null => f64::NAN,
        Value::String(text) => text.parse().ok()?,
        other => other.as_f64()?,
    };
    match size {
        2 => ordered(&f16::from_f64(number).to_le_bytes(), big, out),
        4 => ordered(&(number as f32).to_le_bytes(), big, out),
        _ => ordered(&number.to_le_bytes(), big, out),
    }
    Some(())
}

fn ordered(little: &[u8], big: bool, out: &mut Vec<u8>) {
    if big { out.extend(little.iter().rev()) } else { out.extend(little) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hdf5::types_parse::parse;

    #[test]
    fn json_becomes_bytes_and_elements() {
        let record = json!({"class": "H5T_COMPOUND", "fields": [
            {"name": "t", "type": {"class": "H5T_STRING", "length": "H5T_VARIABLE"}}, {"name": "n", "type": "H5T_STD_I16LE"}]});
        let parsed = parse(&record).unwrap();
        let mut bytes = Vec::new();
        assert_eq!(from_json(&json!([["ab", 1], ["", -1]]), 1, &parsed.h5, parsed.big, &mut bytes).unwrap(), 2);
        assert_eq!(bytes, [2, 0, 0, 0, b'a', b'b', 1, 0, 0, 0, 0, 0, 255, 255]);
        let Elements::Variable(found) = elements(&bytes, &parsed.h5, true).unwrap() else { unreachable!() };
        assert_eq!(found, [&bytes[..8], &bytes[8..]]);
        assert_eq!(elements(&bytes[..5], &parsed.h5, true).unwrap_err().kind, ErrorKind::Invalid);
        assert!(
            from_json(&json!([300]), 1, &H5Type::Integer { size: 1, signed: false }, false, &mut Vec::new()).is_err()
        );
    }
}
