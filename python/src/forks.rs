//! Chunks of a forked writer, as plain values that travel between processes.

use std::collections::HashMap;

use icecore::catalog::{ChunkPlace, ObjectId};
use icecore::grid::{Error, ErrorKind, Result};
use icecore::write::{Places, Written};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{OrRaise, raise};
use crate::writer::Writer;

/// Chunk number; bytes; offset; length. The bytes are empty (a missing chunk), an object's id (with a length), or the
/// chunk itself (length 0).
type Plain = (u64, Py<PyBytes>, u64, u64);
/// Raw bytes, stored bytes, chunks stored, chunks kept.
type Counts = (u64, u64, u64, u64);

fn plain(py: Python<'_>, chunk: u64, place: &ChunkPlace) -> Plain {
    let of = |bytes: &[u8], offset, length| (chunk, PyBytes::new(py, bytes).unbind(), offset, length);
    match place {
        ChunkPlace::Missing => of(&[], 0, 0),
        ChunkPlace::Inline(bytes) => of(bytes, 0, 0),
        ChunkPlace::Object { id, offset, length } => of(&id.bytes(), *offset, *length),
    }
}

fn place(py: Python<'_>, (chunk, bytes, offset, length): &Plain) -> Result<(u64, ChunkPlace)> {
    let bytes = bytes.as_bytes(py);
    let found = match (bytes.is_empty(), *length) {
        (true, 0) => ChunkPlace::Missing,
        (false, 0) => ChunkPlace::Inline(bytes.to_vec().into()),
        _ => {
            let id = bytes.try_into().map_err(|_| {
                let message = format!("chunk {chunk}: the id of an object has 12 bytes (got {})", bytes.len());
                Error::new(ErrorKind::Invalid, message)
            })?;
            ChunkPlace::Object { id: ObjectId::from_bytes(id), offset: *offset, length: *length }
        }
    };
    Ok((*chunk, found))
}

/// Starts to log a writer's chunks for `take_chunks`.
#[pyfunction]
fn fork(writer: &Writer) -> PyResult<()> {
    writer.writing().map(icecore::write::Writing::fork).or_raise()
}

/// Waits until everything is stored, and returns array → (counts, chunks) for `merge_chunks` in another process.
#[pyfunction]
fn take_chunks(py: Python<'_>, writer: &Writer) -> PyResult<HashMap<String, (Counts, Vec<Plain>)>> {
    let taken = py.detach(|| {
        let writing = writer.writing()?;
        Ok((writing.take()?, writing.written().1))
    });
    let (places, counts) = taken.or_raise()?;
    let of = |path: String, w: Written| {
        let chunks = places.get(&path).into_iter().flatten();
        let chunks = chunks.map(|(chunk, place)| plain(py, *chunk, place)).collect();
        (path, ((w.bytes_raw, w.bytes_stored, w.chunks, w.kept), chunks))
    };
    Ok(counts.into_iter().map(|(path, written)| of(path, written)).collect())
}

/// Registers chunks that a forked writer stored.
#[pyfunction]
fn merge_chunks(py: Python<'_>, writer: &Writer, path: &str, counts: Counts, chunks: Vec<Plain>) -> PyResult<()> {
    let meta = writer.meta(path)?;
    let places = chunks.iter().map(|chunk| place(py, chunk)).collect::<Result<Places>>().or_raise()?;
    let all = meta.grid.len().or_raise()?;
    if let Some((last, _)) = places.last_key_value().filter(|(chunk, _)| **chunk >= all) {
        let message = format!("{path} has {all} chunks and no chunk number {last}");
        return Err(raise(Error::new(ErrorKind::Invalid, message)));
    }
    if let Some((first, _)) = places.first_key_value() {
        let start = meta.grid.region(&meta.grid.coords(*first)).start;
        writer.touch(path, start.first().copied().unwrap_or(0))?;
    }
    let (bytes_raw, bytes_stored, chunks, kept) = counts;
    let written = Written { bytes_raw, bytes_stored, chunks, kept };
    py.detach(|| writer.writing()?.merge(path, &places, written)).or_raise()
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fork, module)?)?;
    module.add_function(wrap_pyfunction!(take_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(merge_chunks, module)?)
}
