//! A ROOT file: its header, keys, classes, and objects.

use std::sync::OnceLock;

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use crate::basket::Basket;
use crate::branch::Branch;
use crate::compression::Expander;
use crate::cursor::{Cursor, Within, corrupt, unsupported};
use crate::directory::{Record, walk};
use crate::key::Key;
use crate::ntuple::NTuple;
use crate::source::read_at;
use crate::streamer::{Streamer, Streamers};
use crate::tree::Tree;

/// The first request: the header, and nearly always the file's directory record.
const FIRST: u64 = 512;
/// Files with versions above this may exceed 2 GiB: their offsets have 8 bytes.
const BIG_FILE: i32 = 1_000_000;

/// An open ROOT file.
pub struct File<S: ReadAt> {
    pub(crate) source: S,
    keys: Vec<Key>,
    classes_at: (u64, u64),
    classes: OnceLock<Streamers>,
}

struct Header {
    directory: u64,
    classes_at: (u64, u64),
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(4)? != b"root" {
            return Err(Error::new(ErrorKind::Format, "not a ROOT file (its first bytes are not `root`)"));
        }
        let (version, begin) = (cursor.i32()?, cursor.i32()?);
        let big = version >= BIG_FILE;
        cursor.take(if big { 16 } else { 8 })?; // end of the file, list of free space
        cursor.take(8)?; // bytes and number of free segments
        let name_len = cursor.i32()?;
        cursor.take(1 + 4)?; // size of offsets, compression
        let classes = if big { cursor.i64()? } else { i64::from(cursor.i32()?) };
        let classes_len = cursor.i32()?;
        let directory = i64::from(begin) + i64::from(name_len);
        match (u64::try_from(directory), u64::try_from(classes), u64::try_from(classes_len)) {
            (Ok(directory), Ok(classes), Ok(len)) => Ok(Self { directory, classes_at: (classes, len) }),
            _ => Err(corrupt(format!("the header points to {directory}, {classes} and {classes_len} bytes"))),
        }
    }
}

impl<S: ReadAt> File<S> {
    /// Reads header and keys, with three requests for a file without subdirectories.
    pub fn open(source: S) -> Result<Self> {
        let first = read_at(&source, 0, FIRST.min(source.len()))?;
        let header = Header::read(&first).within(|| "file header")?;
        let len = 42.min(source.len().saturating_sub(header.directory));
        let at = usize::try_from(header.directory).ok();
        let inside = at.and_then(|at| first.get(at..)?.get(..len as usize)).map(<[u8]>::to_vec);
        let record = match inside {
            Some(bytes) => bytes,
            None => read_at(&source, header.directory, len).within(|| "directory of the file")?,
        };
        let record = Record::read(&mut Cursor::new(&record)).within(|| "directory of the file")?;
        let keys = walk(&source, record, header.directory)?;
        Ok(Self { source, keys, classes_at: header.classes_at, classes: OnceLock::new() })
    }

    /// All keys; those of a subdirectory follow the subdirectory's key.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The source that the file is read from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The newest cycle of the object at `path`, or the one of `path;cycle`.
    pub fn key(&self, path: &str) -> Result<&Key> {
        let (name, cycle) = match path.rsplit_once(';') {
            Some((name, cycle)) => (name, cycle.parse::<i16>().ok()),
            None => (path, None),
        };
        let name = name.trim_matches('/');
        let named = self.keys.iter().filter(|key| key.path == name && cycle.is_none_or(|c| key.cycle == c));
        named.max_by_key(|key| key.cycle).ok_or_else(|| {
            let names: Vec<_> = self.keys.iter().map(|key| key.path.as_str()).take(8).collect();
            Error::new(ErrorKind::NotFound, format!("no object {path:?}"))
                .hint(format!("the file has {}", if names.is_empty() { "none".into() } else { names.join(", ") }))
        })
    }

    /// The decompressed bytes of an object, without its key.
    pub fn object(&self, key: &Key, expander: &mut Expander) -> Result<Vec<u8>> {
        let name = || format!("object {:?} (class {})", key.path, key.class);
        let stored = read_at(&self.source, key.offset, key.stored_len).within(name)?;
        let payload = stored.get(key.key_len as usize..).unwrap_or_default();
        let mut out = Vec::new();
        expander.expand(payload, key.object_len as usize, &mut out).within(name)?;
        Ok(out)
    }

