//! Array metadata: `zarr.json` of a Zarr v3 array, checked and parsed.

use std::ops::Range;

use icecore_grid::{Axis, ChunkGrid, Error, ErrorKind, Result};
use serde_json::{Map, Value};

use crate::chain::{Chain, raw_len};
use crate::dtype::DType;
use crate::extension::{Extension, config_list, unsupported};
use crate::fill_value::parse_fill;
use crate::shard::{Shard, sole_sharding};

/// Maximum number of dimensions of an array; NumPy has 64 too.
const MAX_DIMS: usize = 64;
/// Maximum size of an array, in bytes.
const MAX_ARRAY: u128 = 1 << 63;

/// Content of `zarr.json` of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayMeta {
    pub shape: Vec<u64>,
    /// One name or `None` per dimension.
    pub dims: Vec<Option<String>>,
    pub dtype: DType,
    /// The grid of the stored objects: shards if the array is sharded.
    pub grid: ChunkGrid,
    pub shard: Option<Shard>,
    /// One element, native order; for variable-length types the bytes of the string itself.
    pub fill: Vec<u8>,
    /// Codecs of the decoded unit: of inner chunks if the array is sharded.
    pub chain: Chain,
    pub attributes: Value,
    /// The `codecs` list, unchanged.
    pub codecs: Value,
}

impl ArrayMeta {
    /// The bytes of a stored chunk that may also be the chunk of another array; `None` for shards.
    pub fn contained(&self, stored: &[u8]) -> Option<Range<usize>> {
        if self.shard.is_none() { self.chain.contained(stored) } else { None }
    }

    /// Parses the metadata of an array. The document is not trusted: sizes are checked before memory is allocated.
    ///
    /// Errors: `format` for an invalid Zarr v3 array; `unsupported` for an unknown extension that must be understood
    /// (with its name); `invalid` for an impossible chunk grid.
    pub fn parse(zarr_json: &[u8]) -> Result<ArrayMeta> {
        let value: Value =
            serde_json::from_slice(zarr_json).map_err(|e| format_error(format!("zarr.json is not valid JSON: {e}")))?;
        let object = value.as_object().ok_or_else(|| format_error("zarr.json is not a JSON object"))?;
        check_kind(object)?;
        check_other_keys(object)?;
        let shape = parse_shape(required(object, "shape")?)?;
        let dtype = DType::parse(required(object, "data_type")?)?;
        check_size(&shape, &dtype)?;
        let fill = parse_fill(required(object, "fill_value")?, &dtype)?;
        let grid = parse_grid(required(object, "chunk_grid")?, &shape)?;
        let codecs = required(object, "codecs")?.clone();
        let (shard, chain) = match sole_sharding(&codecs) {
            Some(ext) => {
                let (shard, chain) = Shard::parse(&ext?, &dtype, &fill)?;
                (Some(shard), chain)
            }
            None => (None, Chain::parse(&codecs, &dtype, &fill)?),
        };
        let dims = parse_dims(object.get("dimension_names"), shape.len())?;
        let attributes = object.get("attributes").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let meta = ArrayMeta { shape, dims, dtype, grid, shard, fill, chain, attributes, codecs };
        meta.check_chunks()?;
        Ok(meta)
    }

    /// The grid of the decoded units: of the chunks, or of the inner chunks of all shards.
    ///
    /// Errors: `Format` if the shards are not whole numbers of inner chunks.
    pub fn chunk_grid(&self) -> Result<ChunkGrid> {
        let Some(shard) = &self.shard else { return Ok(self.grid.clone()) };
        if shard.chunk.len() != self.grid.axes.len() {
            return Err(format_error(format!(
                "inner chunks {:?} in a grid of {} axes",
                shard.chunk,
                self.grid.axes.len()
            )));
        }
        for (axis, (outer, inner)) in self.grid.axes.iter().zip(&shard.chunk).enumerate() {
            let whole = match outer {
                Axis::Regular { chunk, .. } => chunk % inner == 0,
                Axis::Rectilinear { bounds, .. } => bounds.iter().all(|bound| bound % inner == 0),
            };
            if !whole {
                let what = format!("along axis {axis}, shards are not whole numbers of inner chunks of {inner}");
                return Err(format_error(what));
            }
        }
        // Shards of whole inner chunks form a regular grid of inner chunks, even if the shards differ in length.
        ChunkGrid::regular(&self.shape, &shard.chunk)
    }

    /// Checks that the largest chunk and shard can be decoded.
    fn check_chunks(&self) -> Result<()> {
        let grid = self.chunk_grid()?;
        grid.len()?;
        self.grid.len()?;
        let itemsize = self.dtype.size();
        raw_len(&largest(&grid), itemsize)?;
        raw_len(&largest(&self.grid), itemsize)?;
        if let Some(shard) = &self.shard {
            raw_len(&shard.counts(&largest(&self.grid)), 16)?;
        }
        Ok(())
    }
}

/// The shape of the largest chunk.
fn largest(grid: &ChunkGrid) -> Vec<u64> {
    let longest = |axis: &Axis| match axis {
        Axis::Regular { chunk, .. } => *chunk,
        Axis::Rectilinear { bounds, .. } => bounds.windows(2).map(|w| w[1].saturating_sub(w[0])).max().unwrap_or(0),
    };
    grid.axes.iter().map(longest).collect()
}

fn format_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Format, message)
}

fn required<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a Value> {
    object.get(key).ok_or_else(|| format_error(format!("zarr.json has no {key:?}")))
}

