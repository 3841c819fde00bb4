//! Streamed objects: byte counts, versions, class tags, back references, and the common base classes.
//!
//! Back references are positions in the buffer and are resolved by reading there again: there is no table, and skipped
//! objects cost nothing.

use icecore_grid::Result;

use crate::cursor::{Cursor, corrupt, unsupported};

const BYTE_COUNT: u32 = 0x4000_0000;
const CLASS_TAG: u32 = 0x8000_0000;
const NEW_CLASS: u32 = 0xffff_ffff;
/// Offset of references, so that 0 and 1 keep their meanings (null, parent).
const MAP_OFFSET: usize = 2;
const IS_REFERENCED: u32 = 1 << 4;

/// A decompressed object with the length of its key, from which references count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer<'a> {
    pub bytes: &'a [u8],
    pub key_len: usize,
}

/// Version and end of a streamed part of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub version: u16,
    /// `None` if there is no byte count.
    pub end: Option<usize>,
}

/// A pointer in a buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pointer<'a> {
    Null,
    /// An object that is streamed elsewhere in the buffer, by the position of its tag.
    Seen(usize),
    New(Object<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Object<'a> {
    pub class: &'a str,
    /// Position of the object's tag: its identity.
    pub id: usize,
    /// Where the object's own bytes begin and end.
    pub start: usize,
    pub end: usize,
}

pub(crate) fn header(cursor: &mut Cursor) -> Result<Header> {
    let start = cursor.position();
    let count = cursor.u32()?;
    if count & BYTE_COUNT == 0 {
        cursor.seek(start)?;
        return Ok(Header { version: cursor.u16()?, end: None });
    }
    let len = (count & !BYTE_COUNT) as usize;
    if len < 2 || len > cursor.left() {
        return Err(corrupt(format!("a byte count of {len} at byte {start}, {} bytes are left", cursor.left())));
    }
    let end = cursor.position() + len;
    Ok(Header { version: cursor.u16()?, end: Some(end) })
}

/// Skips a part that has a byte count.
pub(crate) fn skip(cursor: &mut Cursor, what: &str) -> Result<()> {
    match header(cursor)?.end {
        Some(end) => cursor.seek(end),
        None => Err(unsupported(format!("{what} without a byte count (ROOT 2 or older)"))),
    }
}

/// Moves to the end of a part, which may have members that this reader does not know.
pub(crate) fn finish(cursor: &mut Cursor, header: Header) -> Result<()> {
    match header.end {
        Some(end) if cursor.position() > end => {
            Err(corrupt(format!("an object ends at byte {end}, its members at {}", cursor.position())))
        }
        Some(end) => cursor.seek(end),
        None => Ok(()),
    }
}

/// `TObject`.
pub(crate) fn t_object(cursor: &mut Cursor) -> Result<()> {
    let version = cursor.u16()?;
    if version & 0x4000 != 0 {
        cursor.take(4)?;
    }
    cursor.take(4)?;
    bits(cursor).map(|_| ())
}

/// `TObject::fBits`. The number of a process follows if a `TRef` refers to the object.
pub(crate) fn bits(cursor: &mut Cursor) -> Result<u32> {
    let bits = cursor.u32()?;
    if bits & IS_REFERENCED != 0 {
        cursor.take(2)?;
    }
    Ok(bits)
}

/// `TNamed`: name and title.
pub(crate) fn t_named(cursor: &mut Cursor) -> Result<(String, String)> {
    let head = header(cursor)?;
    t_object(cursor)?;
    let pair = (cursor.string()?, cursor.string()?);
    finish(cursor, head)?;
    Ok(pair)
}

/// Reads a pointer; the cursor is then after the object, if there is one.
pub(crate) fn pointer<'a>(cursor: &mut Cursor<'a>, buffer: Buffer<'a>) -> Result<Pointer<'a>> {
    let id = cursor.position();
    let first = cursor.u32()?;
    if first & BYTE_COUNT == 0 || first == NEW_CLASS {
        return match first {
            0 => Ok(Pointer::Null),
            tag if tag & CLASS_TAG == 0 => reference(tag, buffer),
            _ => Err(unsupported(format!("an object without a byte count at byte {id}"))),
        };
    }
    let len = (first & !BYTE_COUNT) as usize;
    if len < 4 || len > cursor.left() {
        return Err(corrupt(format!("a byte count of {len} at byte {id}, {} bytes are left", cursor.left())));
    }
    let end = cursor.position() + len;
    let tag_at = cursor.position();
    let tag = cursor.u32()?;
    if tag & CLASS_TAG == 0 {
        cursor.seek(end)?;
        return if tag == 0 { Ok(Pointer::Null) } else { reference(tag, buffer) };
    }
    let class = if tag == NEW_CLASS { cursor.c_string()? } else { class_at(tag, tag_at, buffer)? };
    let start = cursor.position();
    if start > end {
        return Err(corrupt(format!("the object at byte {id} ends within its class name")));
    }
    cursor.seek(end)?;
    Ok(Pointer::New(Object { class, id, start, end }))
}

fn reference<'a>(tag: u32, buffer: Buffer<'a>) -> Result<Pointer<'a>> {
    position(tag, buffer).map(Pointer::Seen)
}

fn position(tag: u32, buffer: Buffer) -> Result<usize> {
    let at = (tag as usize).checked_sub(MAP_OFFSET + buffer.key_len);
    at.filter(|at| *at < buffer.bytes.len()).ok_or_else(|| corrupt(format!("a reference to byte {tag} leads nowhere")))
}

/// The name of a class that occurred before `tag_at`.
fn class_at<'a>(tag: u32, tag_at: usize, buffer: Buffer<'a>) -> Result<&'a str> {
    let at = position(tag & !CLASS_TAG, buffer)?;
    let mut cursor = Cursor::at(buffer.bytes, at);
    if at >= tag_at || cursor.u32()? != NEW_CLASS {
        return Err(corrupt(format!("the object at byte {tag_at} names a class that is not at byte {at}")));
    }
    cursor.c_string()
}

/// `TObjArray`: calls `see` for each element; the cursor is then after the array.
pub(crate) fn t_obj_array<'a>(
    cursor: &mut Cursor<'a>,
    buffer: Buffer<'a>,
    mut see: impl FnMut(Pointer<'a>) -> Result<()>,
) -> Result<()> {
    let head = header(cursor)?;
    if head.version > 2 {
        t_object(cursor)?;
    }
    if head.version > 1 {
        cursor.string()?;
    }
    let count = cursor.i32()?;
    cursor.take(4)?; // lower bound
    // A null pointer takes 4 bytes.
    let count = usize::try_from(count).ok().filter(|n| *n <= cursor.left() / 4);
    for _ in 0..count.ok_or_else(|| corrupt("an array of objects is shorter than its count".to_string()))? {
        see(pointer(cursor, buffer)?)?;
    }
    finish(cursor, head)
}

/// A count that old versions store as a double.
pub(crate) fn whole(value: f64) -> Result<u64> {
    if value >= 0.0 && value.fract() == 0.0 && value < 9e15 {
        return Ok(value as u64);
    }
    Err(corrupt(format!("{value} entries")))
}
