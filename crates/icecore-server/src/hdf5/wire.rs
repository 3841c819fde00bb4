//! Elements as bytes of the HDF REST API: packed, in the declared byte order, strings with preceding lengths.

use icecore::chunk::DType;
use icecore::grid::Result;
use icecore::session::Values;

use super::incoming::nothing;
use super::types::H5Type;

/// Encodes the elements of `values`. If no conversion is needed, their memory is passed on.
pub(crate) fn bytes(values: Values, h5: &H5Type, big: bool) -> Result<Vec<u8>> {
    if h5.is_plain() {
        let dtype = values.dtype.clone();
        let mut bytes = values.bytes;
        if big != cfg!(target_endian = "big") {
            swap(&mut bytes, &dtype);
        }
        return Ok(bytes);
    }
    let mut out = Vec::with_capacity(values.bytes.len());
    for element in values.bytes.chunks_exact(h5.size().max(1)) {
        write(element, h5, &values, big, &mut out)?;
    }
    Ok(out)
}

fn swap(bytes: &mut [u8], dtype: &DType) {
    let units = dtype.swap_units();
    if units.iter().all(|(unit, _)| *unit == 1) {
        return;
    }
    for element in bytes.chunks_exact_mut(dtype.size().max(1)) {
        let mut rest = element;
        for (unit, count) in &units {
            let Some((run, behind)) = rest.split_at_mut_checked(unit * count) else { break };
            run.chunks_exact_mut((*unit).max(1)).for_each(<[u8]>::reverse);
            rest = behind;
        }
    }
}

fn write(element: &[u8], h5: &H5Type, values: &Values, big: bool, out: &mut Vec<u8>) -> Result<()> {
    match h5 {
        H5Type::Text | H5Type::Bytes | H5Type::Vlen(_) => counted(values.resolve(element)?, out),
        H5Type::Sent(inner) => match values.resolve(element)? {
            [] => nothing(inner, out),
            sent => out.extend_from_slice(sent),
        },
        H5Type::Utf32(_) => counted(utf8(element).as_bytes(), out),
        H5Type::Compound(fields) => {
            let mut rest = element;
            for (_, field) in fields {
                let (part, behind) = rest.split_at(field.size().min(rest.len()));
                write(part, field, values, big, out)?;
                rest = behind;
            }
        }
        H5Type::Array { base, .. } => {
            for part in element.chunks_exact(base.size().max(1)) {
                write(part, base, values, big, out)?;
            }
        }
        H5Type::Integer { size, .. }
        | H5Type::Float { size }
        | H5Type::Enum { size, .. }
        | H5Type::Complex { size } => {
            for number in element.chunks_exact((*size).max(1)) {
                if big == cfg!(target_endian = "big") {
                    out.extend_from_slice(number);
                } else {
                    out.extend(number.iter().rev());
                }
            }
        }
        H5Type::Bool | H5Type::Fixed(_) | H5Type::Opaque(_) => out.extend_from_slice(element),
    }
    Ok(())
}

fn counted(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// UTF-32 in native order, without its padding.
pub(crate) fn utf8(element: &[u8]) -> String {
    let units = element.as_chunks::<4>().0.iter().map(|unit| u32::from_ne_bytes(*unit));
    let text: String = units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_swapped_field_by_field() {
        let dtype = DType::Struct(vec![
            ("a".into(), DType::UInt16),
            ("s".into(), DType::Bytes(2)),
            ("c".into(), DType::Complex64),
        ]);
        let mut bytes = vec![1, 2, b'x', b'y', 1, 2, 3, 4, 5, 6, 7, 8];
        swap(&mut bytes, &dtype);
        assert_eq!(bytes, [2, 1, b'x', b'y', 4, 3, 2, 1, 8, 7, 6, 5]);
    }

    #[test]
    fn utf32_ends_at_its_padding() {
        let element: Vec<u8> = ['é', 'b', '\0'].iter().flat_map(|c| u32::from(*c).to_ne_bytes()).collect();
        assert_eq!(utf8(&element), "éb");
    }
}
