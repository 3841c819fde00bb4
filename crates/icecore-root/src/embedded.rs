//! Uncompressed baskets inside the tree's object, in trees that were not flushed.

use icecore_grid::Result;

use crate::cursor::{Cursor, Within, corrupt};
use crate::object::{Buffer, Object, Pointer, t_obj_array};

/// A basket inside the tree's object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    pub first_entry: u64,
    pub entries: u64,
    /// The values as a basket holds them, without offsets.
    pub content: Vec<u8>,
    /// Start of each entry in `content`, and the end; absent for entries of fixed size.
    pub offsets: Option<Vec<u32>>,
}

/// Reads the array `fBaskets`, which contains only embedded baskets.
pub(crate) fn read_all<'a>(cursor: &mut Cursor<'a>, buffer: Buffer<'a>) -> Result<Vec<Embedded>> {
    let mut out = Vec::new();
    t_obj_array(cursor, buffer, |item| {
        if let Pointer::New(object) = item {
            let number = out.len();
            out.extend(read(object, buffer).within(|| format!("embedded basket {number}"))?);
        }
        Ok(())
    })?;
    Ok(out)
}

/// Assigns the entries from `start` on to the baskets. A last basket that is filled only up to `end` ends there.
pub(crate) fn number(mut baskets: Vec<Embedded>, start: u64, end: u64) -> Vec<Embedded> {
    if start >= end {
        return Vec::new(); // A basket that was being filled when all entries had been flushed.
    }
    let mut next = start;
    for basket in &mut baskets {
        basket.first_entry = next;
        next = next.saturating_add(basket.entries);
    }
    baskets
}

/// The header of a basket after its key, and its length.
const BASKET_HEADER: usize = 19;
/// Flags of `TBasket::Streamer`.
const GENERATED_OFFSETS: u8 = 80;

fn read<'a>(object: Object<'a>, buffer: Buffer<'a>) -> Result<Option<Embedded>> {
    let mut cursor = Cursor::at(buffer.bytes.get(..object.end).unwrap_or_default(), object.start);
    cursor.take(4 + 2 + 4 + 4)?; // bytes, version, length, date of the key
    let key_len = cursor.i16()?;
    let key_len = usize::try_from(key_len).ok().filter(|n| *n >= BASKET_HEADER + 18);
    let key_len = key_len.ok_or_else(|| corrupt("its key is too short".to_string()))?;
    cursor.seek(object.start + key_len - BASKET_HEADER)?;
    cursor.take(2 + 4 + 4)?; // version, size of the buffer, length of the offsets
    let (entries, last, flag) = (cursor.i32()?, cursor.i32()?, cursor.u8()?);
    let (Ok(count), Ok(last)) = (usize::try_from(entries), usize::try_from(last)) else {
        return Err(corrupt(format!("{entries} entries, end at byte {last}")));
    };
    let generated = flag >= GENERATED_OFFSETS;
    let flag = if generated { flag - GENERATED_OFFSETS } else { flag };
    let border =
        last.checked_sub(key_len).ok_or_else(|| corrupt(format!("ends at byte {last} of a key of {key_len}")))?;
    let mut offsets = None;
    if !generated && flag != 0 && flag % 10 != 2 && count > 0 {
        offsets = Some(relative(list(&mut cursor)?, count, key_len, border)?);
        if flag > 40 {
            list(&mut cursor)?;
        }
    }
    if flag != 1 && flag <= 10 {
        return Ok(None); // A header alone: the basket lies in the file.
    }
    cursor.take(key_len)?;
    let content = cursor.take(border)?.to_vec();
    Ok(Some(Embedded { first_entry: 0, entries: count as u64, content, offsets }))
}

/// An array of integers after its length.
fn list(cursor: &mut Cursor) -> Result<Vec<i32>> {
    let count = cursor.i32()?;
    cursor.i32s(usize::try_from(count).map_err(|_| corrupt(format!("{count} offsets")))?)
}

/// Converts offsets from the key's start to offsets in the content; the end is `border`, whatever is stored for it.
pub(crate) fn relative(stored: Vec<i32>, entries: usize, key_len: usize, border: usize) -> Result<Vec<u32>> {
    if stored.len() < entries {
        return Err(corrupt(format!("{} offsets for {entries} entries", stored.len())));
    }
    let mut out = Vec::with_capacity(entries + 1);
    let mut before = 0;
    for (entry, offset) in stored.into_iter().take(entries).enumerate() {
        let offset = usize::try_from(offset).ok().and_then(|o| o.checked_sub(key_len));
        let offset = offset.filter(|o| (before..=border).contains(o));
        before = offset.ok_or_else(|| corrupt(format!("the offset of entry {entry} lies outside the data")))?;
        out.push(before as u32);
    }
    out.push(border as u32);
    Ok(out)
}
