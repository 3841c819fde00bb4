//! A writer: uncommitted changes of a repository.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use icecore::catalog::{self, LinkIdentity, Mine};
use icecore::chunk::{ArrayMeta, DType};
use icecore::grid::{Axis, Error, ErrorKind, Region, Result};
use icecore::write::{Data, WriteOptions, Writing};
use numpy::{PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use serde_json::Value;

use crate::error::{OrRaise, raise};
use crate::interrupt;
use crate::read::{data_pointer, numpy_dtype};

#[pyclass(frozen, module = "icecore._icecore")]
pub struct Writer {
    state: Mine<State>,
}

struct State {
    writing: Writing,
    metas: Mutex<HashMap<String, Arc<ArrayMeta>>>,
    /// By array: the first row (along the first axis) that was written, linked, added or cut off.
    touched: Mutex<HashMap<String, u64>>,
}

impl Writer {
    pub fn new(writer: catalog::Writer, memory: Option<usize>) -> Self {
        let options = memory.map_or_else(WriteOptions::default, |memory| WriteOptions { memory });
        let writing = Writing::new(Arc::new(writer), options);
        Self { state: Mine::new(State { writing, metas: Mutex::default(), touched: Mutex::default() }) }
    }

    /// The snapshot that a commit would create now.
    pub fn pending(&self) -> Result<catalog::Snapshot> {
        let writing = self.writing()?;
        writing.flush()?;
        writing.writer().snapshot()
    }

    pub fn writing(&self) -> Result<&Writing> {
        Ok(&self.state.of("a writer")?.writing)
    }

    fn catalog(&self) -> Result<&catalog::Writer> {
        Ok(self.writing()?.writer())
    }

    fn metas(&self) -> Result<MutexGuard<'_, HashMap<String, Arc<ArrayMeta>>>> {
        Ok(self.state.of("a writer")?.metas.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The array's metadata, parsed once.
    pub fn meta(&self, path: &str) -> PyResult<Arc<ArrayMeta>> {
        let mut metas = self.metas().or_raise()?;
        if let Some(meta) = metas.get(path) {
            return Ok(Arc::clone(meta));
        }
        let document = self.catalog().and_then(|c| c.array_document(path)).or_raise()?;
        let document = document
            .ok_or_else(|| raise(Error::new(ErrorKind::NotFound, format!("there is no array {path} to write to"))))?;
        let meta = Arc::new(ArrayMeta::parse(&document).or_raise()?);
        metas.insert(path.to_owned(), Arc::clone(&meta));
        Ok(meta)
    }

    fn forget(&self, path: &str) -> PyResult<()> {
        self.metas().or_raise()?.remove(path);
        Ok(())
    }

    /// Records that rows of an array from `row` on have changed.
    pub fn touch(&self, path: &str, row: u64) -> PyResult<()> {
        let state = self.state.of("a writer").or_raise()?;
        let mut touched = state.touched.lock().unwrap_or_else(PoisonError::into_inner);
        match touched.get_mut(path) {
            Some(first) => *first = row.min(*first),
            None => drop(touched.insert(path.to_owned(), row)),
        }
        Ok(())
    }
}

/// Whether an array's chunks are unchanged, except for appended rows.
fn only_grows(old: &ArrayMeta, new: &ArrayMeta) -> bool {
    let others =
        |meta: &ArrayMeta| (meta.shape.get(1..).map(<[u64]>::to_vec), meta.grid.axes.get(1..).map(<[_]>::to_vec));
    let is_same = match (old.grid.axes.first(), new.grid.axes.first()) {
        (Some(Axis::Regular { chunk: old, .. }), Some(Axis::Regular { chunk: new, .. })) => old == new,
        (Some(old), Some(new)) => (0..old.count()).all(|chunk| old.extent(chunk) == new.extent(chunk)),
        _ => true,
    };
    old.grid.is_empty() || old.shape.first() <= new.shape.first() && others(old) == others(new) && is_same
}

fn json(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|e| raise(Error::new(ErrorKind::Invalid, format!("not JSON: {e}"))))
}

/// A NumPy array that the encoders read while Python continues.
struct Held {
    _array: Py<PyAny>,
    start: *const u8,
    bytes: usize,
}

// SAFETY: the memory belongs to `_array`, which is alive as long as this; it is only read.
unsafe impl Send for Held {}
// SAFETY: as above; no method changes what `start` points at.
unsafe impl Sync for Held {}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: C-contiguous and this long, as checked when it was made.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// The shape and the elements of a NumPy array, in the form of an array of `dtype`.
pub fn elements(py: Python<'_>, dtype: &DType, data: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, Data)> {
    match dtype {
        DType::VlenUtf8 => variable(py, data, true),
        DType::VlenBytes => variable(py, data, false),
        _ => fixed(py, dtype, data),
    }
}

fn fixed(py: Python<'_>, dtype: &DType, data: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, Data)> {
    let keywords = pyo3::types::PyDict::new(py);
    keywords.set_item("dtype", numpy_dtype(py, dtype)?)?;
    keywords.set_item("order", "C")?;
    let array = crate::modules::numpy(py)?.call_method("asarray", (data,), Some(&keywords))?;
    let untyped = array.cast::<PyUntypedArray>()?;
    let shape = untyped.shape().iter().map(|n| *n as u64).collect();
    let bytes = untyped.len() * dtype.size();
    let start = data_pointer(untyped).cast_const();
    let start = if bytes == 0 { std::ptr::NonNull::<u8>::dangling().as_ptr().cast_const() } else { start };
    Ok((shape, Data::Fixed(Box::new(Held { _array: array.unbind(), start, bytes }))))
}

fn variable(py: Python<'_>, data: &Bound<'_, PyAny>, text: bool) -> PyResult<(Vec<u64>, Data)> {
    let array = crate::modules::numpy(py)?.call_method1("asarray", (data, "O"))?;
    let shape = array.getattr("shape")?.extract()?;
    let (mut blob, mut ends) = (Vec::new(), Vec::new());
    for element in array.call_method0("ravel")?.try_iter()? {
        let element = element?;
        if let Ok(string) = element.cast::<PyString>() {
            blob.extend_from_slice(string.to_str()?.as_bytes());
        } else if let Ok(bytes) = element.cast::<PyBytes>() {
            if text && std::str::from_utf8(bytes.as_bytes()).is_err() {
                return Err(raise(Error::new(
                    ErrorKind::Dtype,
                    "an element is not valid UTF-8, but the array holds strings",
                )));
            }
            blob.extend_from_slice(bytes.as_bytes());
        } else {
            let message = format!("an element is a {}, the array holds strings", element.get_type().name()?);
            return Err(raise(Error::new(ErrorKind::Dtype, message)));
        }
        ends.push(blob.len());
    }
    Ok((shape, Data::Variable { blob, ends }))
}

#[pymethods]
impl Writer {
    fn add_group(&self, py: Python<'_>, path: &str, attrs_json: &str) -> PyResult<()> {
        let attributes = json(attrs_json)?;
        py.detach(|| self.catalog()?.add_group(path, &attributes)).or_raise()
    }

    fn add_array(&self, py: Python<'_>, path: &str, zarr_json: &str) -> PyResult<()> {
        // Parsed before it is stored, so that no unreadable document is written.
        let meta = ArrayMeta::parse(zarr_json.as_bytes()).or_raise()?;
        py.detach(|| self.catalog()?.add_array(path, zarr_json.as_bytes())).or_raise()?;
        self.metas().or_raise()?.insert(path.to_owned(), Arc::new(meta));
        Ok(())
    }

    /// Replaces an array's metadata document (to change its shape, for example); its chunks stay.
    fn update_array(&self, py: Python<'_>, path: &str, zarr_json: &str) -> PyResult<()> {
        let meta = ArrayMeta::parse(zarr_json.as_bytes()).or_raise()?;
        let old = self.meta(path)?;
        if !only_grows(&old, &meta) {
            self.writing().or_raise()?.forget(path);
        }
        py.detach(|| self.catalog()?.update_array(path, zarr_json.as_bytes())).or_raise()?;
        if let (Some(before), Some(now)) = (old.shape.first(), meta.shape.first())
            && before != now
        {
            self.touch(path, *before.min(now))?;
        }
        self.metas().or_raise()?.insert(path.to_owned(), Arc::new(meta));
        Ok(())
    }

    /// Replaces an array's metadata by a document without shards. Chunks that the new grid has too stay; references to the
    /// chunks replace those to shards. The others must be written afterwards.
    fn unshard(&self, py: Python<'_>, path: &str, zarr_json: &str) -> PyResult<()> {
        let new = ArrayMeta::parse(zarr_json.as_bytes()).or_raise()?;
        let old = self.meta(path)?;
        py.detach(|| self.writing()?.unshard(path, &old, &new, zarr_json.as_bytes())).or_raise()?;
        self.metas().or_raise()?.insert(path.to_owned(), Arc::new(new));
        Ok(())
    }

    fn set_attrs(&self, py: Python<'_>, path: &str, attrs_json: &str) -> PyResult<()> {
        let attributes = json(attrs_json)?;
        py.detach(|| self.catalog()?.set_attributes(path, &attributes)).or_raise()?;
        self.forget(path)
    }

    fn delete(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| self.writing()?.delete(path)).or_raise()?;
        self.metas().or_raise()?.clear();
        Ok(())
    }

    fn exists(&self, py: Python<'_>, path: &str) -> PyResult<bool> {
        py.detach(|| self.catalog()?.exists(path)).or_raise()
    }

    /// Allows links to files below `prefix`.
    fn allow_container(&self, py: Python<'_>, prefix: &str) -> PyResult<()> {
        py.detach(|| self.catalog()?.allow_container(prefix)).or_raise()
    }

    #[allow(clippy::too_many_arguments)]
    fn set_links(
        &self,
        py: Python<'_>,
        path: &str,
        urls: Vec<String>,
        sizes: Vec<u64>,
        mtimes_ns: Vec<i64>,
        etags: Vec<Option<String>>,
        url_ids: PyReadonlyArray1<'_, u32>,
        chunks: PyReadonlyArray1<'_, u64>,
        offsets: PyReadonlyArray1<'_, u64>,
        lengths: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<()> {
        let identities: Vec<LinkIdentity> = sizes
            .into_iter()
            .zip(mtimes_ns)
            .zip(etags)
            .map(|((size, mtime_ns), etag)| LinkIdentity { size, mtime_ns, etag })
            .collect();
        let (url_ids, chunks, offsets, lengths) =
            (url_ids.as_slice()?, chunks.as_slice()?, offsets.as_slice()?, lengths.as_slice()?);
        if let Some(first) = chunks.iter().min() {
            let grid = &self.meta(path)?.grid;
            self.touch(path, grid.region(&grid.coords(*first)).start.first().copied().unwrap_or(0))?;
        }
        py.detach(|| self.catalog()?.set_links(path, &urls, &identities, url_ids, chunks, offsets, lengths)).or_raise()
    }

    /// Removes the references to chunks, by their flat numbers: these chunks read as the fill value.
    fn unset(&self, py: Python<'_>, path: &str, chunks: Vec<u64>) -> PyResult<()> {
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| (chunk, catalog::ChunkPlace::Missing)).collect();
        self.writing().or_raise()?.forget(path); // these chunks must not keep their references
        py.detach(|| self.catalog()?.set_chunks(path, &chunks)).or_raise()
    }

    /// Queues `data` for the box that starts at `start`; it must consist of whole chunks (whole shards if sharded).
    /// The data must not be changed before `flush` or `commit`.
    fn write(&self, py: Python<'_>, path: &str, start: Vec<u64>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let meta = self.meta(path)?;
        let (shape, data) = elements(py, &meta.dtype, data)?;
        self.touch(path, start.first().copied().unwrap_or(0))?;
        py.detach(|| self.writing()?.write(path, &meta, Region { start, shape }, data)).or_raise()
    }

    /// The arrays whose encoding has failed so far, each with its error; with `all` it waits for everything queued.
    fn failed(&self, py: Python<'_>, all: bool) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let failed = py.detach(|| Ok(self.writing()?.failed(all))).or_raise()?;
        Ok(failed.into_iter().map(|(path, error)| (path, raise(error).into_value(py).into_any())).collect())
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.writing()?.flush()).or_raise()
    }

    /// Commits everything; returns the new snapshot's id.
    fn commit(&self, py: Python<'_>, message: &str) -> PyResult<String> {
        let cancel = AtomicBool::new(false);
        let id =
            interrupt::scoped(py, true, &cancel, || self.writing()?.commit_unless(&cancel, message))?.or_raise()?;
        // Later changes are based on the branch's newest version, in which other writers may have changed an array.
        self.metas().or_raise()?.clear();
        Ok(id)
    }

    /// Until the commit, chunks of this array that encode to the stored bytes keep their references.
    fn compare(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let meta = self.meta(path)?;
        py.detach(|| self.writing()?.compare(path, &meta)).or_raise()
    }

    /// The id of the version that changes are based on.
    fn base(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.catalog()?.base()).or_raise()
    }

    /// An array's metadata document, including uncommitted changes.
    fn document(&self, py: Python<'_>, path: &str) -> PyResult<Option<String>> {
        let document = py.detach(|| self.catalog()?.array_document(path)).or_raise()?;
        Ok(document.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    #[getter]
    fn bytes_raw(&self) -> PyResult<u64> {
        Ok(self.writing().or_raise()?.written().0.bytes_raw)
    }

    #[getter]
    fn bytes_stored(&self) -> PyResult<u64> {
        Ok(self.writing().or_raise()?.written().0.bytes_stored)
    }

    /// Current and maximum bytes that the encoders hold.
    fn held(&self) -> PyResult<(usize, usize)> {
        Ok(self.writing().or_raise()?.held())
    }

    /// By array: the first row that changed since the last call.
    fn touched(&self) -> PyResult<HashMap<String, u64>> {
        let state = self.state.of("a writer").or_raise()?;
        let mut touched = state.touched.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *touched))
    }

    /// For each array: (raw bytes, stored bytes, chunks stored, chunks kept).
    fn written(&self) -> PyResult<HashMap<String, (u64, u64, u64, u64)>> {
        let (_, arrays) = self.writing().or_raise()?.written();
        Ok(arrays.into_iter().map(|(path, w)| (path, (w.bytes_raw, w.bytes_stored, w.chunks, w.kept))).collect())
    }
}
