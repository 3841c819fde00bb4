//! New datasets: parse the request, and make the Zarr document of the array.

use icecore::grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use super::incoming;
use super::types::H5Type;
use super::types_parse::{data_type, parse, spelled};
use crate::http::base64::{base64, unbase64};

/// Target bytes of a chunk, if the client does not choose its shape.
const CHUNK: u64 = 1 << 20;
/// Maximum bytes of a client's chunks.
const LARGEST: u64 = 128 << 20;

fn bad(what: impl std::fmt::Display, hint: &str) -> Error {
    Error::new(ErrorKind::Invalid, what.to_string()).hint(hint)
}

/// `type`, `shape` and `creationProperties` of a new dataset. `kind` is its type, with committed types resolved.
///
/// # Errors
/// `invalid`, `unsupported`.
pub(crate) fn metadata(body: &Map<String, Value>, kind: &Value) -> Result<Map<String, Value>> {
    let h5 = parse(kind)?.h5;
    let shape = shape(body)?;
    let mut properties = match body.get("creationProperties") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(properties)) => properties.clone(),
        Some(_) => return Err(bad("creationProperties is not an object", "for example {\"filters\": []}")),
    };
    let dims = dims(&shape);
    if let Some(dims) = &dims {
        let layout = layout(properties.get("layout").or_else(|| body.get("layout")), dims, &shape, h5.size() as u64)?;
        properties.insert("layout".to_owned(), layout);
    }
    if let Some(filters) = properties.get("filters").and_then(Value::as_array) {
        let filters = filters.iter().map(filter).collect::<Result<Vec<Value>>>()?;
        properties.insert("filters".to_owned(), filters.into());
    }
    fill(&properties, &h5)?;
    let mut out = Map::new();
    out.insert("type".to_owned(), spelled(kind));
    out.insert("shape".to_owned(), shape);
    out.insert("creationProperties".to_owned(), properties.into());
    Ok(out)
}

fn dims(shape: &Value) -> Option<Vec<u64>> {
    match shape.get("class").and_then(Value::as_str) {
        Some("H5S_SIMPLE") => Some(shape.get("dims")?.as_array()?.iter().filter_map(Value::as_u64).collect()),
        _ => None,
    }
}

fn lengths(value: &Value, name: &str) -> Result<Vec<u64>> {
    let list = match value {
        Value::Number(_) => value.as_u64().map(|n| vec![n]),
        Value::Array(list) => list
            .iter()
            .map(|each| each.as_u64().or_else(|| (each.is_null() || each == "H5S_UNLIMITED").then_some(0)))
            .collect(),
        _ => None,
    };
    list.filter(|list: &Vec<u64>| list.len() <= 32)
        .ok_or_else(|| bad(format!("{name} {value}"), "a list of lengths, 0 or more, for at most 32 axes"))
}

/// Parses a dataspace: a list of lengths, the name of a class, or an object.
///
/// # Errors
/// `invalid`.
pub(crate) fn shape(body: &Map<String, Value>) -> Result<Value> {
    let (given, limits) = match body.get("shape") {
        None | Some(Value::Null) => return Ok(json!({"class": "H5S_SCALAR"})),
        Some(Value::Object(object)) => match object.get("class").and_then(Value::as_str) {
            Some("H5S_NULL") => return Ok(json!({"class": "H5S_NULL"})),
            Some("H5S_SCALAR") => return Ok(json!({"class": "H5S_SCALAR"})),
            _ => {
                (object.get("dims").cloned().unwrap_or_default(), object.get("maxdims").or_else(|| body.get("maxdims")))
            }
        },
        Some(Value::String(class)) if class == "H5S_NULL" => return Ok(json!({"class": "H5S_NULL"})),
        Some(Value::String(class)) if class == "H5S_SCALAR" => return Ok(json!({"class": "H5S_SCALAR"})),
        Some(other) => (other.clone(), body.get("maxdims")),
    };
    let dims = lengths(&given, "shape")?;
    if dims.is_empty() {
        return Ok(json!({"class": "H5S_SCALAR"}));
    }
    let mut shape = json!({"class": "H5S_SIMPLE", "dims": dims});
    if let Some(limits) = limits.filter(|limits| !limits.is_null()) {
        let limits = lengths(limits, "maxdims")?;
        let fits =
            limits.len() == dims.len() && dims.iter().zip(&limits).all(|(len, limit)| *limit == 0 || limit >= len);
        if !fits {
            return Err(bad(
                format!("maxdims {limits:?} of the shape {dims:?}"),
                "one limit an axis, at least its length; 0: none",
            ));
        }
        shape["maxdims"] = json!(limits);
    }
    Ok(shape)
}

