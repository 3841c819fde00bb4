//! `icecore.root_basket`: a basket of a ROOT `TTree`, with its key, as stored in the file. Decodes only.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use icecore_root::{Basket, DType as RootType, Expander};

use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, wrong_length};
use crate::extension::{Extension, config_i64_or, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.root_basket"];

const NAME: &str = "icecore.root_basket";
/// Maximum length of an entry's header; a vector's has 10 bytes.
const MAX_SKIP: i64 = 64;
const MAX_ELEMENT: i64 = 1 << 24;

/// The part of a basket that the array holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    /// Values of fixed size.
    Values,
    /// The elements of all entries, concatenated.
    Content,
    /// The number of elements of each entry.
    Counts,
}

#[derive(Debug)]
pub(crate) struct RootBasket {
    mode: Mode,
    dtype: RootType,
    /// Bytes before the elements of each entry.
    skip: usize,
    /// Bytes of an element, for counts.
    element: usize,
}

impl RootBasket {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<RootBasket> {
        only_keys(ext, &["mode", "skip", "element"])?;
        let mode = match ext.get("mode").map(|mode| mode.as_str()) {
            None | Some(Some("values")) => Mode::Values,
            Some(Some("content")) => Mode::Content,
            Some(Some("counts")) => Mode::Counts,
            _ => return Err(bad_config(ext, "mode", "values, content or counts")),
        };
        let unsuited = || {
            Error::new(ErrorKind::Dtype, format!("{NAME} of {}", dtype.to_json()))
                .hint("it supports booleans, integers and floats; counts are uint32")
        };
        let root = root_type(dtype).ok_or_else(unsuited)?;
        if mode == Mode::Counts && root != RootType::UInt32 {
            return Err(unsuited());
        }
        let skip = match config_i64_or(ext, "skip", 0)? {
            skip @ 0..=MAX_SKIP => skip as usize,
            _ => return Err(bad_config(ext, "skip", "0 to 64")),
        };
        let element = match config_i64_or(ext, "element", root.size() as i64)? {
            element @ 1..=MAX_ELEMENT => element as usize,
            _ => return Err(bad_config(ext, "element", "1 to 16777216")),
        };
        Ok(RootBasket { mode, dtype: root, skip, element })
    }
}

/// The ROOT type of the same name.
pub(super) fn root_type(dtype: &DType) -> Option<RootType> {
    Some(match dtype {
        DType::Bool => RootType::Bool,
        DType::Int8 => RootType::Int8,
        DType::Int16 => RootType::Int16,
        DType::Int32 => RootType::Int32,
        DType::Int64 => RootType::Int64,
        DType::UInt8 => RootType::UInt8,
        DType::UInt16 => RootType::UInt16,
        DType::UInt32 => RootType::UInt32,
        DType::UInt64 => RootType::UInt64,
        DType::Float16 => RootType::Float16,
        DType::Float32 => RootType::Float32,
        DType::Float64 => RootType::Float64,
        _ => return None,
    })
}

/// The error of codecs that are read-only.
pub(super) fn decodes_only(name: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{name} decodes what ROOT wrote; it does not encode"))
        .hint("write the array with other codecs, e.g. zstd")
}

fn named(mut error: Error) -> Error {
    error.message = format!("{NAME}: {}", error.message);
    error
}

impl ArrayCodec for RootBasket {
    fn decode(&self, stored: &[u8], _: &[u64], _: Range<usize>, out: &mut [u8], _: &mut Scratch) -> Result<()> {
        let basket = Basket::read(stored, &mut Expander::default()).map_err(named)?;
        match self.mode {
            Mode::Values => basket.numbers(self.dtype, out).map_err(named),
            Mode::Content => {
                let mut content = Vec::new();
                basket.elements(self.dtype, self.skip, self.element, &mut content).map_err(named)?;
                exactly(&content, out)
            }
            Mode::Counts => {
                let counts = basket.counts(self.skip, self.element).map_err(named)?;
                let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_ne_bytes()).collect();
                exactly(&bytes, out)
            }
        }
    }

    fn encode(&self, _: &[u8], _: &[u64], _: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        Err(decodes_only(NAME))
    }
}

fn exactly(found: &[u8], out: &mut [u8]) -> Result<()> {
    if found.len() != out.len() {
        return Err(wrong_length(NAME, found.len(), out.len()));
    }
    out.copy_from_slice(found);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decodes_an_uncompressed_basket_and_refuses_another_length() {
        let key_len = 57u8;
        let mut stored = vec![0, 0, 0, key_len + 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, key_len, 0, 1];
        stored.resize(usize::from(key_len) - 19, 0);
        stored.extend([0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, key_len + 8, 0]);
        stored.extend([0, 0, 0, 1, 255, 255, 255, 254]);
        let value = json!({"name": NAME});
        let codec = RootBasket::parse(&Extension::parse(&value, "codec").unwrap(), &DType::Int32).unwrap();
        let mut out = [0; 8];
        codec.decode(&stored, &[2], 0..8, &mut out, &mut Scratch::new()).unwrap();
        assert_eq!(out, [1i32.to_ne_bytes(), (-2i32).to_ne_bytes()].concat()[..]);
        let error = codec.decode(&stored, &[3], 0..12, &mut [0; 12], &mut Scratch::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt);
        assert!(error.message.contains("8 bytes of values, expected 12"), "{error}");
    }
}
