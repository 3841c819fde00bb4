//! All codecs: their names, which each codec's file declares, and how their configurations are parsed.
//!
//! To add a codec, write its file in one of the directories and a row here.

use std::sync::Arc;

use icecore_grid::Result;
use serde_json::Value;

use crate::chain::{ArrayStep, Serializer};
use crate::codecs::array::byte_order::Swap;
use crate::codecs::array::conversion::Converted;
use crate::codecs::array::{
    bitround, byte_order, cast_value, delta, fixed_scale_offset, nested_shard, numpy_cast, packbits, packed_bits, pco,
    reshape, scale_offset, transpose,
};
use crate::codecs::array_codec::ArrayCodec;
use crate::codecs::byte_codec::BytesCodec;
use crate::codecs::byte_step::ByteStep;
use crate::codecs::bytes::{blosc, bz2, checksum, gzip, h5bitshuffle, h5lz4, lz4, lzf, lzma, shuffle, zlib, zstd};
use crate::codecs::own::{
    byteplanes, choice, decimal, fpc, gwf_vect, offset, pages, predict, root_basket, root_page, text_part,
};
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_str};

/// A codec with its inner chain, and the names of the inner codecs.
pub(crate) type Converting = (Arc<dyn ArrayCodec>, Vec<String>);

type ParseElements = fn(&Extension, &DType, &[u8]) -> Result<Arc<dyn ArrayCodec>>;

/// Parser of a codec's configuration. `fill` is one element in native order.
pub(crate) enum Parse {
    /// bytes→bytes; the size of an element is the default of codecs whose configuration omits it.
    Bytes(fn(&Extension, usize) -> Result<ByteStep>),
    /// array→array, in place.
    Array(fn(&Extension, &DType) -> Result<ArrayStep>),
    /// array→array codecs that change values, their type or the chunk's shape; each holds the codecs that follow it.
    Converting(fn(&Extension, &DType, &[u8], &[Value]) -> Result<Converting>),
    /// array→bytes codecs that the chain itself executes.
    Serializer(fn(&Extension, &DType) -> Result<Serializer>),
    /// array→bytes codecs of elements of fixed length.
    Elements(ParseElements),
}

impl Parse {
    /// The kind of the codec, in Zarr's words.
    fn kind(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes_to_bytes",
            Self::Array(_) | Self::Converting(_) => "array_to_array",
            Self::Serializer(_) | Self::Elements(_) => "array_to_bytes",
        }
    }
}

struct Row(&'static [&'static str], Parse);

