//! Random access to the bytes of one file, wherever it is: what parsers of file formats read from.

use crate::{Error, ErrorKind, Result};

/// The bytes of one file.
pub trait ReadAt: Send + Sync {
    /// Length of the file in bytes.
    fn len(&self) -> u64;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` from `offset`.
    ///
    /// # Errors
    /// `corrupt` if the file ends earlier; errors of the store.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Bytes that a small read should fetch: many for stores in which a request costs more than its bytes.
    fn read_ahead(&self) -> usize {
        1024
    }
}

impl ReadAt for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let from = usize::try_from(offset).ok();
        let part = from.and_then(|from| self.get(from..from.checked_add(out.len())?));
        let ended = || Error::new(ErrorKind::Corrupt, format!("the file ends before offset {offset}"));
        out.copy_from_slice(part.ok_or_else(ended)?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.as_slice().read_at(offset, out)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for Box<R> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        (**self).read_at(offset, out)
    }

    fn read_ahead(&self) -> usize {
        (**self).read_ahead()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_beyond_the_end_is_an_error() {
        let bytes: Vec<u8> = (0..10).collect();
        let mut out = [0; 4];
        bytes.read_at(6, &mut out).unwrap();
        assert_eq!(out, [6, 7, 8, 9]);
        for offset in [7, 10, u64::MAX] {
            assert_eq!(bytes.read_at(offset, &mut out).unwrap_err().kind, ErrorKind::Corrupt, "{offset}");
        }
    }
}
