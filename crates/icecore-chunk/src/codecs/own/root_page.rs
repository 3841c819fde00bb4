//! `icecore.root_page`: a page of a column of a ROOT `RNTuple`, as stored in the file. Decodes only.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use icecore_root::Expander;
use icecore_root::ntuple::{Column, ColumnType, decode_page};
use serde_json::Value;

use super::root_basket::{decodes_only, root_type};
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_bool_or, config_str, config_u64, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.root_page"];

const NAME: &str = "icecore.root_page";

#[derive(Debug)]
pub(crate) struct RootPage {
    column: Column,
    /// Whether the stored bytes end with an 8-byte XXH3 checksum.
    checksum: bool,
}

impl RootPage {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<RootPage> {
        only_keys(ext, &["type", "bits", "range", "checksum"])?;
        let kind = ColumnType::named(config_str(ext, "type")?);
        let kind = kind.ok_or_else(|| bad_config(ext, "type", "a column type of the RNTuple specification"))?;
        let bits = u16::try_from(config_u64(ext, "bits")?).map_err(|_| bad_config(ext, "bits", "1 to 96"))?;
        let range = match ext.get("range").and_then(Value::as_array).map(Vec::as_slice) {
            None => None,
            Some([low, high]) => low.as_f64().zip(high.as_f64()),
            Some(_) => return Err(bad_config(ext, "range", "the least and the largest value")),
        };
        if kind.dtype().is_none() || root_type(dtype) != kind.dtype() {
            let expected = kind.dtype().map_or("none", icecore_root::DType::name);
            let what = format!("{NAME}: {} decodes to {expected} (got {})", kind.name(), dtype.to_json());
            return Err(Error::new(ErrorKind::Dtype, what));
        }
        Ok(RootPage { column: Column::new(kind, bits, range)?, checksum: config_bool_or(ext, "checksum", true)? })
    }
}

impl ArrayCodec for RootPage {
    fn decode(&self, stored: &[u8], _: &[u64], _: Range<usize>, out: &mut [u8], _: &mut Scratch) -> Result<()> {
        decode_page(stored, self.checksum, &self.column, out, &mut Expander::default()).map_err(|mut error| {
            error.message = format!("{NAME}: {}", error.message);
            error
        })
    }

    fn encode(&self, _: &[u8], _: &[u64], _: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        Err(decodes_only(NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decodes_byte_planes_with_zigzag() {
        let value = json!({"name": NAME, "configuration": {"type": "SplitInt16", "bits": 16, "checksum": false}});
        let codec = RootPage::parse(&Extension::parse(&value, "codec").unwrap(), &DType::Int16).unwrap();
        // Zigzag code: −1, 300 and −32768 are 1, 600 and 65535.
        let mut out = [0; 6];
        codec.decode(&[1, 88, 255, 0, 2, 255], &[3], 0..6, &mut out, &mut Scratch::new()).unwrap();
        assert_eq!(out, [-1i16, 300, -32768].map(i16::to_ne_bytes).concat()[..]);
    }

    #[test]
    fn refuses_bits_that_the_type_does_not_have() {
        let value = json!({"name": NAME, "configuration": {"type": "Real32Trunc", "bits": 32}});
        assert!(RootPage::parse(&Extension::parse(&value, "codec").unwrap(), &DType::Float32).is_err());
    }
}