/// The layout with the chunk shape.
fn layout(given: Option<&Value>, dims: &[u64], shape: &Value, size: u64) -> Result<Value> {
    let class = given.and_then(|layout| layout.get("class")).and_then(Value::as_str).unwrap_or("H5D_CHUNKED");
    let is_fixed = shape
        .get("maxdims")
        .and_then(Value::as_array)
        .is_none_or(|limits| limits.iter().zip(dims).all(|(limit, len)| limit.as_u64() == Some(*len)));
    match class {
        "H5D_CHUNKED" => {}
        "H5D_CONTIGUOUS" | "H5D_COMPACT" if is_fixed => return Ok(json!({"class": class})),
        "H5D_CONTIGUOUS" | "H5D_COMPACT" => {
            return Err(bad(
                format!("a dataset of layout {class} cannot grow"),
                "leave out maxdims, or use H5D_CHUNKED",
            ));
        }
        other => {
            return Err(
                Error::new(ErrorKind::Unsupported, format!("the layout {other}")).hint("H5D_CHUNKED or H5D_CONTIGUOUS")
            );
        }
    }
    let chunks = match given.and_then(|layout| layout.get("dims")) {
        None | Some(Value::Null) => guess(dims, size),
        Some(list) => lengths(list, "layout")?,
    };
    let bytes = chunks.iter().try_fold(size, |all, n| all.checked_mul(*n)).unwrap_or(u64::MAX);
    if chunks.len() != dims.len() || chunks.contains(&0) || bytes > LARGEST {
        return Err(bad(
            format!("chunks {chunks:?} of the shape {dims:?}"),
            "one length an axis, 1 or more; at most 128 MiB a chunk",
        ));
    }
    for ((chunk, len), limit) in chunks.iter().zip(dims).zip(limits(shape, dims)) {
        if limit != 0 && *chunk > limit.max(*len).max(1) {
            return Err(bad(format!("chunks {chunks:?} are larger than the shape {dims:?}"), "choose smaller chunks"));
        }
    }
    Ok(json!({"class": "H5D_CHUNKED", "dims": chunks}))
}

fn limits(shape: &Value, dims: &[u64]) -> Vec<u64> {
    let found = shape.get("maxdims").and_then(Value::as_array);
    found.map_or_else(|| dims.to_vec(), |list| list.iter().filter_map(Value::as_u64).collect())
}

/// Chunks of about a megabyte: the outer axes are divided first.
pub(crate) fn guess(dims: &[u64], size: u64) -> Vec<u64> {
    let mut chunks: Vec<u64> = dims.iter().map(|len| if *len == 0 { 1024 } else { *len }).collect();
    let bytes = |chunks: &[u64]| chunks.iter().fold(size, |all: u64, n| all.saturating_mul(*n));
    for axis in 0..chunks.len() {
        while bytes(&chunks) > CHUNK && chunks.get(axis).is_some_and(|n| *n > 1) {
            if let Some(chunk) = chunks.get_mut(axis) {
                *chunk = chunk.div_ceil(2);
            }
        }
    }
    chunks
}

