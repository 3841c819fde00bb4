//! File header: version and byte order.

use icecore_grid::{Error, ErrorKind, Result};

/// Bytes before the first structure.
pub(crate) const FILE_HEADER: u64 = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// Properties that determine the layout of structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub version: u8,
    pub order: ByteOrder,
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
