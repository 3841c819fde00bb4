//! Working memory that is reused, and what to say when there is none.

use icecore_grid::{Error, ErrorKind, Result};

/// A reusable block of bytes. It keeps its largest length, so that growing again costs no clearing.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// The first `len` bytes, whatever they hold.
    pub fn sized(&mut self, len: usize) -> Result<&mut [u8]> {
        grow(&mut self.bytes, len)?;
        Ok(&mut self.bytes[..len])
    }

    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Makes `bytes` at least `len` long; `Memory` where that fails.
pub(crate) fn grow(bytes: &mut Vec<u8>, len: usize) -> Result<()> {
    if bytes.len() < len {
        let more = len - bytes.len();
        bytes.try_reserve_exact(more).map_err(|_| out_of_memory(len))?;
        bytes.resize(len, 0);
    }
    Ok(())
}

pub(crate) fn out_of_memory(len: usize) -> Error {
    Error::new(ErrorKind::Memory, format!("no memory for a working buffer of {len} bytes"))
        .hint("choose smaller chunks, fewer threads or a smaller memory budget")
}

/// The room for output of unknown length to start with.
pub(crate) fn first_guess(input: usize, cap: usize) -> usize {
    input.saturating_mul(4).clamp(4096, 1 << 26).min(cap)
}
