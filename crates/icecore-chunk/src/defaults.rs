//! Default codecs of a pack without measurements or given codecs.

use serde_json::{Value, json};

use crate::dtype::DType;

/// zstd level inside blosc. Measured on float32 fields of oceans and weather: level 5 takes about twice the time of 3
/// to write and saves 2 to 3 %, 7 takes ten times as long and saves 4 to 5 %; all decode at about the same speed.
const LEVEL: u32 = 3;

/// The `codecs` list for chunks of `chunk_shape`: all of it core Zarr v3, so that any reader can open it.
///
/// A checksum comes last: blosc and zstd do not detect every flipped bit, and 4 bytes per chunk at memory speed are
/// cheap.
pub fn default_codecs(dtype: &DType, chunk_shape: &[u64]) -> Value {
    match dtype {
        DType::VlenUtf8 => return json!([{"name": "vlen-utf8"}, zstd(), {"name": "crc32c"}]),
        DType::VlenBytes => return json!([{"name": "vlen-bytes"}, zstd(), {"name": "crc32c"}]),
        _ => {}
    }
    let elements = chunk_shape.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
    let bytes = elements.saturating_mul(dtype.size() as u64);
    let (typesize, shuffle) = grouping(dtype);
    // Below this size a compressor's header costs more than it saves.
    if bytes < 64 {
        return json!([bytes_codec(dtype), {"name": "crc32c"}]);
    }
    let config = json!({"cname": "zstd", "clevel": LEVEL, "shuffle": shuffle, "typesize": typesize, "blocksize": 0});
    json!([bytes_codec(dtype), {"name": "blosc", "configuration": config}, {"name": "crc32c"}])
}

fn zstd() -> Value {
    json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})
}

pub(crate) fn bytes_codec(dtype: &DType) -> Value {
    // Elements of single bytes have no order.
    match dtype.swap_units().iter().all(|(unit, _)| *unit == 1) {
        true => json!({"name": "bytes"}),
        false => json!({"name": "bytes", "configuration": {"endian": "little"}}),
    }
}

/// The element size for blosc's shuffle, and its mode.
pub(crate) fn grouping(dtype: &DType) -> (usize, &'static str) {
    match dtype {
        DType::Bool => (1, "bitshuffle"),
        DType::Int8 | DType::UInt8 | DType::Bytes(_) => (1, "noshuffle"),
        DType::VlenUtf8 | DType::VlenBytes => (1, "noshuffle"),
        // Most characters have three zero bytes.
        DType::Utf32(_) => (4, "shuffle"),
        DType::Complex64 => (4, "shuffle"),
        DType::Complex128 => (8, "shuffle"),
        // Shuffling records aligns their fields; c-blosc supports at most 255 bytes.
        _ => match dtype.size() {
            1 => (1, "noshuffle"),
            size @ 2..=255 => (size, "shuffle"),
            _ => (1, "noshuffle"),
        },
    }
}
