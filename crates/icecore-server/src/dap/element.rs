//! Elements of a block in the bytes of the protocols: XDR's big-endian units of four bytes, or DAP4's little-endian ones.

use std::borrow::Cow;

use icecore::chunk::{DType, half::f16, swap_uniform};
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::Values;

use super::attribute::{exact, exact_unsigned};
use super::model::Kind;

/// The elements as XDR. Padding after bytes is not part of it: it follows the last block.
///
/// # Errors
/// `dtype` for an integer that has no exact float64.
pub(super) fn xdr(values: Values, kind: Kind, length: u64) -> Result<Vec<u8>> {
    if kind.is_text() {
        return texts(&values, length, |out, text| {
            out.extend(u32::try_from(text.len()).map_err(|_| too_long())?.to_be_bytes());
            out.extend_from_slice(text);
            out.resize(out.len() + padding(text.len() as u64), 0);
            Ok(())
        });
    }
    Ok(match (&values.dtype, kind) {
        (DType::Int8, _) => each(&values.bytes, |[b]: [u8; 1]| i32::from(b as i8).to_be_bytes()),
        (DType::Int16, _) => each(&values.bytes, |b| i32::from(i16::from_ne_bytes(b)).to_be_bytes()),
        (DType::UInt16, _) => each(&values.bytes, |b| u32::from(u16::from_ne_bytes(b)).to_be_bytes()),
        (DType::Bool | DType::UInt8, Kind::Int16) => each(&values.bytes, |[b]: [u8; 1]| u32::from(b).to_be_bytes()),
        (DType::UInt32, Kind::Float64) => each(&values.bytes, |b| f64::from(u32::from_ne_bytes(b)).to_be_bytes()),
        (DType::UInt64, Kind::Int32) => each(&values.bytes, |b| (u64::from_ne_bytes(b) as i32).to_be_bytes()),
        (_, Kind::Int32) if values.dtype.size() == 8 => {
            each(&values.bytes, |b| (i64::from_ne_bytes(b) as i32).to_be_bytes())
        }
        (DType::UInt64, Kind::Float64) => {
            check(&values.bytes, |b| exact_unsigned(u64::from_ne_bytes(b)))?;
            each(&values.bytes, |b| (u64::from_ne_bytes(b) as f64).to_be_bytes())
        }
        (DType::Int64 | DType::DateTime64 { .. } | DType::TimeDelta64 { .. }, Kind::Float64) => {
            check(&values.bytes, |b| exact(i64::from_ne_bytes(b)))?;
            each(&values.bytes, |b| (i64::from_ne_bytes(b) as f64).to_be_bytes())
        }
        (DType::Float16, _) => each(&values.bytes, |b| f16::from_ne_bytes(b).to_f32().to_be_bytes()),
        _ => ordered(values, cfg!(target_endian = "little")),
    })
}

/// The elements as DAP4 sends them in little-endian byte order.
pub(super) fn little(values: Values, kind: Kind, length: u64) -> Result<Vec<u8>> {
    match (&values.dtype, kind) {
        (_, Kind::Text) => texts(&values, length, |out, text| {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend_from_slice(text);
            Ok(())
        }),
        (_, Kind::Opaque(size)) => {
            let mut out = Vec::with_capacity(values.bytes.len() + 8 * values.len());
            for element in values.bytes.chunks_exact(size.max(1)) {
                out.extend((size as u64).to_le_bytes());
                out.extend_from_slice(element);
            }
            Ok(out)
        }
        (DType::Float16, _) => Ok(each(&values.bytes, |b| f16::from_ne_bytes(b).to_f32().to_le_bytes())),
        _ => Ok(ordered(values, cfg!(target_endian = "big"))),
    }
}

/// Number of zero bytes that fill a unit of XDR.
pub(super) fn padding(length: u64) -> usize {
    (length.wrapping_neg() % 4) as usize
}

fn ordered(values: Values, is_other: bool) -> Vec<u8> {
    let size = values.dtype.size();
    let mut bytes = values.bytes;
    if is_other && matches!(size, 2 | 4 | 8) {
        swap_uniform(&mut bytes, size);
    }
    bytes
}

