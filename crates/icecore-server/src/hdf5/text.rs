//! Elements as JSON text of the HDF REST API: nested lists; NaN and infinities as bare words, or null.

use std::fmt::Write;

use icecore::chunk::DType;
use icecore::chunk::half::f16;
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::Values;

use super::incoming::{self, nothing};
use super::nest::Nest;
use super::types::H5Type;
use super::wire::utf8;
use crate::http::base64::base64;

/// Representation of numbers that JSON lacks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NotFinite {
    /// `NaN`, `Infinity`: sent by HSDS and read by Python.
    Words,
    Null,
}

type Each<'a> = dyn FnMut(&[u8], &mut String) -> Result<()> + 'a;

fn lists(
    elements: &mut std::slice::ChunksExact<'_, u8>,
    each: &mut Each<'_>,
    shape: &[u64],
    out: &mut String,
) -> Result<()> {
    let Some((count, inner)) = shape.split_first() else {
        return elements.next().map_or(Ok(()), |element| each(element, out));
    };
    out.push('[');
    for i in 0..*count {
        if i > 0 {
            out.push(',');
        }
        lists(elements, each, inner, out)?;
    }
    out.push(']');
    Ok(())
}

/// One element.
pub(crate) fn one(element: &[u8], h5: &H5Type, values: &Values, not_finite: NotFinite, out: &mut String) -> Result<()> {
    match h5 {
        H5Type::Integer { size, signed } | H5Type::Enum { size, signed, .. } => {
            let _ = write!(out, "{}", integer(element, *size, *signed));
        }
        H5Type::Float { size } => float(element, *size, not_finite, out),
        H5Type::Bool => out.push_str(if element.first() == Some(&0) { "false" } else { "true" }),
        H5Type::Complex { size } => {
            let (real, imaginary) = element.split_at((*size).min(element.len()));
            out.push('[');
            float(real, *size, not_finite, out);
            out.push(',');
            float(imaginary, *size, not_finite, out);
            out.push(']');
        }
        H5Type::Fixed(_) => {
            let end = element.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            string(&decoded(element.get(..end).unwrap_or_default()), out);
        }
        H5Type::Utf32(_) => string(&utf8(element), out),
        H5Type::Text => string(&decoded(values.resolve(element)?), out),
        H5Type::Bytes => {
            let bytes: Vec<String> = values.resolve(element)?.iter().map(u8::to_string).collect();
            let _ = write!(out, "[{}]", bytes.join(","));
        }
        H5Type::Opaque(_) => string(&base64(element), out),
        H5Type::Vlen(base) => {
            let mut rest = values.resolve(element)?;
            out.push('[');
            let mut first = true;
            while !rest.is_empty() {
                out.push_str(if std::mem::take(&mut first) { "" } else { "," });
                sent(&mut rest, base, not_finite, out)?;
            }
            out.push(']');
        }
        H5Type::Sent(inner) => {
            let mut empty = Vec::new();
            let mut rest = values.resolve(element)?;
            if rest.is_empty() {
                nothing(inner, &mut empty);
                rest = &empty;
            }
            sent(&mut rest, inner, not_finite, out)?;
        }
        H5Type::Compound(fields) => {
            out.push('[');
            let mut rest = element;
            for (number, (_, field)) in fields.iter().enumerate() {
                let (part, behind) = rest.split_at(field.size().min(rest.len()));
                if number > 0 {
                    out.push(',');
                }
                one(part, field, values, not_finite, out)?;
                rest = behind;
            }
            out.push(']');
        }
        H5Type::Array { base, dims } => {
            let mut parts = element.chunks_exact(base.size().max(1));
            lists(&mut parts, &mut |part, out| one(part, base, values, not_finite, out), dims, out)?;
        }
    }
    Ok(())
}