fn check_kind(object: &Map<String, Value>) -> Result<()> {
    match (object.get("zarr_format").and_then(Value::as_u64), object.get("node_type").and_then(Value::as_str)) {
        (Some(3), Some("array")) => Ok(()),
        (format, kind) => Err(format_error(format!(
            "zarr.json of format {} and node type {}, expected an array of format 3",
            format.map_or("(none)".into(), |f| f.to_string()),
            kind.unwrap_or("(none)"),
        ))),
    }
}

/// Any other member of the metadata must be empty or marked as optional.
fn check_other_keys(object: &Map<String, Value>) -> Result<()> {
    const KNOWN: [&str; 9] = [
        "zarr_format",
        "node_type",
        "shape",
        "data_type",
        "chunk_grid",
        "fill_value",
        "codecs",
        "attributes",
        "dimension_names",
    ];
    for (key, value) in object {
        match key.as_str() {
            known if KNOWN.contains(&known) => {}
            "chunk_key_encoding" => check_key_encoding(value)?,
            "storage_transformers" if value.as_array().is_some_and(Vec::is_empty) => {}
            "storage_transformers" => {
                let first =
                    value.as_array().and_then(|l| l.first()).and_then(|v| Extension::parse(v, "transformer").ok());
                return Err(unsupported("storage transformer", first.map_or("(malformed)", |ext| ext.name)));
            }
            other => match value.get("must_understand").and_then(Value::as_bool) {
                Some(false) => {}
                _ => return Err(unsupported("metadata key", other)),
            },
        }
    }
    Ok(())
}

/// Icechunk finds chunks by their position in the grid, so the key encoding only has to be a valid one.
fn check_key_encoding(value: &Value) -> Result<()> {
    match Extension::parse(value, "chunk key encoding")?.name {
        "default" | "v2" => Ok(()),
        other => Err(unsupported("chunk key encoding", other)),
    }
}

fn parse_shape(value: &Value) -> Result<Vec<u64>> {
    crate::extension::u64_list(value)
        .filter(|shape| shape.len() <= MAX_DIMS)
        .ok_or_else(|| format_error(format!("`shape` is not a list of at most {MAX_DIMS} lengths")))
}

fn check_size(shape: &[u64], dtype: &DType) -> Result<()> {
    if shape.contains(&0) {
        return Ok(());
    }
    let bytes = shape.iter().try_fold(dtype.size() as u128, |len, n| len.checked_mul(u128::from(*n)));
    match bytes {
        Some(bytes) if bytes < MAX_ARRAY => Ok(()),
        _ => {
            Err(Error::new(ErrorKind::Unsupported, format!("an array of {shape:?} elements of {} bytes", dtype.size()))
                .hint("more than 2^63 bytes cannot be addressed; the metadata may be damaged"))
        }
    }
}

fn parse_dims(value: Option<&Value>, rank: usize) -> Result<Vec<Option<String>>> {
    let malformed = || format_error(format!("`dimension_names` is not a list of {rank} names"));
    match value {
        None | Some(Value::Null) => Ok(vec![None; rank]),
        Some(Value::Array(names)) if names.len() == rank => names
            .iter()
            .map(|name| match name {
                Value::Null => Ok(None),
                Value::String(name) => Ok(Some(name.clone())),
                _ => Err(malformed()),
            })
            .collect(),
        Some(_) => Err(malformed()),
    }
}

/// Parses `regular` and `rectilinear` grids of an array of this shape.
fn parse_grid(value: &Value, shape: &[u64]) -> Result<ChunkGrid> {
    let ext = Extension::parse(value, "chunk grid")?;
    match ext.name {
        "regular" => ChunkGrid::regular(shape, &config_list(&ext, "chunk_shape")?),
        "rectilinear" => ChunkGrid::rectilinear_runs(shape, parse_runs(&ext, shape)?),
        other => Err(unsupported("chunk grid", other)),
    }
}

/// Per axis, runs of (length, count): from a bare length for all chunks, or from a list of lengths and pairs.
fn parse_runs(ext: &Extension, shape: &[u64]) -> Result<Vec<Vec<(u64, u64)>>> {
    let malformed = |axis: usize| {
        Error::new(ErrorKind::Format, format!("rectilinear chunk grid: `chunk_shapes` of axis {axis} is malformed"))
            .hint("a length, or a list of lengths and of [length, count] pairs, is expected")
    };
    match ext.get("kind").and_then(Value::as_str) {
        Some("inline") => {}
        other => return Err(unsupported("kind of rectilinear chunk grid", other.unwrap_or("(none)"))),
    }
    let axes = ext.get("chunk_shapes").and_then(Value::as_array).ok_or_else(|| malformed(0))?;
    if axes.len() != shape.len() {
        let what = format!("a rectilinear chunk grid of {} axes for an array of {}", axes.len(), shape.len());
        return Err(Error::new(ErrorKind::Format, what));
    }
    let mut out = Vec::with_capacity(axes.len());
    for (axis, (value, len)) in axes.iter().zip(shape).enumerate() {
        out.push(match value {
            Value::Array(runs) => {
                runs.iter().map(parse_run).collect::<Option<Vec<_>>>().ok_or_else(|| malformed(axis))?
            }
            _ => {
                let chunk = value.as_u64().filter(|chunk| *chunk > 0).ok_or_else(|| malformed(axis))?;
                vec![(chunk, len.div_ceil(chunk))]
            }
        });
    }
    Ok(out)
}

fn parse_run(value: &Value) -> Option<(u64, u64)> {
    match value {
        Value::Array(pair) => match pair.as_slice() {
            [length, count] => Some((length.as_u64()?, count.as_u64()?)),
            _ => None,
        },
        _ => Some((value.as_u64()?, 1)),
    }
}
