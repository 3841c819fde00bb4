//! Reads the primitive types of a frame file from a slice, in the file's byte order.

use icecore_grid::Result;

use crate::format::{ByteOrder, Format};
use crate::problem::corrupt;

#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
    pub format: Format,
}

/// A reference to another structure: class 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    pub class: u16,
    pub instance: u32,
}

impl Pointer {
    pub(crate) fn some(self) -> Option<Pointer> {
        (self.class != 0).then_some(self)
    }
}

macro_rules! number {
    ($name:ident, $type:ty) => {
        pub fn $name(&mut self) -> Result<$type> {
            let bytes = self.array()?;
            Ok(match self.format.order {
                ByteOrder::Little => <$type>::from_le_bytes(bytes),
                ByteOrder::Big => <$type>::from_be_bytes(bytes),
            })
        }
    };
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], format: Format) -> Cursor<'a> {
        Cursor { bytes, at: 0, format }
    }

    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let part = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let part = part.ok_or_else(|| corrupt(format!("{len} bytes wanted, {} left in the structure", self.left())))?;
        self.at += len;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    number!(u8, u8);
    number!(u16, u16);
    number!(i32, i32);
    number!(u32, u32);
    number!(u64, u64);
    number!(f32, f32);
    number!(f64, f64);

    /// An integer that version 4 stores in 4 bytes, later versions in 8.
    pub fn long(&mut self) -> Result<u64> {
        if self.format.version < 6 { self.u32().map(u64::from) } else { self.u64() }
    }

    pub fn string(&mut self) -> Result<String> {
        let len = self.u16()?;
        let text = self.take(usize::from(len))?;
        let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(text.get(..end).unwrap_or(text)).into_owned())
    }

    pub fn skip_string(&mut self) -> Result<()> {
        let len = self.u16()?;
        self.take(usize::from(len)).map(|_| ())
    }

    pub fn pointer(&mut self) -> Result<Pointer> {
        let class = self.u16()?;
        let instance = if self.format.version < 6 { u32::from(self.u16()?) } else { self.u32()? };
        Ok(Pointer { class, instance })
    }

    /// A count of items that take at least `each` bytes; 0xffffffff means an absent list.
    pub fn count(&mut self, each: usize) -> Result<usize> {
        match self.u32()? {
            u32::MAX => Ok(0),
            n => self.fits(u64::from(n), each),
        }
    }

    /// `n` as a length, if that many items of at least `each` bytes can follow.
    pub fn fits(&self, n: u64, each: usize) -> Result<usize> {
        let fits = usize::try_from(n).ok().filter(|n| n.checked_mul(each).is_some_and(|bytes| bytes <= self.left()));
        fits.ok_or_else(|| corrupt(format!("a count of {n} exceeds the {} bytes left in the structure", self.left())))
    }
}
