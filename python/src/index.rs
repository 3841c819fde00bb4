//! Convert Python's `[…]` to the engine's indexes.

use icecore::grid::{Error, ErrorKind, Index};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};

use crate::error::raise;

/// A tuple of ints, slices, integer or boolean arrays (or nested lists), `...`; or one of these alone; or None for
/// everything.
pub fn indexes(selection: &Bound<'_, PyAny>) -> PyResult<Vec<Index>> {
    if selection.is_none() {
        return Ok(vec![Index::Ellipsis]);
    }
    match selection.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|item| index(&item)).collect(),
        Err(_) => Ok(vec![index(selection)?]),
    }
}

fn index(item: &Bound<'_, PyAny>) -> PyResult<Index> {
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if item.is_none() {
        return Err(selection_error(
            "None (newaxis) adds an axis, which reading can't do",
            "add it to the result: a[…][:, None]",
        ));
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        let part = |name| -> PyResult<Option<i64>> {
            let value = slice.getattr(name)?;
            if value.is_none() { Ok(None) } else { integer(&value).map(Some) }
        };
        return Ok(Index::Slice { start: part("start")?, stop: part("stop")?, step: part("step")? });
    }
    if item.hasattr("__index__")? && !item.is_instance_of::<PyUntypedArray>() && !truth(item)? {
        return integer(item).map(Index::At);
    }
    list(item)
}

/// Whether an index is Python's or NumPy's bool; both are accepted as integers elsewhere (NumPy's before 2.0).
fn truth(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    if item.is_exact_instance_of::<PyInt>() {
        return Ok(false);
    }
    Ok(item.is_instance_of::<PyBool>() || item.is_instance(&crate::modules::numpy(item.py())?.getattr("bool_")?)?)
}

/// An integer that Python accepts as an index; values beyond 64 bits are clamped.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let number = value
        .call_method0("__index__")
        .map_err(|_| selection_error(&format!("{} is not an integer", text(value)), "use whole numbers in slices"))?;
    match number.extract::<i64>() {
        Ok(number) => Ok(number),
        Err(_) => Ok(if number.lt(0)? { i64::MIN } else { i64::MAX }),
    }
}

fn list(item: &Bound<'_, PyAny>) -> PyResult<Index> {
    let numpy = crate::modules::numpy(item.py())?;
    let array = numpy.call_method1("asarray", (item,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let empty = array.getattr("size")?.extract::<usize>()? == 0;
    match kind.as_str() {
        "b" if array.getattr("ndim")?.extract::<usize>()? == 0 => Err(selection_error(
            &format!("{} alone adds an axis, which reading can't do", text(item)),
            "add it to the result: a[…][None]; a mask has the shape of the axes that it covers",
        )),
        "b" => {
            let array = numpy.call_method1("ascontiguousarray", (&array,))?;
            let mask = array.cast::<PyArrayDyn<bool>>()?.readonly();
            let shape = array.getattr("shape")?.extract()?;
            Ok(Index::Mask {
                shape,
                values: mask.as_slice().map_err(|e| selection_error(&e.to_string(), ""))?.to_vec(),
            })
        }
        "i" | "u" => integers(&array),
        _ if empty => integers(&array), // [] is a float array in NumPy
        _ => Err(selection_error(
            &format!("{} can't be an index", text(item)),
            "use ints, slices, lists of ints, boolean masks or ...",
        )),
    }
}

fn integers(array: &Bound<'_, PyAny>) -> PyResult<Index> {
    let array = array.call_method1("astype", ("int64", "C"))?;
    let typed = array.cast::<PyArrayDyn<i64>>()?;
    let shape = typed.shape().iter().map(|n| *n as u64).collect();
    let values = typed.readonly().as_slice().map_err(|e| selection_error(&e.to_string(), ""))?.to_vec();
    Ok(if typed.ndim() == 0 {
        Index::At(values.first().copied().unwrap_or_default())
    } else {
        Index::List { shape, values }
    })
}

fn text(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map(|r| r.to_string()).unwrap_or_default();
    if text.chars().count() > 60 { text.chars().take(60).collect::<String>() + "…" } else { text }
}

fn selection_error(message: &str, hint: &str) -> PyErr {
    raise(Error::new(ErrorKind::Selection, message).hint(hint))
}
