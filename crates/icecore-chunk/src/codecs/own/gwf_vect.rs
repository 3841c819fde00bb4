//! `icecore.gwf_vect`: an `FrVect` structure of a gravitational-wave frame file, unchanged. Decodes only.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use icecore_gwf::{VectType, decode_vect};

use crate::codecs::array_codec::ArrayCodec;
use crate::codecs::bytes::zlib::inflate_whole;
use crate::dtype::DType;
use crate::extension::{Extension, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.gwf_vect"];

const NAME: &str = "icecore.gwf_vect";

#[derive(Debug)]
pub(crate) struct GwfVect {
    dtype: VectType,
}

impl GwfVect {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<GwfVect> {
        only_keys(ext, &[])?;
        let found = vect_type(dtype).ok_or_else(|| {
            Error::new(ErrorKind::Dtype, format!("{NAME} of {}", dtype.to_json()))
                .hint("it takes integers, float32, float64, complex64 and complex128")
        })?;
        Ok(GwfVect { dtype: found })
    }
}

fn vect_type(dtype: &DType) -> Option<VectType> {
    Some(match dtype {
        DType::Int8 => VectType::Int8,
        DType::Int16 => VectType::Int16,
        DType::Int32 => VectType::Int32,
        DType::Int64 => VectType::Int64,
        DType::UInt8 => VectType::UInt8,
        DType::UInt16 => VectType::UInt16,
        DType::UInt32 => VectType::UInt32,
        DType::UInt64 => VectType::UInt64,
        DType::Float32 => VectType::Float32,
        DType::Float64 => VectType::Float64,
        DType::Complex64 => VectType::Complex64,
        DType::Complex128 => VectType::Complex128,
        _ => return None,
    })
}

impl ArrayCodec for GwfVect {
    fn decode(&self, stored: &[u8], _: &[u64], _: Range<usize>, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let mut inflate = |input: &[u8], out: &mut [u8]| inflate_whole(input, out, scratch);
        decode_vect(stored, self.dtype, out, &mut inflate).map_err(|mut error| {
            error.message = format!("{NAME}: {}", error.message);
            error
        })
    }

    fn encode(&self, _: &[u8], _: &[u64], _: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, format!("{NAME} decodes frame files; it does not encode"))
            .hint("write the array with other codecs, e.g. zstd"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A structure of version 8, raw, little-endian.
    fn vect(values: &[f32]) -> Vec<u8> {
        let mut body = vec![2, 0, b'x', 0];
        body.extend(256u16.to_le_bytes());
        body.extend(3u16.to_le_bytes());
        body.extend((values.len() as u64).to_le_bytes());
        body.extend((values.len() as u64 * 4).to_le_bytes());
        values.iter().for_each(|v| body.extend(v.to_le_bytes()));
        body.extend([0; 40]);
        let mut all = (body.len() as u64 + 14).to_le_bytes().to_vec();
        all.extend([0, 20, 0, 0, 0, 0]);
        all.extend(body);
        all
    }

    #[test]
    fn decodes_a_raw_vector_and_rejects_other_lengths_and_types() {
        let value = json!({"name": NAME});
        let parse = |dtype: &DType| GwfVect::parse(&Extension::parse(&value, "codec").unwrap(), dtype);
        let codec = parse(&DType::Float32).unwrap();
        let stored = vect(&[1.5, -2.0]);
        let mut out = [0; 8];
        codec.decode(&stored, &[2], 0..8, &mut out, &mut Scratch::new()).unwrap();
        assert_eq!(out, [1.5f32.to_ne_bytes(), (-2f32).to_ne_bytes()].concat()[..]);
        let error = codec.decode(&stored, &[3], 0..12, &mut [0; 12], &mut Scratch::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt);
        assert!(error.message.contains("2 elements of float32"), "{error}");
        assert_eq!(parse(&DType::Bool).unwrap_err().kind, ErrorKind::Dtype);
        let cut = &stored[..stored.len() - 1];
        assert!(codec.decode(cut, &[2], 0..8, &mut out, &mut Scratch::new()).is_err());
    }
}
