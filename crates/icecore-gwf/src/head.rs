//! Structure headers.

use icecore_grid::Result;

use crate::cursor::Cursor;
use crate::problem::corrupt;

/// The header of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub len: u64,
    /// 1 if the structure ends with a checksum (version 8).
    pub check: u8,
    pub class: u16,
    pub instance: u32,
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