    /// Reads a `TTree`, a `TNtuple` or a `TNtupleD`.
    pub fn tree(&self, key: &Key) -> Result<Tree> {
        if !is_tree(&key.class) {
            return Err(Error::new(ErrorKind::Mismatch, format!("{:?} is a {}, not a tree", key.path, key.class)));
        }
        let bytes = self.object(key, &mut Expander::default())?;
        let streamers = self.streamers()?;
        Tree::read(&bytes, key.key_len as usize, &key.class, streamers).within(|| format!("{:?}", key.path))
    }

    /// Reads and decompresses basket `number` of a branch: first those in the file, then the embedded ones.
    pub fn basket(&self, branch: &Branch, number: usize, expander: &mut Expander) -> Result<Basket> {
        let name = |offset: &dyn std::fmt::Display| format!("branch {:?}, basket {number}{offset}", branch.path);
        if let Some(damage) = &branch.damage {
            return Err(damage.clone());
        }
        if !branch.file_name.is_empty() {
            return Err(unsupported(format!("its baskets are in another file, {:?}", branch.file_name)))
                .within(|| name(&""));
        }
        let Some(range) = branch.baskets.get(number) else {
            let embedded = branch.embedded.get(number - branch.baskets.len());
            let missing = || Error::new(ErrorKind::Invalid, format!("branch {:?} has no basket {number}", branch.path));
            return embedded.map(Basket::embedded).ok_or_else(missing);
        };
        let name = || name(&format!(" at offset {}", range.offset));
        let stored = read_at(&self.source, range.offset, range.len).within(name)?;
        let basket = Basket::read(&stored, expander).within(name)?;
        if basket.entries as u64 != range.end_entry - range.first_entry {
            return Err(corrupt(format!(
                "it holds {} entries, the branch says {} to {}",
                basket.entries, range.first_entry, range.end_entry
            )))
            .within(name);
        }
        Ok(basket)
    }

    /// Reads an `RNTuple`.
    pub fn ntuple(&self, key: &Key) -> Result<NTuple> {
        if !is_ntuple(&key.class) {
            return Err(Error::new(ErrorKind::Mismatch, format!("{:?} is a {}, not an RNTuple", key.path, key.class)));
        }
        let anchor = self.object(key, &mut Expander::default())?;
        NTuple::read(&self.source, &anchor).within(|| format!("RNTuple {:?}", key.path))
    }

    /// The classes that the file describes.
    pub fn classes(&self) -> Result<impl Iterator<Item = &Streamer>> {
        Ok(self.streamers()?.iter())
    }

    fn streamers(&self) -> Result<&Streamers> {
        if let Some(known) = self.classes.get() {
            return Ok(known);
        }
        let read = self.read_streamers().within(|| "class descriptions")?;
        Ok(self.classes.get_or_init(|| read))
    }

    fn read_streamers(&self) -> Result<Streamers> {
        let (offset, len) = self.classes_at;
        if offset == 0 || len == 0 {
            return Ok(Streamers::default());
        }
        let stored = read_at(&self.source, offset, len)?;
        let key = Key::read(&mut Cursor::new(&stored), "")?;
        let payload = stored.get(key.key_len as usize..).unwrap_or_default();
        let mut bytes = Vec::new();
        Expander::default().expand(payload, key.object_len as usize, &mut bytes)?;
        Streamers::read(&bytes, key.key_len as usize)
    }
}

/// Whether objects of this class are trees.
pub(crate) fn is_tree(class: &str) -> bool {
    matches!(class, "TTree" | "TNtuple" | "TNtupleD")
}

pub(crate) fn is_ntuple(class: &str) -> bool {
    matches!(class, "ROOT::RNTuple" | "ROOT::Experimental::RNTuple")
}

impl Key {
    /// Whether [`File::tree`] supports it.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        is_tree(&self.class)
    }

    /// Whether [`File::ntuple`] supports it.
    #[must_use]
    pub fn is_ntuple(&self) -> bool {
        is_ntuple(&self.class)
    }
}
