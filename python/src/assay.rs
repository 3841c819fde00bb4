//! Measure codecs on blocks of an array.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use icecore::chunk::{
    Block, Candidate, Choice, CostClass, DType, Elements, Goal, Measurement, Options, State, candidates, choose,
    frontier, leave_out_slower, measure, measure_in_turn, parse_fill, rivals,
};
use icecore::write::Data;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::OrRaise;
use crate::interrupt;
use crate::writer::elements;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sample_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(fill_element, module)?)?;
    module.add_function(wrap_pyfunction!(assay_blocks, module)?)
}

fn parse_dtype(json: &str) -> PyResult<DType> {
    let value: Value = serde_json::from_str(json).unwrap_or_else(|_| Value::from(json));
    DType::parse(&value).or_raise()
}

/// One element of fill value in native order (the bytes themselves for strings).
#[pyfunction]
fn fill_element(dtype_json: &str, fill_json: &str) -> PyResult<Vec<u8>> {
    let fill: Value = serde_json::from_str(fill_json).unwrap_or(Value::Null);
    parse_fill(&fill, &parse_dtype(dtype_json)?).or_raise()
}

/// Numbers of the chunks to measure, in measuring order.
#[pyfunction]
fn sample_chunks(counts: Vec<u64>, chunk_bytes: u64, whole: u64, most: u64) -> Vec<u64> {
    icecore::chunk::sample(&counts, chunk_bytes, whole, most)
}

/// Measures on `blocks` (arrays of one type, each a whole chunk) and chooses for each goal.
///
/// `options`: `goals` (`archive`, `speed`, or bytes per second for `balanced`), `effort` (`short`, `fast`, `usual`,
/// `full`), `portable`, `adaptive`, `threads` (default: one per core, at most two), `seconds`, `report`; `only`: a list
/// of {label, codecs, class} instead of the candidates; `in_turn`: measure these round after round, and keep the
/// medians; `bases` (their indexes) and `bandwidth`: remove candidates that read more slowly than the one that
/// `balanced` would choose among those. Ctrl-C stops it at once. Returns JSON: `measured`, `frontier`, and `choices` in
/// the order of the goals.
#[pyfunction]
fn assay_blocks(py: Python<'_>, dtype_json: &str, blocks: Vec<Bound<'_, PyAny>>, options: &str) -> PyResult<String> {
    let dtype = parse_dtype(dtype_json)?;
    let wanted: Value = serde_json::from_str(options).unwrap_or(Value::Null);
    let held = blocks.iter().map(|block| elements(py, &dtype, block)).collect::<PyResult<Vec<_>>>()?;
    let cancel = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&cancel);
    interrupt::owned(py, &cancel, move || {
        let shape = held.first().map_or(&[] as &[u64], |(shape, _)| shape);
        let options = Options { cancel: Some(until), ..measuring(&wanted) };
        let blocks: Vec<Block> = held.iter().map(|(shape, data)| block(shape, data)).collect();
        let list = offered(&wanted, &dtype, shape);
        let fill = vec![0; if dtype.is_vlen() { 0 } else { dtype.size() }];
        let in_turn = wanted["in_turn"].as_bool().unwrap_or(false);
        let measuring = if in_turn { measure_in_turn } else { measure };
        let mut measured = measuring(&list, &blocks, &dtype, &fill, &options)?;
        let bases: Vec<usize> = wanted["bases"].as_array().into_iter().flatten().filter_map(index).collect();
        leave_out_slower(&mut measured, &bases, wanted["bandwidth"].as_f64().unwrap_or(f64::INFINITY));
        let adaptive = wanted["adaptive"].as_bool().unwrap_or(false);
        let choice = |goal: &Goal| {
            let rivals = rivals(&measured, *goal);
            choose(&measured, *goal, adaptive).map_or(Value::Null, |choice| chosen(choice, &rivals))
        };
        let choices: Vec<Value> = options.goals.iter().map(choice).collect();
        let report: Vec<Value> = measured.iter().map(figures).collect();
        Ok(json!({"measured": report, "frontier": frontier(&measured), "choices": choices}).to_string())
    })?
    .or_raise()
}

fn block<'a>(shape: &[u64], data: &'a Data) -> Block<'a> {
    let elements = match data {
        Data::Fixed(bytes) => Elements::Fixed((**bytes).as_ref()),
        Data::Variable { blob, ends } => Elements::Variable { blob, ends },
    };
    Block { shape: shape.to_vec(), elements }
}

fn measuring(wanted: &Value) -> Options {
    let goal = |value: &Value| match (value.as_str(), value.as_f64()) {
        (Some("archive"), _) => Some(Goal::Archive),
        (Some("speed"), _) => Some(Goal::Speed),
        (None, Some(bandwidth)) => Some(Goal::Balanced { bandwidth }),
        _ => None,
    };
    Options {
        threads: wanted["threads"].as_u64().map_or_else(threads, |threads| threads as usize),
        budget: Duration::from_secs_f64(wanted["seconds"].as_f64().unwrap_or(3600.0).clamp(0.0, 1e6)),
        goals: wanted["goals"].as_array().into_iter().flatten().filter_map(goal).collect(),
        prune_slow_only: wanted["report"].as_bool().unwrap_or(false),
        cancel: None,
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(2)
}

fn offered(wanted: &Value, dtype: &DType, shape: &[u64]) -> Vec<Candidate> {
    if let Some(only) = wanted["only"].as_array() {
        let named = |item: &Value| Candidate {
            label: item["label"].as_str().unwrap_or_default().to_owned(),
            codecs: item["codecs"].clone(),
            class: class(&item["class"]),
            short: true,
            kin: None,
        };
        return only.iter().map(named).collect();
    }
    let mut list = candidates(dtype, shape, wanted["portable"].as_bool().unwrap_or(false));
    match wanted["effort"].as_str() {
        Some("short") => list.retain(|c| c.short),
        Some("fast") => list.retain(|c| c.class == CostClass::Fast),
        Some("usual") => list.retain(|c| c.class != CostClass::Slow),
        _ => {}
    }
    list
}

fn index(value: &Value) -> Option<usize> {
    value.as_u64().map(|index| index as usize)
}

fn class(name: &Value) -> CostClass {
    let all = [CostClass::Fast, CostClass::Usual, CostClass::Slow];
    all.into_iter().find(|class| name == class.name()).unwrap_or(CostClass::Usual)
}

fn figures(measured: &Measurement) -> Value {
    let (state, why) = match &measured.state {
        State::Measured => ("measured", ""),
        State::Pruned => ("pruned", ""),
        State::Failed(why) => ("failed", why.as_str()),
    };
    json!({
        "label": measured.candidate.label,
        "codecs": measured.candidate.codecs,
        "class": measured.candidate.class.name(),
        "state": state,
        "why": why,
        "stored": measured.figures.iter().map(|f| f.stored).collect::<Vec<_>>(),
        "raw": measured.raw(),
        "encode": measured.encode(),
        "decode": measured.decode(),
    })
}

fn chosen(choice: Choice, rivals: &[usize]) -> Value {
    json!({
        "label": choice.label,
        "codecs": choice.codecs,
        "picks": choice.picks,
        "raw": choice.raw,
        "stored": choice.stored,
        "encode": choice.encode,
        "decode": choice.decode,
        "cost": choice.cost,
        "rivals": rivals,
    })
}
