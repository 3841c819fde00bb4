//! Gravitational-wave frame files: index many files on all cores.

use std::sync::{Mutex, PoisonError};

use icecore::grid::Result;
use icecore_gwf::{Channel, FrameFile, Piece, Problem, Role};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::error::OrRaise;
use crate::remote::Place;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gwf_index, module)?)?;
    module.add_function(wrap_pyfunction!(gwf_verify_at, module)?)?;
    module.add_function(wrap_pyfunction!(gwf_verify, module)?)
}

/// Indexes files (see `Place`), in order: a dictionary for each, or (kind, message, hint) if it can't be read. `frames`
/// limits the frames of a file in which each channel is looked up; 0 means all.
#[pyfunction]
fn gwf_index<'py>(py: Python<'py>, sources: Vec<Place>, frames: usize, threads: usize) -> PyResult<Bound<'py, PyList>> {
    let limit = if frames == 0 { usize::MAX } else { frames };
    let found = py.detach(|| index_all(sources, limit, threads));
    let list = PyList::empty(py);
    for file in &found {
        match file {
            Ok(file) => list.append(as_dict(py, file)?)?,
            Err(error) => list.append((error.kind.code(), &error.message, &error.hint))?,
        }
    }
    Ok(list)
}

/// Damage found by a file's checksums: (kind, channel, offset, message) for each.
#[pyfunction]
fn gwf_verify(py: Python<'_>, source: Place) -> PyResult<Vec<(&'static str, String, u64, String)>> {
    let found = py.detach(|| icecore_gwf::verify(&source.open()?)).or_raise()?;
    Ok(found.into_iter().map(|p| (p.kind.code(), p.channel, p.offset, p.message)).collect())
}

/// Damage of the structures at `offsets` by their checksums, or by that of the file where they have none; as `gwf_verify`.
#[pyfunction]
fn gwf_verify_at(
    py: Python<'_>,
    source: Place,
    offsets: Vec<u64>,
) -> PyResult<Vec<(&'static str, String, u64, String)>> {
    let found = py.detach(|| icecore_gwf::verify_at(&source.open()?, &offsets)).or_raise()?;
    Ok(found.into_iter().map(|p| (p.kind.code(), p.channel, p.offset, p.message)).collect())
}

fn index_all(sources: Vec<Place>, limit: usize, threads: usize) -> Vec<Result<FrameFile>> {
    let count = sources.len();
    let next = Mutex::new(sources.into_iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(count));
    let one = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((i, source)) = one() {
            let file = source.open().and_then(|file| icecore_gwf::index(&file, limit));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((i, file));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, 32).min(count.max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, file)| file).collect()
}

fn as_dict<'py>(py: Python<'py>, file: &FrameFile) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("version", file.format.version)?;
    dict.set_item("from_toc", file.from_toc)?;
    let frames: Vec<(i64, i64)> = file.frames.iter().map(|f| (f.start_ns, f.duration_ns)).collect();
    dict.set_item("frames", frames)?;
    dict.set_item("events", &file.events)?;
    dict.set_item("others", &file.others)?;
    let problems: Vec<_> = file.problems.iter().map(problem).collect();
    dict.set_item("problems", problems)?;
    let channels = PyList::empty(py);
    for channel in &file.channels {
        channels.append(channel_tuple(py, channel)?)?;
    }
    dict.set_item("channels", channels)?;
    Ok(dict)
}

fn problem(p: &Problem) -> (&'static str, &str, u64, &str) {
    (p.kind.code(), &p.channel, p.offset, &p.message)
}

fn channel_tuple<'py>(py: Python<'py>, channel: &Channel) -> PyResult<Bound<'py, PyTuple>> {
    let mut facts: Option<(&Piece, Bound<'py, PyTuple>)> = None;
    let mut pieces = Vec::with_capacity(channel.pieces.len());
    for piece in &channel.pieces {
        let known = match facts.take() {
            Some((last, known)) if same_facts(last, piece) => known,
            _ => (&piece.unit, piece.slope, piece.bias, piece.shift, piece.phase).into_pyobject(py)?,
        };
        pieces.push(piece_tuple(piece, &known)?);
        facts = Some((piece, known));
    }
    let kind = match (channel.role, channel.kind) {
        (Role::Auxiliary, _) => "aux",
        (Role::Other, _) => "vect",
        (Role::Data, icecore_gwf::Kind::Adc) => "adc",
        (Role::Data, icecore_gwf::Kind::Proc) => "proc",
        (Role::Data, icecore_gwf::Kind::Sim) => "sim",
    };
    (&channel.name, kind, pieces, &channel.of).into_pyobject(py)
}

fn same_facts(one: &Piece, other: &Piece) -> bool {
    let bits = |p: &Piece| (p.slope.to_bits(), p.bias.to_bits(), p.shift.to_bits(), p.phase.to_bits());
    one.unit == other.unit && bits(one) == bits(other)
}

/// (start, step, series, dtype, elements, dimensions), (offset, length, compression, validity), facts: one tuple (unit,
/// slope, bias, frequency shift, phase) for all pieces that have them in common.
fn piece_tuple<'py>(p: &Piece, facts: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let v = &p.vect;
    let what = (p.start_ns, p.dt, p.series, v.dtype.name(), v.n_data, v.shape.len());
    let place = (v.offset, v.len, v.compress, p.data_valid);
    (what, place, facts).into_pyobject(facts.py())
}
