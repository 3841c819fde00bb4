//! `TKey`: location of an object in the file, with its class, name and title.

use icecore_grid::Result;

use crate::cursor::{Cursor, corrupt};

/// A key of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Path in the file, without a leading slash and without the cycle.
    pub path: String,
    pub name: String,
    pub title: String,
    pub class: String,
    /// Distinguishes objects of the same name; the highest cycle is the newest.
    pub cycle: i16,
    /// Offset of the key in the file.
    pub offset: u64,
    /// Bytes of key and object as stored.
    pub stored_len: u64,
    /// Bytes of the key itself: the object's bytes follow.
    pub key_len: u64,
    /// Bytes of the object after decompression.
    pub object_len: u64,
}

/// Keys newer than this hold offsets of 8 bytes.
const BIG_KEY: i16 = 1000;

impl Key {
    /// Reads one key header. `folder` is the path of its directory, empty for the file's own.
    pub(crate) fn read(cursor: &mut Cursor, folder: &str) -> Result<Self> {
        let start = cursor.position();
        let stored_len = cursor.i32()?;
        let version = cursor.i16()?;
        let object_len = cursor.i32()?;
        cursor.take(4)?; // date and time
        let key_len = cursor.i16()?;
        let cycle = cursor.i16()?;
        let offset = if version > BIG_KEY {
            let offset = cursor.i64()?;
            cursor.take(8)?;
            offset
        } else {
            let offset = i64::from(cursor.i32()?);
            cursor.take(4)?;
            offset
        };
        let (class, name, title) = (cursor.string()?, cursor.string()?, cursor.string()?);
        let lengths = (u64::try_from(stored_len), u64::try_from(object_len), u64::try_from(key_len));
        let (Ok(stored_len), Ok(object_len), Ok(key_len)) = lengths else {
            return Err(corrupt(format!(
                "key at byte {start}: lengths {stored_len}, {object_len}, {key_len} must not be negative"
            )));
        };
        let offset =
            u64::try_from(offset).map_err(|_| corrupt(format!("key {name:?}: offset {offset} is negative")))?;
        if key_len > stored_len {
            return Err(corrupt(format!("key {name:?}: its header of {key_len} bytes exceeds its {stored_len} bytes")));
        }
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        Ok(Self { path, name, title, class, cycle, offset, stored_len, key_len, object_len })
    }
}
