//! How a dataset is stored, in HDF5's words: chunks, filters, fill value, byte order.

use icecore::chunk::ArrayMeta;
use icecore::grid::Axis;
use icecore::read::ArrayView;
use icecore::session::Values;
use serde_json::{Value, json};

use super::text::{self, NotFinite};
use super::types::H5Type;

/// HDF5's filter for a codec of Zarr, where there is one.
fn filter(name: &str, configuration: Option<&Value>) -> Option<Value> {
    let level = || configuration.and_then(|c| c.get("level")).and_then(Value::as_u64);
    Some(match name.strip_prefix("numcodecs.").unwrap_or(name) {
        "gzip" | "zlib" => {
            json!({"class": "H5Z_FILTER_DEFLATE", "id": 1, "name": "gzip", "level": level().unwrap_or(4).min(9)})
        }
        "shuffle" => json!({"class": "H5Z_FILTER_SHUFFLE", "id": 2, "name": "shuffle"}),
        "fletcher32" => json!({"class": "H5Z_FILTER_FLETCHER32", "id": 3, "name": "fletcher32"}),
        "icecore.h5lzf" | "imagecodecs_lzf" => json!({"class": "H5Z_FILTER_LZF", "id": 32000, "name": "lzf"}),
        "icecore.h5bitshuffle" => json!({"class": "H5Z_FILTER_BITSHUFFLE", "id": 32008, "name": "bitshuffle"}),
        "zstd" => json!({"class": "H5Z_FILTER_ZSTD", "id": 32015, "name": "zstd"}),
        _ => return None,
    })
}

/// Codecs of a decoded unit: those inside the shard, where the array is sharded.
fn codecs(meta: &ArrayMeta) -> Vec<Value> {
    let outer = meta.codecs.as_array().cloned().unwrap_or_default();
    let inner = outer.first().filter(|_| meta.shard.is_some()).and_then(|c| c.pointer("/configuration/codecs"));
    inner.and_then(Value::as_array).cloned().unwrap_or(outer)
}

fn name(codec: &Value) -> &str {
    codec.as_str().or_else(|| codec.get("name")?.as_str()).unwrap_or_default()
}

/// Whether numbers are stored big-endian: then they are declared and sent so.
pub(crate) fn is_big(meta: &ArrayMeta) -> bool {
    let codecs = codecs(meta);
    let bytes = codecs.iter().find(|codec| name(codec) == "bytes");
    bytes.and_then(|codec| codec.pointer("/configuration/endian")).and_then(Value::as_str) == Some("big")
}

/// Lengths of the chunks; the first one's where they are not alike.
pub(crate) fn chunks(view: &ArrayView) -> Vec<u64> {
    let axes = view.grid().axes.iter();
    axes.map(|axis| match axis {
        Axis::Regular { chunk, .. } => *chunk,
        Axis::Rectilinear { .. } => axis.extent(0).1,
    })
    .collect()
}

/// The properties that a dataset was created with.
pub(crate) fn properties(view: &ArrayView, h5: &H5Type) -> Value {
    let meta = view.meta();
    let layout = match meta.shape.is_empty() {
        true => json!({"class": "H5D_CONTIGUOUS"}),
        false => json!({"class": "H5D_CHUNKED", "dims": chunks(view)}),
    };
    let codecs = codecs(meta);
    let filters: Vec<Value> =
        codecs.iter().filter_map(|codec| filter(name(codec), codec.get("configuration"))).collect();
    let mut properties = json!({"layout": layout, "filters": filters});
    if let Some(value) = fill(meta, h5) {
        properties["fillValue"] = value;
    }
    properties
}

/// The fill value, where JSON has it.
fn fill(meta: &ArrayMeta, h5: &H5Type) -> Option<Value> {
    if matches!(h5, H5Type::Text | H5Type::Bytes | H5Type::Opaque(_)) || meta.fill.iter().all(|byte| *byte == 0) {
        return None;
    }
    let values = Values::fixed(meta.dtype.clone(), meta.fill.clone());
    let mut out = String::new();
    text::one(&meta.fill, h5, &values, NotFinite::Null, &mut out).ok()?;
    serde_json::from_str(&out).ok().filter(|value: &Value| !value.is_null())
}
