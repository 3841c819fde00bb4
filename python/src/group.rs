//! Grouped reductions.

use icecore::chunk::DType;
use icecore::grid::{Error, ErrorKind, Result};
use icecore::group::{self, Function, Part, Rows};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Words>()?;
    module.add_class::<Texts>()?;
    module.add_class::<Ends>()?;
    module.add_class::<Fold>()
}

type Bytes<'py> = PyReadonlyArray1<'py, u8>;
type Codes<'py> = PyReadonlyArray1<'py, u32>;

/// Keys of up to 64 bits.
#[pyclass(module = "icecore._icecore")]
#[derive(Default)]
pub struct Words {
    words: group::Words,
}

#[pymethods]
impl Words {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.words.len()
    }

    /// The number of each row's key.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        dtype: &str,
        values: Bytes<'py>,
        valid: Option<Bytes<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let dtype = named(dtype).or_raise()?;
        let (values, valid) = (values.as_slice()?, valid.as_ref().map(|v| v.as_slice()).transpose()?);
        let codes = py.detach(|| self.words.add(&dtype, values, valid)).or_raise()?;
        Ok(PyArray1::from_vec(py, codes))
    }

    /// The same for keys of two numbers per row.
    fn pairs<'py>(
        &mut self,
        py: Python<'py>,
        high: Codes<'py>,
        low: Codes<'py>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (high, low) = (high.as_slice()?, low.as_slice()?);
        let codes = py.detach(|| self.words.pairs(high, low)).or_raise()?;
        Ok(PyArray1::from_vec(py, codes))
    }

    /// The keys in the order of their numbers, and the number of null; consumes them.
    fn finish<'py>(&mut self, py: Python<'py>) -> (Bound<'py, PyArray1<u64>>, Option<u32>) {
        let (words, null) = std::mem::take(&mut self.words).finish();
        (PyArray1::from_vec(py, words), null)
    }
}

/// Keys of variable length.
#[pyclass(module = "icecore._icecore")]
#[derive(Default)]
pub struct Texts {
    texts: group::Texts,
}

#[pymethods]
impl Texts {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.texts.len()
    }

    /// The number of each row's key.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        offsets: PyReadonlyArray1<'py, i64>,
        bytes: Bytes<'py>,
        valid: Option<Bytes<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (offsets, bytes) = (offsets.as_slice()?, bytes.as_slice()?);
        let valid = valid.as_ref().map(|v| v.as_slice()).transpose()?;
        let codes = py.detach(|| self.texts.add(offsets, bytes, valid)).or_raise()?;
        Ok(PyArray1::from_vec(py, codes))
    }

    /// Offsets and bytes of the keys in the order of their numbers, and the number of null; consumes them.
    #[allow(clippy::type_complexity)]
    fn finish<'py>(&mut self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>, Option<u32>) {
        let (offsets, bytes, null) = std::mem::take(&mut self.texts).finish();
        (PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, bytes), null)
    }
}

/// The smallest and the largest string per key.
#[pyclass(module = "icecore._icecore")]
#[derive(Default)]
pub struct Ends {
    ends: group::Ends,
}

type Column<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);

#[pymethods]
impl Ends {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds rows with the key numbers `codes`, all below `keys`.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        codes: Codes<'py>,
        keys: usize,
        offsets: PyReadonlyArray1<'py, i64>,
        bytes: Bytes<'py>,
        valid: Option<Bytes<'py>>,
    ) -> PyResult<()> {
        let (codes, offsets, bytes) = (codes.as_slice()?, offsets.as_slice()?, bytes.as_slice()?);
        let valid = valid.as_ref().map(|v| v.as_slice()).transpose()?;
        py.detach(|| self.ends.add(keys, codes, offsets, bytes, valid)).or_raise()
    }

    /// Offsets and bytes of the smallest and of the largest strings in the order of the key numbers, and their
    /// validity; consumes them.
    #[allow(clippy::type_complexity)]
    fn finish<'py>(&mut self, py: Python<'py>) -> (Column<'py>, Column<'py>, Bound<'py, PyArray1<u8>>) {
        let ([least, greatest], valid) = std::mem::take(&mut self.ends).finish();
        let column = |(offsets, bytes)| (PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, bytes));
        (column(least), column(greatest), PyArray1::from_vec(py, valid))
    }
}

/// Reduction of a column per key.
#[pyclass(module = "icecore._icecore")]
pub struct Fold {
    fold: Option<group::Fold>,
}

#[pymethods]
impl Fold {
    #[new]
    fn new(function: &str, dtype: &str) -> PyResult<Self> {
        let function = match function {
            "count" => Function::Count,
            "sum" => Function::Sum,
            "mean" => Function::Mean,
            "moments" => Function::Moments,
            "extremes" => Function::Extremes,
            _ => return Err(Error::new(ErrorKind::Internal, format!("no fold {function}"))).or_raise(),
        };
        Ok(Self { fold: Some(group::Fold::new(function, named(dtype).or_raise()?).or_raise()?) })
    }

    /// Adds rows with the key numbers `codes`, all below `keys`.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        codes: Codes<'py>,
        keys: usize,
        values: Bytes<'py>,
        valid: Option<Bytes<'py>>,
    ) -> PyResult<()> {
        let (codes, values) = (codes.as_slice()?, values.as_slice()?);
        let valid = valid.as_ref().map(|v| v.as_slice()).transpose()?;
        let rows = Rows { codes, values, valid };
        py.detach(|| self.fold.as_mut().map_or(Ok(()), |fold| fold.add(keys, &rows))).or_raise()
    }

    /// Returns the results by name, for each key in order of its number; the accumulators are consumed.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let fold = self.fold.take();
        for (name, part) in py.detach(|| fold.map_or_else(Vec::new, group::Fold::finish)) {
            match part {
                Part::Whole(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
                Part::Real(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
            }
        }
        Ok(dict)
    }
}

fn named(dtype: &str) -> Result<DType> {
    DType::parse(&dtype.into())
}
