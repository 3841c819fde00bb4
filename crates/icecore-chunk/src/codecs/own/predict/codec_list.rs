//! Codec lists for the residuals.

use icecore_grid::Result;
use serde_json::Value;

use crate::chain::Chain;
use crate::dtype::DType;
use crate::extension::Extension;

/// Form of the input of a codec list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// Unpredicted elements, of their own type.
    Elements,
    /// Integers that are not residuals.
    Bits,
    /// Residuals: signed numbers around zero.
    Signed,
}

/// A list of codecs for residuals.
#[derive(Debug)]
pub(super) struct List {
    elements: Chain,
    numbers: Chain,
    /// Whether the list begins with pco, which receives signed integers; other codecs receive them folded.
    signed: bool,
}

impl List {
    pub fn parse(list: &Value, own: &DType) -> Result<List> {
        let first = list.get(0).and_then(|codec| Extension::parse(codec, "codec").ok());
        let signed = first.is_some_and(|codec| matches!(codec.name, "pcodec" | "numcodecs.pcodec"));
        let dtype = match (own.size(), signed) {
            (1, true) => DType::Int8,
            (2, true) => DType::Int16,
            (4, true) => DType::Int32,
            (_, true) => DType::Int64,
            (1, false) => DType::UInt8,
            (2, false) => DType::UInt16,
            (4, false) => DType::UInt32,
            (_, false) => DType::UInt64,
        };
        let zero = vec![0; own.size()];
        Ok(List { elements: Chain::parse(list, own, &zero)?, numbers: Chain::parse(list, &dtype, &zero)?, signed })
    }

    pub fn chain(&self, form: Form) -> &Chain {
        if form == Form::Elements { &self.elements } else { &self.numbers }
    }

    /// Whether it begins with pco.
    pub fn signed(&self) -> bool {
        self.signed
    }

    /// Whether it receives such residuals folded.
    pub fn folds(&self, form: Form) -> bool {
        form == Form::Signed && !self.signed
    }
}
