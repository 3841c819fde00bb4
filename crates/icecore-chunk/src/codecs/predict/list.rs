//! The codecs that residuals are stored with.

use icecore_grid::Result;
use serde_json::Value;

use crate::chain::Chain;
use crate::dtype::DType;
use crate::extension::Extension;

/// A list of codecs for residuals.
#[derive(Debug)]
pub(super) struct List {
    pub chain: Chain,
    /// Takes signed integers (pco's way), else folded ones.
    pub signed: bool,
}

impl List {
    pub fn parse(list: &Value, size: usize) -> Result<List> {
        let first = list.get(0).and_then(|codec| Extension::parse(codec, "codec").ok());
        let signed = first.is_some_and(|codec| matches!(codec.name, "pcodec" | "numcodecs.pcodec"));
        let dtype = match (size, signed) {
            (1, true) => DType::Int8,
            (2, true) => DType::Int16,
            (4, true) => DType::Int32,
            (_, true) => DType::Int64,
            (1, false) => DType::UInt8,
            (2, false) => DType::UInt16,
            (4, false) => DType::UInt32,
            (_, false) => DType::UInt64,
        };
        Ok(List { chain: Chain::parse(list, &dtype, &vec![0; size])?, signed })
    }
}