/// A filter in HSDS's spelling.
fn filter(given: &Value) -> Result<Value> {
    let by_name = |name: &str| match name.to_ascii_lowercase().as_str() {
        "gzip" | "deflate" | "zlib" | "h5z_filter_deflate" => Some(("H5Z_FILTER_DEFLATE", 1, "gzip")),
        "shuffle" | "h5z_filter_shuffle" => Some(("H5Z_FILTER_SHUFFLE", 2, "shuffle")),
        "fletcher32" | "h5z_filter_fletcher32" => Some(("H5Z_FILTER_FLETCHER32", 3, "fletcher32")),
        "szip" | "h5z_filter_szip" => Some(("H5Z_FILTER_SZIP", 4, "szip")),
        "nbit" | "h5z_filter_nbit" => Some(("H5Z_FILTER_NBIT", 5, "nbit")),
        "scaleoffset" | "h5z_filter_scaleoffset" => Some(("H5Z_FILTER_SCALEOFFSET", 6, "scaleoffset")),
        "lzf" | "h5z_filter_lzf" => Some(("H5Z_FILTER_LZF", 32000, "lzf")),
        "lz4" | "h5z_filter_lz4" => Some(("H5Z_FILTER_LZ4", 32004, "lz4")),
        "bitshuffle" | "h5z_filter_bitshuffle" => Some(("H5Z_FILTER_BITSHUFFLE", 32008, "bitshuffle")),
        "zstd" | "h5z_filter_zstd" => Some(("H5Z_FILTER_ZSTD", 32015, "zstd")),
        "blosclz" | "blosc" => Some(("H5Z_FILTER_BLOSC", 32001, "blosclz")),
        _ => None,
    };
    let by_id = |id: u64| {
        ["gzip", "shuffle", "fletcher32", "szip", "nbit", "scaleoffset", "lzf", "lz4", "bitshuffle", "zstd", "blosc"]
            .iter()
            .filter_map(|name| by_name(name))
            .find(|(_, number, _)| *number == id)
    };
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let found = given
        .as_str()
        .and_then(by_name)
        .or_else(|| text("class").and_then(by_name))
        .or_else(|| text("name").and_then(by_name))
        .or_else(|| given.get("id").or(Some(given)).and_then(Value::as_u64).and_then(by_id));
    let (class, id, name) = found.ok_or_else(|| {
        bad(format!("unknown filter {given}"), "for example {\"class\": \"H5Z_FILTER_DEFLATE\", \"level\": 4}")
    })?;
    let mut out = match given {
        Value::Object(object) => object.clone(),
        _ => Map::new(),
    };
    out.insert("class".to_owned(), json!(class));
    out.insert("id".to_owned(), json!(id));
    out.entry("name").or_insert_with(|| json!(name));
    Ok(out.into())
}

/// The fill value's bytes in the API's encoding; None without one.
fn fill(properties: &Map<String, Value>, h5: &H5Type) -> Result<Option<Vec<u8>>> {
    let Some(value) = properties.get("fillValue").filter(|value| !value.is_null()) else { return Ok(None) };
    let encoded = properties.get("fillValue_encoding").and_then(Value::as_str) == Some("base64");
    if let (true, Some(text)) = (encoded, value.as_str()) {
        return Ok(unbase64(text));
    }
    let mut bytes = Vec::new();
    incoming::from_json(value, 0, h5, false, &mut bytes)?;
    Ok(Some(bytes))
}

/// The Zarr document of a dataset's array.
///
/// # Errors
/// `invalid`, `unsupported`.
pub(crate) fn document(metadata: &Map<String, Value>, attributes: Value) -> Result<Value> {
    let parsed = parse(metadata.get("type").unwrap_or(&Value::Null))?;
    let (h5, big) = (parsed.h5, parsed.big);
    let shape = metadata.get("shape").cloned().unwrap_or_default();
    let is_null = shape.get("class").and_then(Value::as_str) == Some("H5S_NULL");
    let lengths = if is_null { vec![0] } else { dims(&shape).unwrap_or_default() };
    let properties = metadata.get("creationProperties").and_then(Value::as_object).cloned().unwrap_or_default();
    let chunks: Option<Vec<u64>> = properties
        .get("layout")
        .and_then(|layout| layout.get("dims"))
        .and_then(Value::as_array)
        .map(|dims| dims.iter().filter_map(Value::as_u64).collect());
    let chunks =
        chunks.filter(|chunks| chunks.len() == lengths.len()).unwrap_or_else(|| guess(&lengths, h5.size() as u64));
    let fill = fill(&properties, &h5)?.map(|bytes| incoming::elements(&bytes, &h5, false)).transpose()?;
    let first = match h5 {
        H5Type::Text => json!({"name": "vlen-utf8"}),
        H5Type::Bytes | H5Type::Vlen(_) | H5Type::Sent(_) => json!({"name": "vlen-bytes"}),
        _ => json!({"name": "bytes", "configuration": {"endian": if big { "big" } else { "little" }}}),
    };
    Ok(json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": lengths,
        "data_type": data_type(&h5),
        "fill_value": fill_value(fill, &h5),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [first, {"name": "zstd", "configuration": {"level": 1, "checksum": false}}, {"name": "crc32c"}],
        "attributes": attributes,
    }))
}

