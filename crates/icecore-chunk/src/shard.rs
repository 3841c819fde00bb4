//! Shards: several chunks in one object, with an index at one end (`sharding_indexed`).

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::{Chain, raw_len};
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, config_list, config_str};
use crate::scratch::Scratch;

/// Offset and length of a missing chunk.
const MISSING: u64 = u64::MAX;

/// Location of the chunks in a shard.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// Shape of the inner chunks.
    pub chunk: Vec<u64>,
    pub index_at_end: bool,
    /// The codecs of the index, a chunk of (offset, length) pairs.
    pub index: Chain,
}

impl Shard {
    /// Parses a `sharding_indexed` codec; also returns the chain of the inner chunks.
    pub(crate) fn parse(ext: &Extension, dtype: &DType, fill: &[u8]) -> Result<(Shard, Chain)> {
        let list = |key: &str| ext.get(key).ok_or_else(|| bad_config(ext, key, "a list of codecs"));
        let chunk = config_list(ext, "chunk_shape")?;
        if chunk.contains(&0) {
            return Err(bad_config(ext, "chunk_shape", "lengths of at least 1"));
        }
        let index_at_end = match ext.get("index_location").map(|_| config_str(ext, "index_location")).transpose()? {
            None | Some("end") => true,
            Some("start") => false,
            Some(_) => return Err(bad_config(ext, "index_location", "start, end")),
        };
        let index = Chain::parse(list("index_codecs")?, &DType::UInt64, &[0xff; 8])?;
        if index.fixed_len(&[1, 2]).is_none() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("index codecs {:?}, with which the length of the index is not known", index.names()),
            ));
        }
        let inner = Chain::parse(list("codecs")?, dtype, fill)?;
        Ok((Shard { chunk, index_at_end, index }, inner))
    }

    /// Chunks per axis in a shard of this shape.
    pub fn counts(&self, shard_shape: &[u64]) -> Vec<u64> {
        shard_shape.iter().zip(&self.chunk).map(|(shard, chunk)| shard.div_ceil(*chunk)).collect()
    }

    /// Stored bytes of the index of a shard of `n_inner` chunks.
    pub fn index_bytes(&self, n_inner: usize) -> usize {
        self.index.fixed_len(&[n_inner as u64, 2]).unwrap_or(usize::MAX)
    }

    /// Reads an index: per chunk its offset and length in the shard, `None` if it is missing.
    ///
    /// If the length of the shard is given, chunks outside it or inside the index are rejected (`corrupt`).
    pub fn parse_index(
        &self,
        stored: &[u8],
        n_inner: usize,
        shard_bytes: Option<u64>,
    ) -> Result<Vec<Option<(u64, u64)>>> {
        let shape = [n_inner as u64, 2];
        let expected = self.index_bytes(n_inner);
        // Checked before any allocation: the index has exactly this length.
        if stored.len() != expected {
            return Err(corrupt("shard index", format!("{} bytes, expected {expected}", stored.len())));
        }
        let len = raw_len(&shape, 8)?;
        let mut raw = vec![0; len];
        self.index.decode(stored, &shape, (0, len as u64), &mut raw, &mut Scratch::new())?;
        let index = expected as u64;
        let (low, high) = match (self.index_at_end, shard_bytes) {
            (true, Some(total)) => (0, total.saturating_sub(index)),
            (true, None) => (0, u64::MAX),
            (false, total) => (index, total.unwrap_or(u64::MAX)),
        };
        let words = raw.as_chunks::<8>().0.as_chunks::<2>().0;
        words
            .iter()
            .enumerate()
            .map(|(nth, [offset, length])| match (u64::from_ne_bytes(*offset), u64::from_ne_bytes(*length)) {
                (MISSING, MISSING) => Ok(None),
                (offset, length) => match offset.checked_add(length) {
                    Some(end) if offset >= low && end <= high => Ok(Some((offset, length))),
                    _ => Err(corrupt(
                        "shard index",
                        format!("chunk {nth} at {offset} with {length} bytes is outside {low} to {high}"),
                    )),
                },
            })
            .collect()
    }

    /// Writes an index.
    pub fn encode_index(&self, entries: &[Option<(u64, u64)>]) -> Result<Vec<u8>> {
        let mut raw = Vec::with_capacity(16 * entries.len());
        for entry in entries {
            let (offset, length) = entry.unwrap_or((MISSING, MISSING));
            raw.extend(offset.to_ne_bytes());
            raw.extend(length.to_ne_bytes());
        }
        self.index.encode(&raw, &[entries.len() as u64, 2], &mut Scratch::new())
    }
}

/// The sharding codec, if it is the only one of the list.
pub(crate) fn sole_sharding(codecs: &Value) -> Option<Result<Extension<'_>>> {
    match codecs.as_array()?.as_slice() {
        [only] => match Extension::parse(only, "codec") {
            Ok(ext) if ext.name == "sharding_indexed" => Some(Ok(ext)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        },
        _ => None,
    }
}