/// Converts an element in the API's encoding, little-endian.
fn sent(rest: &mut &[u8], h5: &H5Type, not_finite: NotFinite, out: &mut String) -> Result<()> {
    match h5 {
        H5Type::Text | H5Type::Utf32(_) => {
            let element = incoming::element(h5, rest)?;
            string(&decoded(element.get(4..).unwrap_or_default()), out);
        }
        H5Type::Bytes | H5Type::Vlen(_) => {
            let element = incoming::element(h5, rest)?;
            let mut inner = element.get(4..).unwrap_or_default();
            let base = match h5 {
                H5Type::Vlen(base) => base.as_ref().clone(),
                _ => H5Type::Integer { size: 1, signed: false },
            };
            out.push('[');
            let mut first = true;
            while !inner.is_empty() {
                out.push_str(if std::mem::take(&mut first) { "" } else { "," });
                sent(&mut inner, &base, not_finite, out)?;
            }
            out.push(']');
        }
        H5Type::Compound(fields) => {
            out.push('[');
            for (number, (_, field)) in fields.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                sent(rest, field, not_finite, out)?;
            }
            out.push(']');
        }
        H5Type::Array { base, dims } if !h5.is_plain() => {
            let mut nest = Nest::new(dims);
            for _ in 0..dims.iter().product::<u64>() {
                nest.open(out);
                sent(rest, base, not_finite, out)?;
                nest.close(out);
            }
        }
        H5Type::Sent(inner) => sent(rest, inner, not_finite, out)?,
        plain => {
            let element = incoming::element(plain, rest)?.to_vec();
            one(&element, plain, &Values::fixed(DType::UInt8, Vec::new()), not_finite, out)?;
        }
    }
    Ok(())
}

/// Converts elements in the API's encoding, little-endian, to nested lists.
pub(crate) fn json(bytes: &[u8], h5: &H5Type, dims: &[u64]) -> Result<serde_json::Value> {
    let (mut nest, mut out, mut rest) = (Nest::new(dims), String::new(), bytes);
    let count: u64 = dims.iter().product();
    if count == 0 {
        super::nest::empty(dims, &mut out);
    }
    for _ in 0..count {
        nest.open(&mut out);
        sent(&mut rest, h5, NotFinite::Words, &mut out)?;
        nest.close(&mut out);
    }
    serde_json::from_str(&crate::http::json::quoted(&out))
        .map_err(|e| Error::new(ErrorKind::Internal, format!("elements as JSON: {e}")))
}

/// Decodes UTF-8, or Latin-1 if it is not valid UTF-8.
fn decoded(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| bytes.iter().map(|b| char::from(*b)).collect(), str::to_owned)
}

fn string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

pub(crate) fn integer(element: &[u8], size: usize, signed: bool) -> i128 {
    let mut wide = [0_u8; 8];
    for (to, from) in wide.iter_mut().zip(element.iter().take(size.min(8))) {
        *to = *from;
    }
    if cfg!(target_endian = "big") {
        wide.rotate_right(8 - size.min(8));
    }
    let value = u64::from_ne_bytes(wide);
    if !signed {
        return i128::from(value);
    }
    let shift = 64 - 8 * size.clamp(1, 8) as u32;
    i128::from(((value << shift) as i64) >> shift)
}

fn float(element: &[u8], size: usize, not_finite: NotFinite, out: &mut String) {
    let first = |n: usize| element.get(..n);
    let value = match size {
        2 => first(2).and_then(|b| b.try_into().ok()).map(|b| f64::from(f16::from_ne_bytes(b))),
        4 => {
            // Printed as a 32-bit number: the shortest text that reads back as the same value.
            let value = first(4).and_then(|b| b.try_into().ok()).map(f32::from_ne_bytes).unwrap_or(f32::NAN);
            if value.is_finite() {
                let _ = write!(out, "{value:?}");
                return;
            }
            Some(f64::from(value))
        }
        _ => first(8).and_then(|b| b.try_into().ok()).map(f64::from_ne_bytes),
    };
    match value.unwrap_or(f64::NAN) {
        value if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        _ if not_finite == NotFinite::Null => out.push_str("null"),
        value if value.is_nan() => out.push_str("NaN"),
        value => out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_sign() {
        assert_eq!(integer(&(-5_i16).to_ne_bytes(), 2, true), -5);
        assert_eq!(integer(&65_531_u16.to_ne_bytes(), 2, false), 65_531);
        assert_eq!(integer(&u64::MAX.to_ne_bytes(), 8, false), i128::from(u64::MAX));
        assert_eq!(integer(&i64::MIN.to_ne_bytes(), 8, true), i128::from(i64::MIN));
    }

    #[test]
    fn floats_and_words() {
        let text = |value: f64, mode| {
            let mut out = String::new();
            float(&value.to_ne_bytes(), 8, mode, &mut out);
            out
        };
        assert_eq!(text(0.1, NotFinite::Words), "0.1");
        assert_eq!(text(f64::NAN, NotFinite::Words), "NaN");
        assert_eq!(text(f64::NEG_INFINITY, NotFinite::Words), "-Infinity");
        assert_eq!(text(f64::INFINITY, NotFinite::Null), "null");
    }
}