fn each<const N: usize, const M: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> [u8; M]) -> Vec<u8> {
    let elements = bytes.as_chunks::<N>().0;
    let mut out = vec![0; elements.len() * M];
    for (to, from) in out.as_chunks_mut::<M>().0.iter_mut().zip(elements) {
        *to = convert(*from);
    }
    out
}

fn check(bytes: &[u8], holds: impl Fn([u8; 8]) -> bool) -> Result<()> {
    if bytes.as_chunks::<8>().0.iter().all(|word| holds(*word)) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Dtype, "a 64-bit integer has no exact value in the types of DAP2");
    Err(error.hint("read the variable by DAP4, which has 64-bit integers"))
}

fn too_long() -> Error {
    Error::new(ErrorKind::Memory, "a text of 4 GiB or more").hint("read it through another interface")
}

/// Writes each text. `length`: bytes of a text in an array of single bytes.
fn texts(values: &Values, length: u64, mut write: impl FnMut(&mut Vec<u8>, &[u8]) -> Result<()>) -> Result<Vec<u8>> {
    let size = match values.dtype {
        DType::Bytes(1) => usize::try_from(length).map_err(|_| too_long())?,
        ref dtype => dtype.size(),
    };
    let mut out = Vec::new();
    for element in values.bytes.chunks_exact(size.max(1)) {
        write(&mut out, &text(values, element)?)?;
    }
    Ok(out)
}

/// The bytes of a text, without the NULs that fill it.
pub(super) fn text<'a>(values: &'a Values, element: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    Ok(match &values.dtype {
        DType::Utf32(_) => Cow::Owned(utf8(element)),
        dtype if dtype.is_vlen() => Cow::Borrowed(values.resolve(element)?),
        _ => {
            let end = element.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            Cow::Borrowed(element.get(..end).unwrap_or_default())
        }
    })
}

/// UTF-8 of a text in UTF-32.
pub(super) fn utf8(element: &[u8]) -> Vec<u8> {
    let codes = element.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word));
    let codes: Vec<u32> = codes.collect();
    let end = codes.iter().rposition(|code| *code != 0).map_or(0, |last| last + 1);
    let characters =
        codes.into_iter().take(end).map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    characters.collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(dtype: DType, elements: &[[u8; N]]) -> Values {
        Values::fixed(dtype, elements.concat())
    }

    #[test]
    fn units_of_xdr() {
        let shorts = of(DType::Int16, &[(-2_i16).to_ne_bytes(), 5_i16.to_ne_bytes()]);
        assert_eq!(xdr(shorts, Kind::Int16, 0).unwrap(), [0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 5]);
        assert_eq!(xdr(of(DType::Int8, &[[0xff]]), Kind::Int16, 0).unwrap(), [0xff; 4]);
        let floats = of(DType::Float32, &[1.5_f32.to_ne_bytes()]);
        assert_eq!(xdr(floats, Kind::Float32, 0).unwrap(), 1.5_f32.to_be_bytes());
        let longs = || of(DType::Int64, &[7_i64.to_ne_bytes()]);
        assert_eq!(xdr(longs(), Kind::Int32, 0).unwrap(), 7_i32.to_be_bytes());
        assert_eq!(xdr(longs(), Kind::Float64, 0).unwrap(), 7_f64.to_be_bytes());
        let odd = of(DType::Int64, &[((1_i64 << 53) + 1).to_ne_bytes()]);
        assert_eq!(xdr(odd, Kind::Float64, 0).unwrap_err().kind, ErrorKind::Dtype);
        assert_eq!([0, 1, 2, 3, 4].map(padding), [0, 3, 2, 1, 0]);
    }

    #[test]
    fn texts_lose_their_padding_only() {
        let names = Values::fixed(DType::Bytes(1), b"ab\0\0c\0\0d".to_vec());
        assert_eq!(
            xdr(names.clone(), Kind::Char, 4).unwrap(),
            [&[0, 0, 0, 2, b'a', b'b', 0, 0], &[0, 0, 0, 4, b'c', 0, 0, b'd'][..]].concat()
        );
        assert_eq!(little(names, Kind::Char, 4).unwrap(), b"ab\0\0c\0\0d");
        let wide = of(DType::Utf32(2), &[u32::from('é').to_ne_bytes(), [0; 4]]);
        assert_eq!(little(wide, Kind::Text, 0).unwrap(), [&2_u64.to_le_bytes()[..], "é".as_bytes()].concat());
    }
}
