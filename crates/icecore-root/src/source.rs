//! Byte sources of the parser: a file, an object in a store, or memory.

use std::os::unix::fs::FileExt;
use std::path::Path;

use icecore_grid::{Error, ErrorKind, Result};

use crate::cursor::corrupt;

/// A source of bytes. Implementations count or cache requests where that matters.
pub trait ByteSource {
    /// The total length in bytes.
    fn len(&self) -> u64;

    /// Whether the source holds no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` from `offset`. The range is within [`len`](Self::len).
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()>;
}

/// Reads `len` bytes at `offset`; the range is checked against the source before memory is allocated.
pub(crate) fn read_at(source: &dyn ByteSource, offset: u64, len: u64) -> Result<Vec<u8>> {
    let end = offset.checked_add(len).filter(|end| *end <= source.len());
    if end.is_none() {
        return Err(corrupt(format!(
            "{len} bytes at offset {offset} reach beyond the end of the file ({} bytes)",
            source.len()
        )));
    }
    let len = usize::try_from(len).map_err(|_| corrupt(format!("{len} bytes do not fit into memory")))?;
    let mut out = Vec::new();
    out.try_reserve_exact(len)
        .map_err(|_| Error::new(ErrorKind::Memory, format!("no memory for {len} bytes at offset {offset}")))?;
    out.resize(len, 0);
    source.read(offset, &mut out)?;
    Ok(out)
}

impl ByteSource for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let part = start.and_then(|start| self.get(start..)?.get(..out.len()));
        out.copy_from_slice(part.ok_or_else(|| corrupt(format!("no bytes at offset {offset}")))?);
        Ok(())
    }
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.as_slice().read(offset, out)
    }
}

/// A file on disk.
#[derive(Debug)]
pub struct LocalFile {
    file: std::fs::File,
    len: u64,
    name: String,
}

impl LocalFile {
    /// Opens `path` for reading.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("{name}: no such file")),
            _ => Error::new(ErrorKind::Io, format!("{name}: {e}")),
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Ok(Self { file, len, name })
    }
}

impl ByteSource for LocalFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(out, offset).map_err(|e| {
            Error::new(ErrorKind::Io, format!("{}: {} bytes at offset {offset}: {e}", self.name, out.len()))
        })
    }
}
