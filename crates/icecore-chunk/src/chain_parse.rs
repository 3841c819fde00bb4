//! Parse the `codecs` list of the metadata.

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::{ArrayStep, Chain, Serializer};
use crate::codecs::{Parse, find};
use crate::dtype::DType;
use crate::extension::{Extension, unsupported};

/// Maximum number of codecs in a list.
const MAX_CODECS: usize = 16;

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
            let parse = find(ext.name);
            // A chain is array codecs followed by bytes codecs; unknown codecs that may be ignored are skipped.
            if parse.is_none() && !ext.must_understand {
                continue;
            }
            names.push(ext.name.to_string());
            match parse {
                Some(Parse::Bytes(parse)) => bytes.push(parse(&ext, dtype.size())?),
                _ if bytes.is_empty() => front.push(ext),
                _ => return Err(misplaced(&ext)),
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
    Extension::parse(codec, "codec").is_ok_and(|ext| matches!(find(ext.name), Some(Parse::Converting(_))))
}

/// A chain whose codec number `at` changes values or their type: the codecs after it form an inner chain.
fn parse_converting(codecs: &Value, list: &[Value], at: usize, dtype: &DType, fill: &[u8]) -> Result<Chain> {
    let front = list[..=at].iter().map(|value| Extension::parse(value, "codec")).collect::<Result<Vec<_>>>()?;
    let arrays = parse_array_steps(&front[..at], dtype)?;
    let Some(Parse::Converting(parse)) = find(front[at].name) else {
        return Err(unsupported("codec", front[at].name));
    };
    let (codec, inner) = parse(&front[at], dtype, fill, &list[at + 1..])?;
    let names = front.iter().map(|ext| ext.name.to_string()).chain(inner).collect();
    let serializer = Serializer::Own(codec);
    Ok(Chain { dtype: dtype.clone(), arrays, serializer, bytes: Vec::new(), codecs: codecs.clone(), names })
}

fn misplaced(ext: &Extension) -> Error {
    if find(ext.name).is_some() {
        return Error::new(ErrorKind::Format, format!("codec {:?} follows a bytes-to-bytes codec", ext.name));
    }
    unsupported("codec", ext.name)
}

/// Parses the codecs up to and including the array→bytes codec.
fn parse_front(front: &[Extension], dtype: &DType, fill: &[u8]) -> Result<(Vec<ArrayStep>, Serializer)> {
    if let Some(strange) = front.iter().find(|ext| find(ext.name).is_none()) {
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
    match find(ext.name) {
        Some(Parse::Array(parse)) => parse(ext, dtype),
        _ => Err(Error::new(ErrorKind::Format, format!("codec {:?} precedes another array codec", ext.name))),
    }
}

fn parse_serializer(ext: &Extension, dtype: &DType, fill: &[u8]) -> Result<Serializer> {
    match find(ext.name) {
        Some(Parse::Serializer(parse)) => parse(ext, dtype),
        Some(Parse::Elements(_)) if dtype.is_vlen() => {
            Err(Error::new(ErrorKind::Unsupported, format!("codec {} of {}", ext.name, dtype.to_json()))
                .hint("it supports elements of fixed length: use `vlen-utf8` or `vlen-bytes`"))
        }
        Some(Parse::Elements(parse)) => parse(ext, dtype, fill).map(Serializer::Own),
        _ => Err(Error::new(ErrorKind::Format, format!("no array-to-bytes codec follows {:?}", ext.name))),
    }
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
