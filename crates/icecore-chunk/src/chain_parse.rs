//! Parse the `codecs` list of the metadata.

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::{ArrayStep, Chain, Serializer};
use crate::codecs::{
    BitRound, Delta, Pco, Swap, Transpose, array_table, byte_table, convert_table, is_array_codec, is_converting,
};
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_str, unsupported};

/// Maximum number of codecs in a list.
const MAX_CODECS: usize = 16;

/// The name of `bitround` in files of older zarrs versions.
const ZARRS_BITROUND: &str = "https://codec.zarrs.dev/array_to_array/bitround";

/// Maximum nesting of codecs. The codecs of `icecore.predict` are parsed for two kinds of residuals, so each level of
/// nesting doubles the work.
const MAX_DEPTH: usize = 8;

impl Chain {
    /// Parses a `codecs` list. `fill` is the fill value of the array, one element in native order.
    ///
    /// Errors: `Unsupported` names a codec that this crate does not know, `Format` a malformed list.
    pub fn parse(codecs: &Value, dtype: &DType, fill: &[u8]) -> Result<Chain> {
        let list = codecs.as_array().filter(|l| !l.is_empty() && l.len() <= MAX_CODECS).ok_or_else(|| {
            Error::new(ErrorKind::Format, format!("`codecs` is not a list of 1 to {MAX_CODECS} codecs"))
        })?;
        if depth(codecs) > MAX_DEPTH {
            return Err(Error::new(ErrorKind::Unsupported, format!("codecs nested more than {MAX_DEPTH} deep"))
                .hint("write the array again with fewer codecs inside of codecs"));
        }
        if let Some(at) = list.iter().position(converts) {
            return parse_converting(codecs, list, at, dtype, fill);
        }
        let mut front = Vec::new();
        let mut bytes = Vec::new();
        let mut names = Vec::new();
        for value in list {
            let ext = Extension::parse(value, "codec")?;
            let step = byte_table(&ext, dtype.size())?;
            // A chain is array codecs followed by bytes codecs; unknown codecs that may be ignored are skipped.
            if step.is_none() && !ext.must_understand && !known(ext.name) {
                continue;
            }
            names.push(ext.name.to_string());
            match step {
                Some(step) => bytes.push(step),
                None if bytes.is_empty() => front.push(ext),
                None => return Err(misplaced(&ext)),
            }
        }
        let (arrays, serializer) = parse_front(&front, dtype, fill)?;
        check_vlen(dtype, &arrays, &serializer)?;
        Ok(Chain { dtype: dtype.clone(), arrays, serializer, bytes, codecs: codecs.clone(), names })
    }
}

/// Largest nesting depth of codecs.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => usize::from(map.contains_key("name")) + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn converts(codec: &Value) -> bool {
    Extension::parse(codec, "codec").is_ok_and(|ext| is_converting(ext.name))
}

/// A chain whose codec number `at` changes values or their type: the codecs after it form an inner chain.
fn parse_converting(codecs: &Value, list: &[Value], at: usize, dtype: &DType, fill: &[u8]) -> Result<Chain> {
    let front = list[..=at].iter().map(|value| Extension::parse(value, "codec")).collect::<Result<Vec<_>>>()?;
    let arrays = parse_array_steps(&front[..at], dtype)?;
    let Some((codec, inner)) = convert_table(&front[at], dtype, fill, &list[at + 1..])? else {
        return Err(unsupported("codec", front[at].name));
    };
    let names = front.iter().map(|ext| ext.name.to_string()).chain(inner).collect();
    let serializer = Serializer::Own(codec);
    Ok(Chain { dtype: dtype.clone(), arrays, serializer, bytes: Vec::new(), codecs: codecs.clone(), names })
}

/// Array codecs that are implemented in this file.
fn known(name: &str) -> bool {
    array_codec(name) || serializer_codec(name) || is_converting(name)
}

fn array_codec(name: &str) -> bool {
    matches!(name, "transpose" | "bitround" | "numcodecs.bitround" | ZARRS_BITROUND | "numcodecs.delta")
}

fn serializer_codec(name: &str) -> bool {
    matches!(name, "bytes" | "endian" | "pcodec" | "numcodecs.pcodec" | "vlen-utf8" | "vlen-bytes")
        || is_array_codec(name)
}

