//! What zip members hold: raw DEFLATE streams, with the CRC-32 of what they say.

use flate2::{Crc, Decompress, FlushDecompress, Status};
use icecore::grid::{Error, ErrorKind};
use numpy::PyReadwriteArray1;
use pyo3::prelude::*;

use crate::error::raise;

/// One stream, inflated piece by piece.
#[pyclass(module = "icecore._icecore")]
pub struct Inflate {
    stream: Decompress,
    crc: Crc,
    ended: bool,
}

#[pymethods]
impl Inflate {
    #[new]
    fn new() -> Self {
        Self { stream: Decompress::new(false), crc: Crc::new(), ended: false }
    }

    /// Whether the stream's end was reached.
    #[getter]
    fn ended(&self) -> bool {
        self.ended
    }

    /// Of everything that was inflated so far.
    #[getter]
    fn crc32(&self) -> u32 {
        self.crc.sum()
    }

    /// Inflates `stored` from `at` into `out` (u1) from `start`; bytes taken and bytes written.
    fn into(
        &mut self,
        py: Python<'_>,
        stored: &[u8],
        at: usize,
        mut out: PyReadwriteArray1<'_, u8>,
        start: usize,
    ) -> PyResult<(usize, usize)> {
        let stored = stored.get(at..).unwrap_or_default();
        let out = out.as_slice_mut()?.get_mut(start..).unwrap_or_default();
        let (taken, written) = (self.stream.total_in(), self.stream.total_out());
        let status = py.detach(|| {
            let status = self.stream.decompress(stored, out, FlushDecompress::None);
            let written = (self.stream.total_out() - written) as usize;
            self.crc.update(out.get(..written).unwrap_or_default());
            status
        });
        let status = status.map_err(|e| raise(Error::new(ErrorKind::Corrupt, format!("a deflate stream: {e}"))))?;
        self.ended = status == Status::StreamEnd;
        Ok(((self.stream.total_in() - taken) as usize, (self.stream.total_out() - written) as usize))
    }
}
