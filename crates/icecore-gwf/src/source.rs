//! Byte sources: a file, a slice, or a store that reads ranges.

use std::fs::File;

use icecore_grid::{Error, ErrorKind, Result};

use crate::problem::corrupt;

/// Random access to the bytes of one file.
pub trait ReadAt {
    /// Length of the file in bytes.
    fn size(&self) -> Result<u64>;

    /// Fills `out` from `offset`; an error if the file is too short.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Bytes that a small read should fetch: large for stores in which a request costs more than its bytes.
    fn read_ahead(&self) -> usize {
        1024
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let from = usize::try_from(offset).ok();
        let part = from.and_then(|f| self.get(f..f.checked_add(out.len())?));
        out.copy_from_slice(part.ok_or_else(|| corrupt(format!("the file ends before offset {offset}")))?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> Result<u64> {
        self.as_slice().size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.as_slice().read_at(offset, out)
    }
}

impl ReadAt for File {
    fn size(&self) -> Result<u64> {
        Ok(self.metadata().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, out, offset).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => corrupt(format!("the file ends before offset {offset}")),
            _ => Error::new(ErrorKind::Io, format!("read at offset {offset}: {e}")),
        })
    }
}
