//! Table of array→array codecs that change values, their type or the chunk's shape; each holds its inner chain, the
//! codecs that follow it.

use std::sync::Arc;

use icecore_grid::Result;
use serde_json::Value;

use super::array_codec::ArrayCodec;
use crate::codecs::array::conversion::Converted;
use crate::codecs::array::packbits::PackBits;
use crate::codecs::array::reshape::Reshape;
use crate::codecs::array::{cast_value, fixed_scale_offset, numpy_cast, scale_offset};
use crate::codecs::own::decimal::Decimal;
use crate::codecs::own::offset::Offset;
use crate::dtype::DType;
use crate::extension::Extension;

/// The codec with its inner chain, and the names of the inner codecs.
pub(crate) type Converting = (Arc<dyn ArrayCodec>, Vec<String>);

/// Whether the table has this name.
pub(crate) fn is_converting(name: &str) -> bool {
    matches!(
        name,
        "icecore.decimal"
            | "icecore.offset"
            | "cast_value"
            | "scale_offset"
            | "numcodecs.astype"
            | "numcodecs.fixedscaleoffset"
            | "numcodecs.quantize"
            | "numcodecs.packbits"
            | "reshape"
            | "zarrs.squeeze"
    )
}

/// The codec of this name for elements of `dtype`; `rest` is the list of the codecs that follow. `None` for an unknown
/// name.
pub(crate) fn convert_table(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Option<Converting>> {
    let converted = |codec: Converted| -> Converting {
        let names = codec.names();
        (Arc::new(codec), names)
    };
    Ok(Some(match ext.name {
        "icecore.decimal" => {
            let codec = Decimal::parse(ext, dtype, rest)?;
            let names = codec.names();
            (Arc::new(codec), names)
        }
        "icecore.offset" => {
            let codec = Offset::parse(ext, dtype, rest)?;
            let names = codec.names();
            (Arc::new(codec), names)
        }
        "numcodecs.packbits" => {
            let codec = PackBits::parse(ext, dtype, rest)?;
            let names = codec.names();
            (Arc::new(codec), names)
        }
        "reshape" | "zarrs.squeeze" => {
            let codec = Reshape::parse(ext, dtype, fill, rest)?;
            let names = codec.names();
            (Arc::new(codec), names)
        }
        "cast_value" => converted(cast_value::parse(ext, dtype, fill, rest)?),
        "scale_offset" => converted(scale_offset::parse(ext, dtype, fill, rest)?),
        "numcodecs.fixedscaleoffset" => converted(fixed_scale_offset::parse(ext, dtype, fill, rest)?),
        "numcodecs.astype" => converted(numpy_cast::parse_astype(ext, dtype, fill, rest)?),
        "numcodecs.quantize" => converted(numpy_cast::parse_quantize(ext, dtype, fill, rest)?),
        _ => return Ok(None),
    }))
}
