//! Module functions: layout planning, codecs, settings of the process.

use icecore::chunk::DType;
use icecore::grid::{Held, LayoutGoal, Pattern, parse_selection};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice};
use serde_json::{Value, json};

use crate::error::OrRaise;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(plan_layout, module)?)?;
    module.add_function(wrap_pyfunction!(blocks_touched, module)?)?;
    module.add_function(wrap_pyfunction!(gather_regions, module)?)?;
    module.add_function(wrap_pyfunction!(default_codecs, module)?)?;
    module.add_function(wrap_pyfunction!(parse_text_selection, module)?)?;
    module.add_function(wrap_pyfunction!(set_cache_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(cache_info, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

/// `{"chunk": […], "shard": […]}` for `{"shape", "itemsize", …}`; missing items have defaults.
#[pyfunction]
fn plan_layout(goal: &str) -> PyResult<String> {
    let goal: Value = serde_json::from_str(goal).unwrap_or(Value::Null);
    let numbers = |value: &Value| -> Option<Vec<u64>> { value.as_array()?.iter().map(Value::as_u64).collect() };
    let mut wanted =
        LayoutGoal::new(numbers(&goal["shape"]).unwrap_or_default(), goal["itemsize"].as_u64().unwrap_or(1));
    wanted.source_chunk = numbers(&goal["source_chunk"]);
    wanted.chunk = numbers(&goal["chunk"]);
    if let Some(range) = numbers(&goal["inner_bytes"]).filter(|r| r.len() == 2) {
        wanted.inner_bytes = (range[0], range[1]);
    }
    if let Some(bytes) = goal["shard_bytes"].as_u64() {
        wanted.shard_bytes = bytes;
    }
    wanted.grows = goal["grows"].as_bool().unwrap_or(false);
    if let Some(ratio) = goal["ratio"].as_f64() {
        wanted.ratio = ratio;
    }
    for pattern in goal["patterns"].as_array().into_iter().flatten() {
        let extent = numbers(&pattern["extent"]).unwrap_or_default();
        wanted.patterns.push(Pattern { extent, probability: pattern["probability"].as_f64().unwrap_or(0.0) });
    }
    let plan = icecore::grid::plan_layout(&wanted).or_raise()?;
    Ok(json!({"chunk": plan.chunk, "shard": plan.shard}).to_string())
}

/// Average number of blocks that a box of `extent` touches at a random position in the array.
#[pyfunction]
fn blocks_touched(extent: Vec<u64>, shape: Vec<u64>, block: Vec<u64>) -> f64 {
    icecore::grid::touched(&extent, &shape, &block)
}

/// Origin, shape and chunk shape of a grid, and flat indexes of chunks.
type There<'py> = (Vec<u64>, Vec<u64>, Vec<u64>, PyReadonlyArray1<'py, u64>);

/// (start, shape) of each box; with `held` (origin, shape, chunk, flat indexes) only boxes with stored chunks.
#[pyfunction]
#[pyo3(signature = (shape, shard, source_chunk, itemsize, budget, held=None))]
fn gather_regions(
    shape: Vec<u64>,
    shard: Vec<u64>,
    source_chunk: Option<Vec<u64>>,
    itemsize: u64,
    budget: u64,
    held: Option<There<'_>>,
) -> PyResult<Vec<(Vec<u64>, Vec<u64>)>> {
    let held = held
        .map(|(origin, shape, chunk, chunks)| {
            Ok::<_, PyErr>(Held { origin, shape, chunk, chunks: chunks.as_slice()?.to_vec() })
        })
        .transpose()?;
    let regions =
        icecore::grid::gather_regions(&shape, &shard, source_chunk.as_deref(), itemsize, budget, held.as_ref())
            .or_raise()?;
    Ok(regions.into_iter().map(|r| (r.start, r.shape)).collect())
}

#[pyfunction]
fn default_codecs(dtype_json: &str, chunk: Vec<u64>) -> PyResult<String> {
    let value: Value = serde_json::from_str(dtype_json).unwrap_or_else(|_| Value::from(dtype_json));
    let dtype = DType::parse(&value).or_raise()?;
    Ok(icecore::chunk::default_codecs(&dtype, &chunk).to_string())
}

/// Parses `"0:10, :, ::4"` or `"time=0:10, lat=3"` to an argument of `Array.read`.
#[pyfunction]
fn parse_text_selection<'py>(py: Python<'py>, text: &str, dims: Vec<Option<String>>) -> PyResult<Bound<'py, PyList>> {
    use icecore::grid::Index;
    let list = PyList::empty(py);
    for index in parse_selection(text, &dims).or_raise()? {
        match index {
            Index::At(i) => list.append(i)?,
            Index::Ellipsis => list.append(py.Ellipsis())?,
            Index::List { values, .. } => list.append(values)?,
            Index::Mask { values, .. } => list.append(values)?,
            Index::Slice { start, stop, step } => {
                let slice = py.import("builtins")?.getattr("slice")?.call1((start, stop, step))?;
                list.append(slice.cast::<PySlice>()?)?;
            }
        }
    }
    Ok(list)
}

#[pyfunction]
fn set_cache_bytes(bytes: usize) {
    icecore::read::set_cache_bytes(bytes);
}

#[pyfunction]
fn cache_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = icecore::read::cache_info();
    let dict = PyDict::new(py);
    dict.set_item("bytes", info.bytes)?;
    dict.set_item("cap", info.cap)?;
    dict.set_item("entries", info.entries)?;
    dict.set_item("hits", info.hits)?;
    dict.set_item("misses", info.misses)?;
    Ok(dict)
}