fn misplaced(ext: &Extension) -> Error {
    if known(ext.name) {
        return Error::new(ErrorKind::Format, format!("codec {:?} follows a bytes-to-bytes codec", ext.name));
    }
    unsupported("codec", ext.name)
}

/// Parses the codecs up to and including the array→bytes codec.
fn parse_front(front: &[Extension], dtype: &DType, fill: &[u8]) -> Result<(Vec<ArrayStep>, Serializer)> {
    if let Some(strange) = front.iter().find(|ext| !known(ext.name)) {
        return Err(unsupported("codec", strange.name));
    }
    let Some((last, before)) = front.split_last() else {
        return Err(Error::new(ErrorKind::Format, "`codecs` has no array-to-bytes codec")
            .hint("`bytes` must precede the compressors"));
    };
    Ok((parse_array_steps(before, dtype)?, parse_serializer(last, dtype, fill)?))
}

fn parse_array_steps(before: &[Extension], dtype: &DType) -> Result<Vec<ArrayStep>> {
    let arrays = before.iter().map(|ext| parse_array_step(ext, dtype)).collect::<Result<Vec<_>>>()?;
    let moved = arrays.iter().position(|a| matches!(a, ArrayStep::Transpose(t) if !t.is_identity()));
    let delta = arrays.iter().rposition(|a| matches!(a, ArrayStep::Delta(_)));
    if moved.is_some_and(|moved| delta.is_some_and(|delta| delta > moved)) {
        return Err(Error::new(ErrorKind::Unsupported, "codec numcodecs.delta after transpose"));
    }
    Ok(arrays)
}

fn parse_array_step(ext: &Extension, dtype: &DType) -> Result<ArrayStep> {
    match ext.name {
        "transpose" => Ok(ArrayStep::Transpose(Transpose::parse(ext)?)),
        "bitround" | "numcodecs.bitround" | ZARRS_BITROUND => Ok(ArrayStep::BitRound(BitRound::parse(ext, dtype)?)),
        "numcodecs.delta" => Ok(ArrayStep::Delta(Delta::parse(ext, dtype)?)),
        other => Err(Error::new(ErrorKind::Format, format!("codec {other:?} precedes another array codec"))),
    }
}

fn parse_serializer(ext: &Extension, dtype: &DType, fill: &[u8]) -> Result<Serializer> {
    match ext.name {
        "bytes" | "endian" => parse_bytes(ext, dtype),
        "pcodec" | "numcodecs.pcodec" => Ok(Serializer::Pco(Pco::parse(ext, dtype)?)),
        "vlen-utf8" => Ok(Serializer::Vlen { utf8: true }),
        "vlen-bytes" => Ok(Serializer::Vlen { utf8: false }),
        other => match array_table(ext, dtype, fill)? {
            Some(codec) => Ok(Serializer::Own(codec)),
            None => Err(Error::new(ErrorKind::Format, format!("no array-to-bytes codec follows {other:?}"))),
        },
    }
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

fn check_vlen(dtype: &DType, arrays: &[ArrayStep], serializer: &Serializer) -> Result<()> {
    let ok = match (dtype, serializer) {
        (DType::VlenUtf8, Serializer::Vlen { utf8 }) => *utf8,
        (DType::VlenBytes, Serializer::Vlen { .. }) => true,
        (dtype, Serializer::Vlen { .. }) => dtype.is_vlen(),
        (dtype, _) => !dtype.is_vlen(),
    };
    if ok && (!dtype.is_vlen() || arrays.iter().all(|a| matches!(a, ArrayStep::Transpose(_)))) {
        return Ok(());
    }
    let codec = match serializer {
        Serializer::Vlen { utf8: true } => "the codec `vlen-utf8`",
        Serializer::Vlen { utf8: false } => "the codec `vlen-bytes`",
        _ if ok => "a codec that changes numbers",
        _ => "a codec for numbers",
    };
    let what = format!("{codec} does not suit the data type {}", dtype.to_json());
    Err(Error::new(ErrorKind::Unsupported, what).hint("strings need `vlen-utf8`, byte strings `vlen-bytes`"))
}
