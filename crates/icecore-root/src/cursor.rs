//! Bounds-checked reader of big-endian (ROOT objects) and little-endian (RNTuple envelopes) values.

use std::fmt::Display;

use icecore_grid::{Error, ErrorKind, Result};

/// A position in a block of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

macro_rules! reads {
    ($($name:ident $little:ident $type:ty),*) => {$(
        pub fn $name(&mut self) -> Result<$type> {
            Ok(<$type>::from_be_bytes(self.array()?))
        }
        #[allow(dead_code)] // Not every width occurs in both byte orders.
        pub fn $little(&mut self) -> Result<$type> {
            Ok(<$type>::from_le_bytes(self.array()?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        let part = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| self.truncated(len))?;
        self.at += len;
        Ok(part)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    reads! {
        u8 u8_le u8, u16 u16_le u16, u32 u32_le u32, u64 u64_le u64,
        i16 i16_le i16, i32 i32_le i32, i64 i64_le i64, f64 f64_le f64
    }

    /// Moves to an absolute position within the block.
    pub fn seek(&mut self, at: usize) -> Result<()> {
        if at > self.bytes.len() {
            return Err(corrupt(format!("position {at} lies outside a block of {} bytes", self.bytes.len())));
        }
        self.at = at;
        Ok(())
    }

    /// A string with a length of 1 byte, or of 4 bytes after a byte 255.
    pub fn string(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.text()?).into_owned())
    }

    /// The bytes of such a string.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let len = match self.u8()? {
            255 => self.u32()? as usize,
            short => usize::from(short),
        };
        self.take(len)
    }

    /// A NUL-terminated string.
    pub fn c_string(&mut self) -> Result<&'a str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|b| *b == 0).ok_or_else(|| corrupt("a class name has no end".to_string()))?;
        let text = std::str::from_utf8(self.take(len)?).map_err(|_| corrupt("a class name is not text".to_string()))?;
        self.at += 1;
        Ok(text)
    }

    /// `count` big-endian values of 8 bytes.
    pub fn i64s(&mut self, count: usize) -> Result<Vec<i64>> {
        let bytes = self.take(count.checked_mul(8).ok_or_else(|| self.truncated(count))?)?;
        Ok(bytes.chunks_exact(8).map(|b| b.iter().fold(0, |n, b| n << 8 | i64::from(*b))).collect())
    }

    /// `count` big-endian values of 4 bytes.
    pub fn i32s(&mut self, count: usize) -> Result<Vec<i32>> {
        let bytes = self.take(count.checked_mul(4).ok_or_else(|| self.truncated(count))?)?;
        Ok(bytes.chunks_exact(4).map(|b| b.iter().fold(0, |n, b| n << 8 | i32::from(*b))).collect())
    }

    fn truncated(&self, wanted: usize) -> Error {
        corrupt(format!("{wanted} bytes expected at byte {}, {} are left", self.at, self.left()))
    }
}

pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
        .hint("the file is damaged or truncated; copy it again, or leave this object out")
}

pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
        .hint("uproot may read it: pack the object through uproot, or leave it out")
}

/// Prefixes an error's message with the name of the enclosing object.
pub(crate) trait Within<T> {
    fn within<D: Display>(self, name: impl FnOnce() -> D) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within<D: Display>(self, name: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|mut error| {
            error.message = format!("{}: {}", name(), error.message);
            error
        })
    }
}
