//! File header and structure headers.

use icecore_grid::{Error, ErrorKind, Result};

use crate::cursor::Cursor;
use crate::problem::corrupt;

/// Bytes before the first structure.
pub(crate) const FILE_HEADER: u64 = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// What decides how structures are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub version: u8,
    pub order: ByteOrder,
}

/// The header of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub len: u64,
    /// 1 if the structure ends with a checksum (version 8).
    pub check: u8,
    pub class: u16,
    pub instance: u32,
}

impl Format {
    /// Reads the 40 bytes at the start of the file.
    pub fn parse(header: &[u8]) -> Result<Format> {
        let not = |what: &str| {
            Error::new(ErrorKind::Format, format!("not a readable frame file: {what}"))
                .hint("GWF versions 4, 6 and 8 are read")
        };
        if header.get(..5) != Some(b"IGWD\0") {
            return Err(not("it does not begin with IGWD"));
        }
        let order = match header.get(12..14) {
            Some([0x34, 0x12]) => ByteOrder::Little,
            Some([0x12, 0x34]) => ByteOrder::Big,
            _ => return Err(not("the byte order mark at offset 12 is damaged")),
        };
        let version = header.get(5).copied().unwrap_or(0);
        if !matches!(version, 4 | 6 | 8) {
            return Err(not(&format!("version {version}")));
        }
        if header.get(7..12) != Some(&[2, 4, 8, 4, 8]) {
            return Err(not(&format!("sizes of types {:?}, expected 2, 4, 8, 4, 8", header.get(7..12).unwrap_or(&[]))));
        }
        Ok(Format { version, order })
    }

    /// Length of a structure's header.
    pub(crate) fn head_len(self) -> u64 {
        if self.version < 6 { 8 } else { 14 }
    }

    /// Length of FrEndOfFile.
    pub(crate) fn end_len(self) -> u64 {
        match self.version {
            4 => 28,
            6 => 42,
            _ => 46,
        }
    }
}

impl Head {
    pub fn parse(cursor: &mut Cursor) -> Result<Head> {
        let version = cursor.format.version;
        let len = cursor.long()?;
        let (check, class) = if version >= 8 { (cursor.u8()?, u16::from(cursor.u8()?)) } else { (0, cursor.u16()?) };
        let instance = if version < 6 { u32::from(cursor.u16()?) } else { cursor.u32()? };
        if len < cursor.format.head_len() {
            return Err(corrupt(format!("a structure of {len} bytes is shorter than its header")));
        }
        Ok(Head { len, check, class, instance })
    }
}
