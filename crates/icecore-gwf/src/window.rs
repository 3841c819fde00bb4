//! A moving window on a source: small reads close to each other cost one request.

use icecore_grid::{ReadAt, Result};

use crate::problem::corrupt;

/// Maximum size of a structure that is read whole; only tables of contents come near it.
const MAX_READ: u64 = 1 << 30;

pub(crate) struct Window<'a, S: ReadAt + ?Sized> {
    source: &'a S,
    pub size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a, S: ReadAt + ?Sized> Window<'a, S> {
    pub fn new(source: &'a S) -> Self {
        Self { source, size: source.len(), start: 0, bytes: Vec::new() }
    }

    /// The `len` bytes at `offset`.
    pub fn get(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let end = offset.checked_add(len).filter(|end| *end <= self.size && len <= MAX_READ);
        let end =
            end.ok_or_else(|| corrupt(format!("{len} bytes at offset {offset} exceed the file of {}", self.size)))?;
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            self.fill(offset, len.max(self.source.read_ahead() as u64).min(self.size - offset))?;
        }
        let from = (offset - self.start) as usize;
        self.bytes.get(from..from + len as usize).ok_or_else(|| corrupt("window outside its buffer"))
    }

    /// As many bytes as exist at `offset`, at most `len`.
    pub fn up_to(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let left = self.size.saturating_sub(offset).min(len);
        self.get(offset, left)
    }

    /// Prefetches the last `len` bytes of the file.
    pub fn fill_tail(&mut self, len: u64) -> Result<()> {
        let len = len.min(self.size);
        self.fill(self.size - len, len)
    }

    fn fill(&mut self, offset: u64, len: u64) -> Result<()> {
        self.bytes.clear();
        self.bytes.resize(len as usize, 0);
        self.start = offset;
        let read = self.source.read_at(offset, &mut self.bytes);
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }
}
