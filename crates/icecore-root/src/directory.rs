//! Directories: the keys of a file, subdirectories included.

use std::collections::HashSet;

use icecore_grid::{ReadAt, Result};

use crate::cursor::{Cursor, Within, corrupt};
use crate::key::Key;
use crate::source::read_at;

/// Directory records newer than this hold offsets of 8 bytes.
const BIG_DIRECTORY: i16 = 1000;
/// Maximum length of a directory record.
const RECORD: u64 = 42;
/// Maximum nesting of directories.
const MAX_DEPTH: usize = 64;
/// Maximum number of keys in all directories together.
const MAX_KEYS: usize = 1 << 22;

/// The list of keys that a directory record points to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    keys_offset: u64,
    keys_len: u64,
}

impl Record {
    pub fn read(cursor: &mut Cursor) -> Result<Self> {
        let version = cursor.i16()?;
        cursor.take(8)?; // creation and modification
        let keys_len = cursor.i32()?;
        cursor.take(4)?; // bytes of the name
        let keys_offset = if version > BIG_DIRECTORY {
            cursor.take(16)?;
            cursor.i64()?
        } else {
            cursor.take(8)?;
            i64::from(cursor.i32()?)
        };
        match (u64::try_from(keys_offset), u64::try_from(keys_len)) {
            (Ok(keys_offset), Ok(keys_len)) => Ok(Self { keys_offset, keys_len }),
            _ => Err(corrupt(format!("a key list of {keys_len} bytes at offset {keys_offset}"))),
        }
    }
}

/// Reads the keys of `record` and of all directories below it, in the file's order.
pub(crate) fn walk(source: &dyn ReadAt, record: Record, root: u64) -> Result<Vec<Key>> {
    let (mut keys, mut seen) = (Vec::new(), HashSet::from([root]));
    visit(source, record, "", 0, &mut seen, &mut keys)?;
    Ok(keys)
}

fn visit(
    source: &dyn ReadAt,
    record: Record,
    folder: &str,
    depth: usize,
    seen: &mut HashSet<u64>,
    out: &mut Vec<Key>,
) -> Result<()> {
    let name = || format!("directory {folder:?}");
    if depth > MAX_DEPTH {
        return Err(corrupt(format!("more than {MAX_DEPTH} directories within each other"))).within(name);
    }
    for key in list(source, record, folder).within(name)? {
        if out.len() >= MAX_KEYS {
            return Err(corrupt(format!("more than {MAX_KEYS} keys"))).within(name);
        }
        let below = key.class.starts_with("TDirectory").then(|| (key.offset + key.key_len, key.path.clone()));
        out.push(key);
        let Some((offset, path)) = below else { continue };
        if !seen.insert(offset) {
            return Err(corrupt(format!("directory {path:?} at offset {offset} contains itself")));
        }
        let len = RECORD.min(source.len().saturating_sub(offset));
        let bytes = read_at(source, offset, len).within(|| format!("directory {path:?}"))?;
        let record = Record::read(&mut Cursor::new(&bytes)).within(|| format!("directory {path:?}"))?;
        visit(source, record, &path, depth + 1, seen, out)?;
    }
    Ok(())
}

/// The keys of one directory.
fn list(source: &dyn ReadAt, record: Record, folder: &str) -> Result<Vec<Key>> {
    if record.keys_offset == 0 {
        return Ok(Vec::new()); // A directory that was never written.
    }
    let bytes = read_at(source, record.keys_offset, record.keys_len).within(|| "list of keys")?;
    let mut cursor = Cursor::new(&bytes);
    Key::read(&mut cursor, "").within(|| "list of keys")?;
    let count = cursor.i32()?;
    // A key takes at least 29 bytes.
    let count = usize::try_from(count).ok().filter(|n| *n <= cursor.left() / 29);
    let count = count.ok_or_else(|| corrupt("the list of keys is shorter than its count".to_string()))?;
    (0..count).map(|_| Key::read(&mut cursor, folder)).collect()
}
