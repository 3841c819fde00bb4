//! Objects that a writer stores, and the byte ranges of chunks in them.

use std::fmt;

use bytes::Bytes;
use icechunk::format::ChunkId;
use icecore_grid::{Error, ErrorKind, Result};

use crate::process::own_numbers;

/// One object of the repository that holds the bytes of one or more chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId([u8; 12]);

impl ObjectId {
    pub(crate) fn random() -> Self {
        own_numbers();
        Self(ChunkId::random().0)
    }

    /// The id that another process received from [`ObjectId::bytes`].
    #[must_use]
    pub fn from_bytes(bytes: [u8; 12]) -> Self {
        Self(bytes)
    }

    /// The id as bytes, for another process.
    #[must_use]
    pub fn bytes(self) -> [u8; 12] {
        self.0
    }

    /// The object with this name.
    ///
    /// # Errors
    /// Invalid if it is not the name of an object.
    pub fn named(name: &str) -> Result<Self> {
        let id = name.strip_prefix("chunks/").and_then(|id| ChunkId::try_from(id).ok());
        let id = id.ok_or_else(|| Error::new(ErrorKind::Invalid, format!("{name:?} is not the name of an object")))?;
        Ok(Self(id.0))
    }

    pub(crate) fn chunk_id(self) -> ChunkId {
        ChunkId::new(self.0)
    }

    /// The object's name below the repository's root.
    #[must_use]
    pub fn name(self) -> String {
        format!("chunks/{}", self.chunk_id())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.chunk_id())
    }
}

/// Location of a chunk's bytes from the next commit on.
#[derive(Clone, Debug, PartialEq)]
pub enum ChunkPlace {
    /// Not stored: the chunk reads as the fill value.
    Missing,
    /// Stored in the reference itself; for at most a few hundred bytes.
    Inline(Bytes),
    /// `length` bytes of an object, from `offset` on.
    Object { id: ObjectId, offset: u64, length: u64 },
}
