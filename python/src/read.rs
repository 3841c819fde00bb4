//! Read one or many (array, selection, target) in one plan, with the GIL released.

use std::sync::Arc;

use icecore::chunk::DType;
use icecore::grid::{Error, ErrorKind, Mode, Selection};
use icecore::read::{ArrayView, Blobs, Precision, Query, ReadOptions, Target};
use numpy::{PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::Value;

use crate::error::{OrRaise, raise};
use crate::index::indexes;
use crate::interrupt;
use crate::memory::{self, Array};
use crate::modules;

/// One item of a read.
pub struct Item<'py> {
    pub view: Arc<ArrayView>,
    pub selection: Selection,
    pub out: Option<Bound<'py, PyAny>>,
}

impl<'py> Item<'py> {
    pub fn new(
        view: Arc<ArrayView>,
        selection: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
        orthogonal: bool,
    ) -> PyResult<Self> {
        let mode = if orthogonal { Mode::Orthogonal } else { Mode::Numpy };
        let selection = Selection::resolve(&view.meta().shape, &indexes(selection)?, mode)
            .map_err(|e| raise(Error { message: format!("{}: {}", view.path(), e.message), ..e }))?;
        Ok(Self { view, selection, out })
    }
}

/// Options from a dict: `memory`, `concurrency`, `cache`, and `rtol` or `bytes` (the precision).
pub fn options(dict: Option<&Bound<'_, PyDict>>) -> PyResult<ReadOptions> {
    let mut options = ReadOptions::default();
    for (key, value) in dict.into_iter().flatten() {
        match key.extract::<String>()?.as_str() {
            "memory" => options.memory = value.extract()?,
            "concurrency" => options.concurrency = value.extract()?,
            "cache" => options.cache = value.extract()?,
            "rtol" | "bytes" if options.precision != Precision::Exact => {
                return Err(raise(Error::new(ErrorKind::Invalid, "both rtol and bytes").hint("give one of them")));
            }
            "rtol" => options.precision = Precision::Rtol(value.extract()?),
            "bytes" => options.precision = Precision::Bytes(value.extract()?),
            other => {
                let error = Error::new(ErrorKind::Invalid, format!("unknown read option {other:?}"));
                return Err(raise(error.hint("memory, concurrency, cache, rtol, bytes")));
            }
        }
    }
    Ok(options)
}

/// The NumPy dtype of an array's elements; object for variable-length strings.
pub fn numpy_dtype<'py>(py: Python<'py>, dtype: &DType) -> PyResult<Bound<'py, PyAny>> {
    let value = if dtype.is_vlen() { Value::from("O") } else { dtype.numpy() };
    modules::numpy(py)?.call_method1(intern!(py, "dtype"), (description(py, &value)?,))
}

/// Converts JSON to an argument of `numpy.dtype`: a string, or a list of tuples for structures.
fn description<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Array(fields) => {
            let list = PyList::empty(py);
            for field in fields {
                let name = field.get(0).and_then(Value::as_str).unwrap_or_default();
                list.append((name, description(py, field.get(1).unwrap_or(&Value::Null))?))?;
            }
            Ok(list.into_any())
        }
        other => Ok(other.as_str().unwrap_or_default().into_pyobject(py)?.into_any()),
    }
}

/// The address of an array's first element; valid while the array is alive.
pub fn data_pointer(array: &Bound<'_, PyUntypedArray>) -> *mut u8 {
    // SAFETY: the array is alive, so its header can be read.
    unsafe { (*array.as_array_ptr()).fields.data.cast() }
}

/// Target of a read: the caller's array if it is suitable, otherwise a new one.
struct Place<'py> {
    array: Bound<'py, PyAny>,
    /// The caller's array, which is filled from `array` afterwards.
    copy_to: Option<Bound<'py, PyAny>>,
    data: Data,
}

/// The memory of an array.
#[derive(Clone, Copy)]
struct Data {
    start: usize,
    bytes: usize,
    /// Whether it was written to before.
    present: bool,
}

impl Data {
    /// # Safety
    /// The array must be alive, and nothing else may use its data while the target is in use.
    unsafe fn target<'a>(self) -> Target<'a> {
        // SAFETY: as the caller says.
        let target = unsafe { Target::from_raw(self.start as *mut u8, self.bytes) };
        if self.present { target.present() } else { target }
    }
}

