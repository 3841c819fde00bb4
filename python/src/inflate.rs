//! Raw DEFLATE streams of zip members and gzip files, with the CRC-32 of their contents.

use icecore::chunk::{self, crc32};
use icecore::grid::{Error, ErrorKind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::error::{OrRaise, raise};

/// One stream, inflated piece by piece.
#[pyclass(module = "icecore._icecore")]
pub struct Inflate {
    stream: chunk::Inflate,
    crc: u32,
}

#[pymethods]
impl Inflate {
    #[new]
    fn new() -> Self {
        Self { stream: chunk::Inflate::default(), crc: 0 }
    }

    /// Whether the stream has ended.
    #[getter]
    fn ended(&self) -> bool {
        self.stream.ended()
    }

    /// CRC-32 of the output so far.
    #[getter]
    fn crc32(&self) -> u32 {
        self.crc
    }

    /// Inflates `stored` from `at` into `out` (bytes) from `start`; returns bytes read and bytes written.
    fn into(
        &mut self,
        py: Python<'_>,
        stored: &[u8],
        at: usize,
        out: PyBuffer<u8>,
        start: usize,
    ) -> PyResult<(usize, usize)> {
        if out.readonly() || !out.is_c_contiguous() {
            return Err(raise(Error::new(
                ErrorKind::Invalid,
                "the bytes to be written are not writable, or not in order",
            )));
        }
        let (first, length) = (out.buf_ptr().cast::<u8>(), out.item_count());
        let room: &mut [u8] = match length.checked_sub(start) {
            // SAFETY: the buffer is writable and contiguous, and is held for as long as this call; whoever else has it does not
            // touch it meanwhile, as with any read into a buffer.
            Some(room) if room > 0 => unsafe { std::slice::from_raw_parts_mut(first.add(start), room) },
            _ => &mut [],
        };
        let stored = stored.get(at..).unwrap_or_default();
        py.detach(|| {
            let (taken, made) = self.stream.inflate(stored, room)?;
            self.crc = crc32(self.crc, room.get(..made).unwrap_or_default());
            Ok((taken, made))
        })
        .or_raise()
    }
}
