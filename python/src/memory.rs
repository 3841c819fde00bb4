//! NumPy arrays whose memory comes from the engine's pool, and returns there when the last reference is dropped.
//!
//! NumPy asks a *handler* for the memory of an array (NEP 49). Ours is set only while the array is created; the array
//! remembers it, owns its data like any other array, and may be resized.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use icecore::memory;
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::modules;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    memory::spare_addresses();
    module.add_function(wrap_pyfunction!(empty_array, module)?)?;
    module.add_function(wrap_pyfunction!(memory_info, module)?)?;
    module.add_function(wrap_pyfunction!(set_result_pool, module)?)
}

/// A new array.
pub struct Array<'py> {
    pub array: Bound<'py, PyAny>,
    /// Whether its memory was written to before.
    pub reused: bool,
}

/// `numpy.empty(shape, dtype)` with `nbytes` bytes; large arrays use memory of the pool.
pub fn empty<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyTuple>,
    dtype: &Bound<'py, PyAny>,
    bytes: usize,
) -> PyResult<Array<'py>> {
    let empty = modules::numpy(py)?.getattr(intern!(py, "empty"))?;
    if bytes < memory::WORTH || memory::memory_info().cap == 0 {
        return Ok(Array { array: empty.call1((shape, dtype))?, reused: false });
    }
    let numpy = Api::get(py)?;
    REUSED.set(false);
    let before = numpy.set_handler(py, numpy.ours.bind(py))?;
    let made = empty.call1((shape, dtype));
    numpy.set_handler(py, &before)?;
    Ok(Array { array: made?, reused: REUSED.get() })
}

thread_local!(
    /// Whether the last block that NumPy received on this thread was used before.
    static REUSED: Cell<bool> = const { Cell::new(false) }
);

/// `PyDataMem_SetHandler`: sets the handler, returns the previous one.
type SetHandler = unsafe extern "C" fn(*mut PyObject) -> *mut PyObject;

/// NumPy's table of C functions, and our handler.
struct Api {
    set_handler: SetHandler,
    ours: Py<PyAny>,
}

impl Api {
    fn get(py: Python<'_>) -> PyResult<&'static Api> {
        static API: PyOnceLock<Api> = PyOnceLock::new();
        API.get_or_try_init(py, || {
            let module = py.import("numpy._core.multiarray").or_else(|_| py.import("numpy.core.multiarray"))?;
            let capsule = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
            let table = capsule.pointer_checked(None)?.cast::<*const c_void>();
            // SAFETY: since NumPy 1.22 (we ask for 1.26) entry 304 is PyDataMem_SetHandler, with this signature.
            let set_handler = unsafe { std::mem::transmute::<*const c_void, SetHandler>(table.add(304).read()) };
            // SAFETY: the handler and its name live as long as the process; NULL becomes an error.
            let ours = unsafe {
                let handler = (&raw const HANDLER).cast_mut().cast::<c_void>();
                Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(handler, CAPSULE.as_ptr(), None))?
            };
            Ok(Api { set_handler, ours: ours.unbind() })
        })
    }

    /// Sets the handler of new arrays; returns the previous one.
    fn set_handler<'py>(&self, py: Python<'py>, handler: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the handler is a capsule of NumPy's form; the result is ours, or NULL with an error set.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.set_handler)(handler.as_ptr())) }
    }
}

/// The capsule name that NumPy requires for a handler.
const CAPSULE: &CStr = c"mem_handler";

/// `PyDataMem_Handler`, version 1.
#[repr(C)]
struct Handler {
    name: [c_char; 127],
    version: u8,
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

// SAFETY: nothing in it ever changes, and its functions may be called on any thread.
unsafe impl Sync for Handler {}

static HANDLER: Handler =
    Handler { name: name(b"icecore"), version: 1, context: std::ptr::null_mut(), malloc, calloc, realloc, free };

const fn name(text: &[u8]) -> [c_char; 127] {
    let mut name = [0; 127];
    let mut at = 0;
    while at < text.len() {
        name[at] = text[at] as c_char;
        at += 1;
    }
    name
}

unsafe extern "C" fn malloc(_: *mut c_void, bytes: usize) -> *mut c_void {
    memory::allocate(bytes).map_or(std::ptr::null_mut(), |memory| {
        REUSED.set(memory.reused);
        memory.start.as_ptr().cast()
    })
}

unsafe extern "C" fn calloc(_: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let Some((memory, bytes)) = count.checked_mul(size).and_then(|bytes| Some((memory::allocate(bytes)?, bytes)))
    else {
        return std::ptr::null_mut();
    };
    if memory.reused {
        // SAFETY: it has this many bytes, and no other code uses them yet.
        unsafe { memory.start.as_ptr().write_bytes(0, bytes) };
    }
    memory.start.as_ptr().cast()
}

unsafe extern "C" fn realloc(context: *mut c_void, old: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: NumPy passes the pointers it got from these functions, and uses only the returned ones afterwards.
    unsafe {
        match NonNull::new(old.cast()) {
            Some(old) => memory::resize(old, bytes).map_or(std::ptr::null_mut(), |new| new.as_ptr().cast()),
            None => malloc(context, bytes),
        }
    }
}

unsafe extern "C" fn free(_: *mut c_void, start: *mut c_void, _: usize) {
    if let Some(start) = NonNull::new(start.cast()) {
        // SAFETY: NumPy frees each pointer it got from these functions once.
        unsafe { memory::release(start) };
    }
}

/// `numpy.empty(shape, dtype)`; large arrays use memory of dropped results.
#[pyfunction]
fn empty_array<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyTuple>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let extents: Vec<usize> = shape.extract()?;
    let itemsize: usize = dtype.getattr("itemsize")?.extract()?;
    let bytes = extents.iter().fold(itemsize, |bytes, extent| bytes.saturating_mul(*extent));
    Ok(empty(py, shape, dtype, bytes)?.array)
}

/// Bytes of idle blocks, their limit, and the numbers of reused and of fresh blocks.
#[pyfunction]
fn memory_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = memory::memory_info();
    let dict = PyDict::new(py);
    dict.set_item("idle", info.idle)?;
    dict.set_item("cap", info.cap)?;
    dict.set_item("reused", info.reused)?;
    dict.set_item("fresh", info.fresh)?;
    Ok(dict)
}

/// Sets the limit for idle blocks in bytes; 0 turns the pool off.
#[pyfunction]
fn set_result_pool(bytes: usize) {
    memory::set_result_pool(bytes);
}