fn place<'py>(py: Python<'py>, item: &Item<'py>) -> PyResult<Place<'py>> {
    let dtype = item.view.meta().dtype.clone();
    let numpy = modules::numpy(py)?;
    let fresh = || -> PyResult<Array<'py>> {
        let bytes = item.selection.out_len().checked_mul(dtype.size() as u64).filter(|b| *b < 1 << 47);
        let Some(bytes) = bytes.and_then(|bytes| usize::try_from(bytes).ok()) else {
            let message = format!(
                "{}: the selection has shape {:?}, more than memory can hold",
                item.view.path(),
                item.selection.out_shape()
            );
            return Err(raise(Error::new(ErrorKind::Memory, message).hint("read a part of it")));
        };
        let made = if dtype.is_vlen() {
            let view = "V16".into_pyobject(py)?.into_any();
            memory::empty(py, &PyTuple::new(py, [item.selection.out_len()])?, &view, bytes)
        } else {
            let shape = PyTuple::new(py, item.selection.out_shape())?;
            memory::empty(py, &shape, &numpy_dtype(py, &dtype)?, bytes)
        };
        made.map_err(|error| no_memory(py, item, error))
    };
    let (Array { array, reused: present }, copy_to) = match &item.out {
        None => (fresh()?, None),
        Some(out) => {
            let given =
                out.cast::<PyUntypedArray>().map_err(|_| mismatch(item, "out is not a NumPy array".to_owned()))?;
            if given.shape().iter().map(|n| *n as u64).ne(item.selection.out_shape().iter().copied()) {
                return Err(mismatch(
                    item,
                    format!("out has shape {:?}, the selection {:?}", given.shape(), item.selection.out_shape()),
                ));
            }
            if !out.getattr("flags")?.getattr("writeable")?.extract::<bool>()? {
                return Err(mismatch(item, "out is read-only".to_owned()));
            }
            let (from, to) = (numpy_dtype(py, &dtype)?, given.dtype());
            if !numpy.call_method1("can_cast", (&from, &to, "same_kind"))?.extract::<bool>()? {
                return Err(mismatch(item, format!("out has dtype {to}, the array {from}")));
            }
            let same = !dtype.is_vlen() && given.is_c_contiguous() && to.as_any().eq(&from)?;
            let given = || Array { array: out.clone(), reused: false };
            if same { (given(), None) } else { (fresh()?, Some(out.clone())) }
        }
    };
    let untyped = array.cast::<PyUntypedArray>()?;
    let bytes = untyped.len() * item.view.meta().dtype.size();
    let start = data_pointer(untyped) as usize;
    Ok(Place { array, copy_to, data: Data { start, bytes, present } })
}

/// Converts NumPy's MemoryError to ours; other errors are unchanged.
fn no_memory(py: Python<'_>, item: &Item<'_>, error: PyErr) -> PyErr {
    // NumPy raises ValueError if the lengths of the axes alone are too large, even if one of them is 0.
    if !error.is_instance_of::<PyMemoryError>(py) && !error.is_instance_of::<PyValueError>(py) {
        return error;
    }
    too_large(item)
}

fn too_large(item: &Item<'_>) -> PyErr {
    let (path, shape) = (item.view.path(), item.selection.out_shape());
    let message = format!("{path}: no memory for a selection of shape {shape:?}");
    raise(Error::new(ErrorKind::Memory, message).hint("read a part of it"))
}

fn mismatch(item: &Item<'_>, message: String) -> PyErr {
    raise(Error::new(ErrorKind::Mismatch, format!("{}: {message}", item.view.path())))
}

/// Reads all items in one plan.
pub fn read<'py>(py: Python<'py>, items: &[Item<'py>], options: &ReadOptions) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let places = items.iter().map(|item| place(py, item)).collect::<PyResult<Vec<_>>>()?;
    let blobs: Vec<Blobs> = items.iter().map(|_| Blobs::default()).collect();
    let parts: Vec<(&ArrayView, &Selection, Data, &Blobs)> = items
        .iter()
        .zip(&places)
        .zip(&blobs)
        .map(|((item, place), blobs)| (item.view.as_ref(), &item.selection, place.data, blobs))
        .collect();
    let cancel = icecore::cancel::current().unwrap_or_default();
    let options = &ReadOptions { cancel: Some(Arc::clone(&cancel)), ..options.clone() };
    let watched = places.iter().map(|place| place.data.bytes).sum::<usize>() >= WATCHED;
    interrupt::scoped(py, watched, &cancel, || {
        let queries: Vec<Query<'_>> = parts
            .iter()
            .map(|(array, selection, data, blobs)| {
                // SAFETY: `places` keeps the arrays alive during the call; the caller must pass disjoint `out` arrays.
                let target = unsafe { data.target() };
                Query { array, selection, target, blobs }
            })
            .collect();
        icecore::read::read(&queries, options).map(|_| ())
    })?
    .or_raise()?;
    let finished = items.iter().zip(places).zip(blobs);
    finished.map(|((item, place), blobs)| finish(py, item, place, blobs)).collect()
}

