//! Codecs of the candidates.

use serde_json::{Value, json};

pub(crate) fn codec(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

pub(crate) fn zstd(level: i64) -> Value {
    codec("zstd", json!({"level": level, "checksum": false}))
}

pub(crate) fn lz4() -> Value {
    codec("numcodecs.lz4", json!({"acceleration": 1}))
}

pub(crate) fn zlib() -> Value {
    codec("numcodecs.zlib", json!({"level": 6}))
}

/// The encoder's dictionary is never longer than the chunk, so this differs from preset 6 only for chunks above 8 MiB.
pub(crate) fn lzma() -> Value {
    codec("numcodecs.lzma", json!({"format": 1, "check": -1, "preset": 9, "filters": null}))
}

/// PStore's bytewise partition (bwc) of numbers of `size` bytes: the top two bytes together, the others one by one.
pub(crate) fn planes(size: usize, compressor: &Value) -> Value {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let plane = |bytes: usize| match bytes {
        1 => json!({"bytes": 1, "codecs": [{"name": "bytes"}, compressor]}),
        _ => json!({"bytes": bytes, "codecs": [little, compressor]}),
    };
    let planes: Vec<Value> = std::iter::once(2).chain((2..size).map(|_| 1)).map(plane).collect();
    codec("icecore.byteplanes", json!({"planes": planes}))
}

/// The same split for residuals of predictions, for fast reading: the top two bytes separately, and the lower bytes
/// either compressed (`low`) or raw.
pub(crate) fn quick_planes(size: usize, low: bool) -> Value {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let apart = codec("numcodecs.shuffle", json!({"elementsize": 2}));
    let top = json!({"bytes": 2, "codecs": [little, apart, zstd(1)]});
    let below = if low { json!([{"name": "bytes"}, zstd(1)]) } else { json!([{"name": "bytes"}]) };
    let rest = (2..size).map(|_| json!({"bytes": 1, "codecs": below}));
    codec("icecore.byteplanes", json!({"planes": std::iter::once(top).chain(rest).collect::<Vec<_>>()}))
}
