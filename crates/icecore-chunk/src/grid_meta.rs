//! Parse the `chunk_grid` of the metadata.

use icecore_grid::{ChunkGrid, Error, ErrorKind, Result};
use serde_json::Value;

use crate::extension::{Extension, config_list, unsupported};

/// Parses `regular` and `rectilinear` grids of an array of this shape.
pub(crate) fn parse_grid(value: &Value, shape: &[u64]) -> Result<ChunkGrid> {
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