fn fill_value(fill: Option<incoming::Elements>, h5: &H5Type) -> Value {
    let bytes = match fill {
        Some(incoming::Elements::Fixed { bytes, .. }) => bytes,
        Some(incoming::Elements::Variable(mut elements)) => elements.pop().unwrap_or_default(),
        None => vec![0; if h5.is_plain() { h5.size() } else { 0 }],
    };
    match h5 {
        H5Type::Bool => json!(bytes.first().is_some_and(|byte| *byte != 0)),
        H5Type::Integer { size, signed } | H5Type::Enum { size, signed, .. } => {
            let value = super::text::integer(&bytes, *size, *signed);
            i64::try_from(value).map_or_else(|_| json!(u64::try_from(value).unwrap_or_default()), |value| json!(value))
        }
        // Every bit counts, including the payload of NaN.
        H5Type::Float { size } => json!(hex(&bytes, *size)),
        H5Type::Complex { size } => {
            let (real, imaginary) = bytes.split_at((*size).min(bytes.len()));
            json!([hex(real, *size), hex(imaginary, *size)])
        }
        H5Type::Text => json!(String::from_utf8_lossy(&bytes)),
        // The NULs at the end of a fixed-length string are implied; they may be many megabytes.
        H5Type::Fixed(_) => {
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            json!(base64(bytes.get(..end).unwrap_or_default()))
        }
        _ => json!(base64(&bytes)),
    }
}

/// A float's bits in native order, as `0x…`.
fn hex(bytes: &[u8], size: usize) -> String {
    let ordered: Vec<u8> =
        if cfg!(target_endian = "big") { bytes.to_vec() } else { bytes.iter().rev().copied().collect() };
    let digits: String = ordered.iter().take(size).map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

#[cfg(test)]
mod tests {
    use icecore::chunk::ArrayMeta;

    use super::*;

    fn made(body: Value) -> Result<(Map<String, Value>, ArrayMeta)> {
        let body = body.as_object().cloned().unwrap_or_default();
        let metadata = metadata(&body, &body["type"])?;
        let document = document(&metadata, json!({}))?;
        Ok((metadata, ArrayMeta::parse(document.to_string().as_bytes())?))
    }

    #[test]
    fn documents_of_new_datasets() {
        let (metadata, meta) = made(json!({"type": "H5T_STD_I32LE", "shape": [10, 4], "maxdims": [0, 4],
            "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [5, 2]}, "filters": ["gzip"], "fillValue": -7}}))
        .unwrap();
        assert_eq!(meta.fill, (-7_i32).to_ne_bytes());
        assert_eq!(metadata["creationProperties"]["filters"][0]["id"], 1);
        let (_, meta) =
            made(json!({"type": "H5T_IEEE_F32BE", "shape": [4], "creationProperties": {"fillValue": 1.5}})).unwrap();
        assert_eq!(meta.fill, 1.5_f32.to_ne_bytes());
        let text = json!({"class": "H5T_STRING", "length": "H5T_VARIABLE"});
        assert!(made(json!({"type": text, "shape": "H5S_NULL"})).unwrap().1.dtype.is_vlen());
        assert_eq!(made(json!({"type": text})).unwrap().1.shape, [0_u64; 0]);
    }

    #[test]
    fn bad_datasets_are_refused() {
        for body in [
            json!({"type": "H5T_STD_I32LE", "shape": [-1]}),
            json!({"type": "H5T_STD_I32LE", "shape": [5], "maxdims": [4]}),
            json!({"type": "H5T_STD_I32LE", "shape": [5], "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [0]}}}),
            json!({"type": "H5T_STD_I32LE", "shape": [5], "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [9]}}}),
            json!({"type": "H5T_STD_I32LE", "shape": [5], "creationProperties": {"filters": ["none"]}}),
        ] {
            assert_eq!(made(body.clone()).unwrap_err().kind, ErrorKind::Invalid, "{body}");
        }
    }

    #[test]
    fn chunks_are_about_a_megabyte() {
        assert_eq!(guess(&[4000, 1000], 8), [125, 1000]);
        assert_eq!(guess(&[0, 3], 8), [1024, 3]);
    }
}