static REGISTRY: &[Row] = &[
    Row(zlib::NAMES, Parse::Bytes(|ext, _| step(zlib::Zlib::parse(ext)?))),
    Row(gzip::NAMES, Parse::Bytes(|ext, _| step(gzip::Gzip::parse(ext)?))),
    Row(zstd::NAMES, Parse::Bytes(|ext, _| step(zstd::Zstd::parse(ext)?))),
    Row(lz4::NAMES, Parse::Bytes(|ext, _| step(lz4::Lz4::parse(ext)?))),
    Row(h5lz4::NAMES, Parse::Bytes(|ext, _| step(h5lz4::H5Lz4::parse(ext)?))),
    Row(blosc::NAMES, Parse::Bytes(|ext, itemsize| step(blosc::Blosc::parse(ext, itemsize)?))),
    Row(shuffle::NAMES, Parse::Bytes(|ext, itemsize| step(shuffle::Shuffle::parse(ext, itemsize)?))),
    Row(h5bitshuffle::NAMES, Parse::Bytes(|ext, _| step(h5bitshuffle::H5BitShuffle::parse(ext)?))),
    Row(lzf::NAMES, Parse::Bytes(|ext, _| step(lzf::Lzf::parse(ext)?))),
    Row(bz2::NAMES, Parse::Bytes(|ext, _| step(bz2::Bz2::parse(ext)?))),
    Row(lzma::NAMES, Parse::Bytes(|ext, _| step(lzma::Lzma::parse(ext)?))),
    Row(checksum::NAMES, Parse::Bytes(|ext, _| checksum::Checksum::parse(ext).map(ByteStep::Checksum))),
    Row(transpose::NAMES, Parse::Array(|ext, _| transpose::Transpose::parse(ext).map(ArrayStep::Transpose))),
    Row(bitround::NAMES, Parse::Array(|ext, dtype| bitround::BitRound::parse(ext, dtype).map(ArrayStep::BitRound))),
    Row(delta::NAMES, Parse::Array(|ext, dtype| delta::Delta::parse(ext, dtype).map(ArrayStep::Delta))),
    Row(
        decimal::NAMES,
        Parse::Converting(|ext, dtype, _, rest| {
            holding(decimal::Decimal::parse(ext, dtype, rest)?, decimal::Decimal::names)
        }),
    ),
    Row(
        offset::NAMES,
        Parse::Converting(|ext, dtype, _, rest| {
            holding(offset::Offset::parse(ext, dtype, rest)?, offset::Offset::names)
        }),
    ),
    Row(
        packbits::NAMES,
        Parse::Converting(|ext, dtype, _, rest| {
            holding(packbits::PackBits::parse(ext, dtype, rest)?, packbits::PackBits::names)
        }),
    ),
    Row(
        reshape::NAMES,
        Parse::Converting(|ext, dtype, fill, rest| {
            holding(reshape::Reshape::parse(ext, dtype, fill, rest)?, reshape::Reshape::names)
        }),
    ),
    Row(
        cast_value::NAMES,
        Parse::Converting(|ext, dtype, fill, rest| {
            holding(cast_value::parse(ext, dtype, fill, rest)?, Converted::names)
        }),
    ),
    Row(
        scale_offset::NAMES,
        Parse::Converting(|ext, dtype, fill, rest| {
            holding(scale_offset::parse(ext, dtype, fill, rest)?, Converted::names)
        }),
    ),
    Row(
        fixed_scale_offset::NAMES,
        Parse::Converting(|ext, dtype, fill, rest| {
            holding(fixed_scale_offset::parse(ext, dtype, fill, rest)?, Converted::names)
        }),
    ),
    Row(
        numpy_cast::ASTYPE,
        Parse::Converting(|ext, dtype, fill, rest| {
            holding(numpy_cast::parse_astype(ext, dtype, fill, rest)?, Converted::names)
        }),
    ),
    Row(
        numpy_cast::QUANTIZE,
        Parse::Converting(|ext, dtype, fill, rest| {
            holding(numpy_cast::parse_quantize(ext, dtype, fill, rest)?, Converted::names)
        }),
    ),
    Row(byte_order::NAMES, Parse::Serializer(parse_bytes)),
    Row(pco::NAMES, Parse::Serializer(|ext, dtype| pco::Pco::parse(ext, dtype).map(Serializer::Pco))),
    Row(&["vlen-utf8"], Parse::Serializer(|_, _| Ok(Serializer::Vlen { utf8: true }))),
    Row(&["vlen-bytes"], Parse::Serializer(|_, _| Ok(Serializer::Vlen { utf8: false }))),
    Row(byteplanes::NAMES, Parse::Elements(|ext, dtype, fill| boxed(byteplanes::BytePlanes::parse(ext, dtype, fill)?))),
    Row(choice::NAMES, Parse::Elements(|ext, dtype, _| boxed(choice::Choice::parse(ext, dtype)?))),
    Row(fpc::NAMES, Parse::Elements(|ext, dtype, _| boxed(fpc::Fpc::parse(ext, dtype)?))),
    Row(gwf_vect::NAMES, Parse::Elements(|ext, dtype, _| boxed(gwf_vect::GwfVect::parse(ext, dtype)?))),
    Row(pages::NAMES, Parse::Elements(|ext, dtype, _| boxed(pages::Pages::parse(ext, dtype)?))),
    Row(predict::NAMES, Parse::Elements(|ext, dtype, _| boxed(predict::Predict::parse(ext, dtype)?))),
    Row(root_basket::NAMES, Parse::Elements(|ext, dtype, _| boxed(root_basket::RootBasket::parse(ext, dtype)?))),
    Row(root_page::NAMES, Parse::Elements(|ext, dtype, _| boxed(root_page::RootPage::parse(ext, dtype)?))),
    Row(text_part::NAMES, Parse::Elements(|ext, dtype, _| boxed(text_part::TextPart::parse(ext, dtype)?))),
    Row(packed_bits::NAMES, Parse::Elements(|ext, dtype, _| boxed(packed_bits::PackedBits::parse(ext, dtype)?))),
    Row(
        nested_shard::NAMES,
        Parse::Elements(|ext, dtype, fill| boxed(nested_shard::NestedShard::parse(ext, dtype, fill)?)),
    ),
];

/// The parser of the codec with this name.
pub(crate) fn find(name: &str) -> Option<&'static Parse> {
    REGISTRY.iter().find(|Row(names, _)| names.contains(&name)).map(|Row(_, parse)| parse)
}

/// Name and kind (`array_to_array`, `array_to_bytes`, `bytes_to_bytes`) of all codecs.
pub fn codec_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    REGISTRY.iter().flat_map(|Row(names, parse)| names.iter().map(|name| (*name, parse.kind())))
}

fn step(codec: impl BytesCodec + 'static) -> Result<ByteStep> {
    Ok(ByteStep::Codec(Arc::new(codec)))
}

fn boxed(codec: impl ArrayCodec + 'static) -> Result<Arc<dyn ArrayCodec>> {
    Ok(Arc::new(codec))
}

fn holding<C: ArrayCodec + 'static>(codec: C, names: impl Fn(&C) -> Vec<String>) -> Result<Converting> {
    let names = names(&codec);
    Ok((Arc::new(codec), names))
}

fn parse_bytes(ext: &Extension, dtype: &DType) -> Result<Serializer> {
    let swap = Swap::of(dtype);
    let little = match ext.get("endian").map(|_| config_str(ext, "endian")).transpose()? {
        Some("little") => true,
        Some("big") => false,
        None if swap.is_none() => return Ok(Serializer::Bytes(Swap::None)),
        // A missing `endian` for multi-byte elements means little-endian.
        None => true,
        Some(_) => return Err(bad_config(ext, "endian", "little, big")),
    };
    Ok(Serializer::Bytes(if little == cfg!(target_endian = "little") { Swap::None } else { swap }))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_name_belongs_to_one_codec() {
        let mut known = HashSet::new();
        assert!(codec_names().all(|(name, _)| known.insert(name)));
        assert!(known.len() > 50);
        assert!(find("crc32c").is_some() && find("nothing").is_none());
    }
}
