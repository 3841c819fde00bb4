//! Chunks that a rank of a parallel model stored, as a message to the rank that commits.

use std::collections::BTreeMap;

use icecore::catalog::{ChunkPlace, ObjectId};
use icecore::grid::{Error, ErrorKind, Result};
use icecore::write::Places;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::invalid;

/// Members of a document that decide how chunks are encoded.
const FORM: [&str; 4] = ["data_type", "chunk_grid", "codecs", "fill_value"];

/// What one rank wrote, by array.
pub type Message = BTreeMap<String, Part>;

/// Chunks of one array.
#[derive(Serialize, Deserialize)]
pub struct Part {
    /// Length of the first axis.
    pub rows: u64,
    /// How the chunks are encoded.
    form: Value,
    /// Chunk number; the bytes of an object's id, of the chunk itself (length 0), or none (a missing chunk); offset; length.
    chunks: Vec<(u64, Vec<u8>, u64, u64)>,
}

impl Part {
    pub fn new(document: &[u8], rows: u64, places: &Places) -> Result<Self> {
        let plain = |(chunk, place): (&u64, &ChunkPlace)| match place {
            ChunkPlace::Missing => (*chunk, Vec::new(), 0, 0),
            ChunkPlace::Inline(bytes) => (*chunk, bytes.to_vec(), 0, 0),
            ChunkPlace::Object { id, offset, length } => (*chunk, id.bytes().to_vec(), *offset, *length),
        };
        Ok(Self { rows, form: form(document)?, chunks: places.iter().map(plain).collect() })
    }

    /// The chunks, for an array with this document.
    ///
    /// # Errors
    /// `mismatch` if they were encoded in another way; `invalid` for a damaged message.
    pub fn places(self, path: &str, document: &[u8]) -> Result<Places> {
        if form(document)? != self.form {
            let message = format!("{path} was declared with other codecs, chunks or dtype by another rank");
            return Err(Error::new(ErrorKind::Mismatch, message).hint("declare it equally in all ranks"));
        }
        let place = |(chunk, bytes, offset, length): (u64, Vec<u8>, u64, u64)| match (bytes.is_empty(), length) {
            (true, 0) => Ok((chunk, ChunkPlace::Missing)),
            (false, 0) => Ok((chunk, ChunkPlace::Inline(bytes.into()))),
            _ => {
                let id = bytes.as_slice().try_into().map_err(|_| damaged("the id of an object has 12 bytes"))?;
                Ok((chunk, ChunkPlace::Object { id: ObjectId::from_bytes(id), offset, length }))
            }
        };
        self.chunks.into_iter().map(place).collect()
    }
}

/// The message in bytes.
pub fn dump(message: &Message) -> Result<Vec<u8>> {
    serde_json::to_vec(message).map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))
}

/// The message from bytes.
pub fn load(bytes: &[u8]) -> Result<Message> {
    serde_json::from_slice(bytes).map_err(|e| damaged(&e.to_string()))
}

fn form(document: &[u8]) -> Result<Value> {
    let all: Value = serde_json::from_slice(document).map_err(|e| Error::new(ErrorKind::Format, e.to_string()))?;
    Ok(FORM.iter().map(|name| all.get(*name).cloned().unwrap_or_default()).collect())
}

fn damaged(what: &str) -> Error {
    invalid(format!("the message of a rank is damaged: {what}")).hint("pass the bytes of icecore_take unchanged")
}