/// Size of a result in bytes from which a read may be long enough to be interrupted; the extra thread is then
/// negligible.
const WATCHED: usize = 16 << 20;

fn finish<'py>(py: Python<'py>, item: &Item<'py>, place: Place<'py>, blobs: Blobs) -> PyResult<Bound<'py, PyAny>> {
    let array = if item.view.meta().dtype.is_vlen() { strings(py, item, &place, blobs)? } else { place.array };
    match place.copy_to {
        None => Ok(array),
        Some(out) => {
            modules::numpy(py)?.call_method1("copyto", (&out, array))?;
            Ok(out)
        }
    }
}

/// Converts 16-byte views into blobs to an object array of str or bytes.
fn strings<'py>(py: Python<'py>, item: &Item<'py>, place: &Place<'py>, blobs: Blobs) -> PyResult<Bound<'py, PyAny>> {
    let blobs = blobs.into_vec();
    let text = matches!(item.view.meta().dtype, DType::VlenUtf8);
    // SAFETY: the views' array is alive in `place` and has this many bytes.
    let views = unsafe { std::slice::from_raw_parts(place.data.start as *const u8, place.data.bytes) };
    let mut objects: Vec<Py<PyAny>> = Vec::new();
    objects.try_reserve_exact(views.len() / 16).map_err(|_| too_large(item))?;
    for view in views.chunks_exact(16) {
        let number =
            |i: usize| view.get(i..i + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes) as usize;
        let (blob, offset, length) = (number(0), number(4), number(8));
        let part = blobs.get(blob).and_then(|b| b.get(offset..offset.checked_add(length)?));
        let part = part.ok_or_else(|| raise(Error::new(ErrorKind::Internal, "a string lies outside of its chunk")))?;
        objects.push(if text {
            let text = std::str::from_utf8(part).map_err(|_| {
                raise(Error::new(ErrorKind::Corrupt, format!("{}: an element is not valid UTF-8", item.view.path())))
            })?;
            text.into_pyobject(py)?.into_any().unbind()
        } else {
            pyo3::types::PyBytes::new(py, part).into_any().unbind()
        });
    }
    let flat = PyArray1::from_vec(py, objects);
    let shaped = flat.call_method1("reshape", (PyTuple::new(py, item.selection.out_shape())?,));
    shaped.map_err(|error| no_memory(py, item, error))
}

/// The read plan of the items, as a dict.
pub fn plan<'py>(py: Python<'py>, items: &[Item<'py>], options: &ReadOptions) -> PyResult<Bound<'py, PyDict>> {
    let blobs = Blobs::default();
    let parts: Vec<(&ArrayView, &Selection)> = items.iter().map(|i| (i.view.as_ref(), &i.selection)).collect();
    let plan = py
        .detach(|| {
            let queries: Vec<Query<'_>> = parts
                .iter()
                .map(|(array, selection)| Query { array, selection, target: Target::none(), blobs: &blobs })
                .collect();
            icecore::read::plan(&queries, options)
        })
        .or_raise()?;
    let dict = PyDict::new(py);
    let counts = [
        ("requests", plan.requests),
        ("bytes_wanted", plan.bytes_wanted),
        ("bytes_fetched", plan.bytes_fetched),
        ("bytes_decoded", plan.bytes_decoded),
        ("bytes_out", plan.bytes_out),
        ("chunks", plan.chunks),
        ("chunks_missing", plan.chunks_missing),
        ("chunks_inline", plan.chunks_inline),
        ("chunks_cached", plan.chunks_cached),
        ("index_requests", plan.index_requests),
        ("index_bytes", plan.index_bytes),
    ];
    for (name, value) in counts {
        dict.set_item(name, value)?;
    }
    dict.set_item("rtol_bound", plan.rtol_bound)?;
    let objects = PyList::empty(py);
    for object in &plan.objects {
        let entry = PyDict::new(py);
        entry.set_item("name", &object.name)?;
        entry.set_item("requests", object.requests)?;
        entry.set_item("bytes_wanted", object.bytes_wanted)?;
        entry.set_item("bytes_fetched", object.bytes_fetched)?;
        entry.set_item("latency", object.latency)?;
        entry.set_item("bandwidth", object.bandwidth)?;
        entry.set_item("gap", object.gap)?;
        objects.append(entry)?;
    }
    dict.set_item("objects", objects)?;
    let arrays = PyList::empty(py);
    for item in items {
        let entry = PyDict::new(py);
        entry.set_item("path", item.view.path())?;
        entry.set_item("shape", PyTuple::new(py, item.selection.out_shape())?)?;
        entry.set_item("codecs", item.view.meta().chain.names())?;
        arrays.append(entry)?;
    }
    dict.set_item("arrays", arrays)?;
    Ok(dict)
}
