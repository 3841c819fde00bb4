//! Codec chains for zarr-python's codec classes.

use icecore::chunk::{Chain, DType, Scratch};
use icecore::grid::{Error, ErrorKind};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::error::{OrRaise, raise};

/// A codec list for elements of one data type. All data is passed as one-dimensional arrays of bytes.
#[pyclass(name = "Chain", frozen, module = "icecore._icecore")]
pub struct PyChain {
    chain: Chain,
}

#[pymethods]
impl PyChain {
    /// `fill`: the array's fill value, one element in native order; zeros if it is irrelevant.
    #[new]
    #[pyo3(signature = (codecs_json, dtype_json, fill=None))]
    fn new(codecs_json: &str, dtype_json: &str, fill: Option<&[u8]>) -> PyResult<Self> {
        let json = |text: &str| {
            serde_json::from_str::<Value>(text)
                .map_err(|e| raise(Error::new(ErrorKind::Invalid, format!("not JSON: {e}"))))
        };
        let dtype = DType::parse(&json(dtype_json)?).or_raise()?;
        let fill = fill.map_or_else(|| vec![0; dtype.size()], <[u8]>::to_vec);
        if fill.len() != dtype.size() {
            let what = format!("a fill value of {} bytes for elements of {}", fill.len(), dtype.size());
            return Err(raise(Error::new(ErrorKind::Invalid, what)));
        }
        Ok(Self { chain: Chain::parse(&json(codecs_json)?, &dtype, &fill).or_raise()? })
    }

    /// The stored bytes of a chunk of `shape`, given in C order and native byte order.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        raw: PyReadonlyArray1<'_, u8>,
        shape: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let raw = raw.as_slice()?;
        let stored = py.detach(|| self.chain.encode(raw, &shape, &mut Scratch::new())).or_raise()?;
        Ok(PyBytes::new(py, &stored))
    }

    /// Fills `out`, exactly the chunk of `shape`.
    fn decode(
        &self,
        py: Python<'_>,
        stored: PyReadonlyArray1<'_, u8>,
        shape: Vec<u64>,
        mut out: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let (stored, out) = (stored.as_slice()?, out.as_slice_mut()?);
        let whole = (0, out.len() as u64);
        py.detach(|| self.chain.decode(stored, &shape, whole, out, &mut Scratch::new())).or_raise()
    }

    /// Decodes only the bytes→bytes codecs; an output far longer than `expected` is rejected.
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        stored: PyReadonlyArray1<'_, u8>,
        expected: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let stored = stored.as_slice()?;
        let raw = py.detach(|| self.chain.unpack_bytes(stored, expected, &mut Scratch::new())).or_raise()?;
        Ok(PyBytes::new(py, &raw))
    }
}

/// (name, kind) of all codecs of the engine.
#[pyfunction]
fn codec_names() -> Vec<(&'static str, &'static str)> {
    icecore::chunk::codec_names().collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyChain>()?;
    module.add_function(wrap_pyfunction!(codec_names, module)?)
}
