//! Table of array→bytes codecs. To add one, add a file and a row here.

use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Result};

use super::array_codec::ArrayCodec;
use crate::codecs::array::nested_shard::NestedShard;
use crate::codecs::array::packed_bits::PackedBits;
use crate::codecs::own::byteplanes::BytePlanes;
use crate::codecs::own::choice::Choice;
use crate::codecs::own::fpc::Fpc;
use crate::codecs::own::gwf_vect::GwfVect;
use crate::codecs::own::pages::Pages;
use crate::codecs::own::predict::Predict;
use crate::codecs::own::root_basket::RootBasket;
use crate::codecs::own::root_page::RootPage;
use crate::codecs::own::text_part::TextPart;
use crate::dtype::DType;
use crate::extension::Extension;

/// Whether the table has this name.
pub(crate) fn is_array_codec(name: &str) -> bool {
    matches!(name, "icecore.byteplanes" | "icecore.choice" | "icecore.fpc" | "icecore.pages" | "icecore.predict")
        || matches!(
            name,
            "icecore.gwf_vect"
                | "icecore.root_basket"
                | "icecore.root_page"
                | "icecore.text_part"
                | "packbits"
                | "sharding_indexed"
        )
}

/// The codec of this name for elements of `dtype` in an array of this fill value (one element, native order); `None` for a
/// name that is not in the table.
pub(crate) fn array_table(ext: &Extension, dtype: &DType, fill: &[u8]) -> Result<Option<Arc<dyn ArrayCodec>>> {
    if is_array_codec(ext.name) && dtype.is_vlen() {
        return Err(Error::new(ErrorKind::Unsupported, format!("codec {} of {}", ext.name, dtype.to_json()))
            .hint("it supports elements of fixed length: use `vlen-utf8` or `vlen-bytes`"));
    }
    let codec: Arc<dyn ArrayCodec> = match ext.name {
        "icecore.byteplanes" => Arc::new(BytePlanes::parse(ext, dtype, fill)?),
        "icecore.choice" => Arc::new(Choice::parse(ext, dtype)?),
        "icecore.fpc" => Arc::new(Fpc::parse(ext, dtype)?),
        "icecore.gwf_vect" => Arc::new(GwfVect::parse(ext, dtype)?),
        "icecore.pages" => Arc::new(Pages::parse(ext, dtype)?),
        "icecore.predict" => Arc::new(Predict::parse(ext, dtype)?),
        "icecore.root_basket" => Arc::new(RootBasket::parse(ext, dtype)?),
        "icecore.root_page" => Arc::new(RootPage::parse(ext, dtype)?),
        "icecore.text_part" => Arc::new(TextPart::parse(ext, dtype)?),
        "packbits" => Arc::new(PackedBits::parse(ext, dtype)?),
        "sharding_indexed" => Arc::new(NestedShard::parse(ext, dtype, fill)?),
        _ => return Ok(None),
    };
    Ok(Some(codec))
}
