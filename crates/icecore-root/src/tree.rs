//! `TTree`: entries and branches, from the decompressed object.

use icecore_grid::Result;

use crate::branch::{Branch, Collector, read_branches, skip_io_features};
use crate::cursor::{Cursor, Within, corrupt, unsupported};
use crate::interpret::interpret;
use crate::object::{Buffer, Header, header, skip, t_named, whole};
use crate::streamer::Streamers;

/// A tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub name: String,
    pub title: String,
    pub entries: u64,
    /// All branches, each before its sub-branches.
    pub branches: Vec<Branch>,
}

const OLDEST: u16 = 16;
const NEWEST: u16 = 20;
/// ROOT 3's version of the class, whose counts are doubles.
const ANCIENT: u16 = 5;

impl Tree {
    /// Parses an object of class `class` (`TTree` or one derived from it). `key_len` is the length of its key.
    pub(crate) fn read(bytes: &[u8], key_len: usize, class: &str, streamers: &Streamers) -> Result<Self> {
        let buffer = Buffer { bytes, key_len };
        let mut cursor = Cursor::new(bytes);
        if class != "TTree" {
            header(&mut cursor)?; // TNtuple and TNtupleD begin with their base.
        }
        let head = header(&mut cursor)?;
        let (name, title) = t_named(&mut cursor)?;
        let mut tree = (|| {
            for base in ["TAttLine", "TAttFill", "TAttMarker"] {
                skip(&mut cursor, base)?;
            }
            let entries = counts(&mut cursor, head)?;
            let mut all = Collector::default();
            read_branches(&mut cursor, buffer, None, &mut all)?;
            Ok(Self { name: name.clone(), title, entries, branches: all.finish()? })
        })()
        .within(|| format!("tree {name:?}"))?;
        interpret(&mut tree.branches, streamers);
        for branch in &mut tree.branches {
            branch.check();
        }
        Ok(tree)
    }
}

/// Reads the members up to the branches; returns the number of entries.
fn counts(cursor: &mut Cursor, head: Header) -> Result<u64> {
    let version = head.version;
    if version == ANCIENT {
        let entries = cursor.f64()?;
        cursor.take(3 * 8 + 3 * 4 + 4 * 4)?;
        return whole(entries);
    }
    if !(OLDEST..=NEWEST).contains(&version) {
        return Err(unsupported(format!("TTree of version {version}; versions {OLDEST} to {NEWEST} are read")));
    }
    let entries = cursor.i64()?;
    let entries = u64::try_from(entries).map_err(|_| corrupt(format!("{entries} entries")))?;
    cursor.take(3 * 8)?; // total, compressed and saved bytes
    cursor.take(if version >= 18 { 8 } else { 0 })?; // flushed bytes
    cursor.take(8 + 3 * 4)?; // weight, timer, scan field, update
    cursor.take(if version >= 17 { 4 } else { 0 })?; // default length of offsets
    let ranges = if version >= 19 { cursor.i32()? } else { 0 };
    let ranges = usize::try_from(ranges).map_err(|_| corrupt(format!("{ranges} cluster ranges")))?;
    cursor.take(4 * 8)?; // limits of entries, loop, memory; auto save
    cursor.take(if version >= 18 { 8 } else { 0 })?; // auto flush
    cursor.take(8)?; // estimate
    if version >= 19 {
        for _ in 0..2 {
            cursor.take(1)?;
            cursor.i64s(ranges)?; // ends and sizes of cluster ranges
        }
    }
    if version >= 20 {
        skip_io_features(cursor)?;
    }
    Ok(entries)
}
