//! The anchor: the object in a directory that locates header and footer.

use icecore_grid::Result;
use twox_hash::XxHash3_64;

use super::envelope::Link;
use crate::cursor::{Cursor, corrupt, unsupported};
use crate::object::header;

/// Four versions and seven lengths, followed by their XXH3.
const LEN: usize = 64;

pub(super) struct Anchor {
    pub header: Link,
    pub footer: Link,
}

impl Anchor {
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        header(&mut cursor)?;
        let fields = cursor.take(LEN)?;
        let (sum, expected) = (XxHash3_64::oneshot(fields), cursor.u64()?);
        if sum != expected {
            return Err(corrupt(format!("checksum is {sum:016x}, expected {expected:016x}")));
        }
        let mut cursor = Cursor::new(fields);
        let (epoch, major) = (cursor.u16()?, cursor.u16()?);
        if epoch != 1 {
            return Err(unsupported(format!("RNTuple format {epoch}.{major}; the released format 1 is read")));
        }
        cursor.take(4)?; // minor version and patch: compatible
        let mut link = || Ok(Link { offset: cursor.u64()?, stored: cursor.u64()?, len: cursor.u64()? });
        Ok(Self { header: link()?, footer: link()? })
    }
}
