//! FrEndOfFile: position of the table of contents, and the file's checksum.

use icecore_grid::{ReadAt, Result};

use crate::cursor::Cursor;
use crate::format::Format;
use crate::head::Head;
use crate::problem::corrupt;
use crate::window::Window;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub n_frames: u32,
    /// Distance of the table of contents from the end of the file; 0 if there is none.
    pub seek_toc: u64,
    /// Checksum of the file, if there is one.
    pub checksum: Option<u32>,
}

pub(crate) fn read_end<S: ReadAt + ?Sized>(window: &mut Window<S>, format: Format) -> Result<End> {
    let (size, len) = (window.size, format.end_len());
    let offset = size.checked_sub(len).ok_or_else(|| corrupt(format!("a file of {size} bytes has no FrEndOfFile")))?;
    let mut cursor = Cursor::new(window.get(offset, len)?, format);
    let head = Head::parse(&mut cursor)?;
    if head.len != len {
        return Err(corrupt(format!(
            "no FrEndOfFile at offset {offset}: the file is truncated or still being written"
        )));
    }
    let n_frames = cursor.u32()?;
    let n_bytes = cursor.long()?;
    if n_bytes != size {
        return Err(corrupt(format!("FrEndOfFile says {n_bytes} bytes, the file has {size}")));
    }
    if format.version >= 8 {
        let seek_toc = cursor.u64()?;
        cursor.take(8)?;
        let checksum = cursor.u32()?;
        return Ok(End { n_frames, seek_toc, checksum: Some(checksum) });
    }
    let (check, sum) = (cursor.u32()?, cursor.u32()?);
    Ok(End { n_frames, seek_toc: cursor.long()?, checksum: (check == 1).then_some(sum) })
}
