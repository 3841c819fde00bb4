//! Reusable working memory, and the error when memory is exhausted.

use icecore_grid::{Error, ErrorKind, Result};

/// A reusable block of bytes. It keeps its largest length, so that growing it again clears no memory.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// The first `len` bytes, with arbitrary contents.
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

/// Extends `bytes` to at least `len`; `Memory` if the allocation fails.
pub(crate) fn grow(bytes: &mut Vec<u8>, len: usize) -> Result<()> {
    if bytes.len() < len {
        let more = len - bytes.len();
        bytes.try_reserve_exact(more).map_err(|_| out_of_memory(len))?;
        bytes.resize(len, 0);
    }
    Ok(())
}

/// Appends `more` to `out`; `Memory` if the allocation fails.
pub(crate) fn put(out: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    out.try_reserve(more.len()).map_err(|_| out_of_memory(more.len()))?;
    out.extend_from_slice(more);
    Ok(())
}

/// Appends up to `most` bytes, which `write` writes into uninitialised memory after `out`; returns their number.
///
/// # Safety
/// `write` receives the start and the length of the free space, and returns `Ok(n)` only if it has initialised the
/// first n bytes.
pub(crate) unsafe fn append(
    out: &mut Vec<u8>,
    most: usize,
    write: impl FnOnce(*mut u8, usize) -> Result<usize>,
) -> Result<()> {
    out.try_reserve(most).map_err(|_| out_of_memory(most))?;
    let room = out.spare_capacity_mut();
    let written = write(room.as_mut_ptr().cast(), room.len())?.min(room.len());
    // SAFETY: within the capacity, and written, as the caller promises.
    unsafe { out.set_len(out.len() + written) };
    Ok(())
}

pub(crate) fn out_of_memory(len: usize) -> Error {
    Error::new(ErrorKind::Memory, format!("no memory for a working buffer of {len} bytes"))
        .hint("choose smaller chunks, fewer threads or a smaller memory budget")
}

/// Initial capacity for output of unknown length.
pub(crate) fn first_guess(input: usize, cap: usize) -> usize {
    input.saturating_mul(4).clamp(4096, 1 << 26).min(cap)
}
