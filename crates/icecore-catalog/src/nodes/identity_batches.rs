//! Identities of linked files as a hidden array of strings: a commit appends those of its own files.
//!
//! They were attributes of the hidden group before, which each commit wrote again for all files. Such attributes are moved
//! into the array by the next commit that links files.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use icechunk::asset_manager::AssetManager;
use icechunk::format::manifest::{ChunkPayload, ChunkRef};
use icechunk::format::snapshot::NodeSnapshot;
use icechunk::format::{ChunkIndices, Path};
use icechunk::session::Session;
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use crate::error::{self, damaged};
use crate::nodes::chunk_objects::ObjectId;
use crate::nodes::identity::{self, LinkIdentity};
use crate::nodes::manifest_parts::merged;
use crate::nodes::node;
use crate::nodes::shape::outline;

/// Path of the array.
pub(crate) const PATH: &str = "/__icecore__/sources";
/// Attribute of the array: files in each batch.
const FILES: &str = "files";
/// Files of a batch that a commit may write again, to keep batches few.
const LEAST: u64 = 32;
/// Files of a batch that is not written again.
const MOST: u64 = 16_384;
/// Batches of up to this many bytes are stored in their reference.
const INLINE: usize = 512;
/// Largest batch in bytes that is decompressed.
const TRUSTED: usize = 1 << 30;
const LEVEL: i32 = 3;

type Identities = BTreeMap<String, LinkIdentity>;

/// Adds identities to the array of the session; `older` come from the attributes of the hidden group.
pub(crate) async fn append(
    session: &mut Session,
    assets: &AssetManager,
    stored: Option<&NodeSnapshot>,
    older: HashMap<String, LinkIdentity>,
    new: &Identities,
) -> Result<()> {
    let at = Path::from_trusted(PATH);
    let mut files: Vec<u64> = stored.map(|node| sizes(&node.user_data)).unwrap_or_default();
    let before = files.len();
    let kept = before - merged(&files, (older.len() + new.len()) as u64, LEAST, MOST);
    let mut batch: Identities = older.into_iter().collect();
    for number in kept..before {
        let bytes = payload(session, assets, &at, number).await?;
        batch.extend(decode(&bytes)?);
    }
    batch.extend(new.iter().map(|(url, identity)| (url.clone(), identity.clone())));
    files.truncate(kept);
    files.push(batch.len() as u64);
    let document = document(&files);
    let outline = outline(PATH, &document)?;
    match stored {
        Some(_) => session.update_array(&at, outline.shape, outline.names, document).await,
        None => session.add_array(at.clone(), outline.shape, outline.names, document).await,
    }
    .map_err(error::session)?;
    let chunk = store(assets, encode(&batch)?).await?;
    session.set_chunk_ref(at, index(kept)?, Some(chunk)).await.map_err(error::session)
}

/// The identities in a batch's bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<HashMap<String, LinkIdentity>> {
    let bad = || damaged(format!("{PATH}: a list of linked files is not as it was written"));
    let text = zstd::bulk::decompress(bytes, capacity(bytes)).map_err(|_| bad())?;
    let (head, text) = text.split_at_checked(8).ok_or_else(bad)?;
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    if head[..4] != [1, 0, 0, 0] || length as usize != text.len() {
        return Err(bad());
    }
    let attributes: Value = serde_json::from_slice(text).map_err(|_| bad())?;
    Ok(identity::of(&attributes))
}

/// The size that a frame states, as far as it is trusted.
fn capacity(bytes: &[u8]) -> usize {
    let stated = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten().unwrap_or(0);
    usize::try_from(stated).unwrap_or(usize::MAX).min(TRUSTED)
}

/// One string, in the form of the codecs `vlen-utf8` and `zstd`.
fn encode(batch: &Identities) -> Result<Vec<u8>> {
    let mut attributes = Map::new();
    identity::merge(&mut attributes, batch);
    let text = Value::Object(attributes).to_string();
    let length = u32::try_from(text.len()).ok().filter(|length| (*length as usize) < TRUSTED);
    let length =
        length.ok_or_else(|| Error::new(ErrorKind::Unsupported, "more linked files than a commit can record"))?;
    let mut chunk = vec![1, 0, 0, 0];
    chunk.extend(length.to_le_bytes());
    chunk.extend(text.as_bytes());
    zstd::bulk::compress(&chunk, LEVEL).map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))
}

async fn store(assets: &AssetManager, bytes: Vec<u8>) -> Result<ChunkPayload> {
    if bytes.len() <= INLINE {
        return Ok(ChunkPayload::Inline(bytes.into()));
    }
    let (id, length) = (ObjectId::random().chunk_id(), bytes.len() as u64);
    assets.write_chunk(PATH, &[], id.clone(), bytes.into()).await.map_err(error::repository)?;
    Ok(ChunkPayload::Ref(ChunkRef { id, offset: 0, length }))
}

async fn payload(session: &Session, assets: &AssetManager, at: &Path, number: usize) -> Result<Bytes> {
    match session.get_chunk_ref(at, &index(number)?).await.map_err(error::session)? {
        Some(ChunkPayload::Inline(bytes)) => Ok(bytes),
        Some(ChunkPayload::Ref(chunk)) => {
            let range = chunk.offset..chunk.offset.saturating_add(chunk.length);
            assets.fetch_chunk(PATH, &[], &chunk.id, &range).await.map_err(error::repository)
        }
        _ => Err(damaged(format!("{PATH}: the list number {number} of linked files is missing"))),
    }
}

fn index(number: usize) -> Result<ChunkIndices> {
    let number = u32::try_from(number).map_err(|e| Error::new(ErrorKind::Unsupported, e.to_string()))?;
    Ok(ChunkIndices(vec![number]))
}

fn sizes(zarr_json: &[u8]) -> Vec<u64> {
    let attributes = node::attributes(zarr_json);
    attributes.get(FILES).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// Metadata of the array, with a batch in each chunk.
fn document(files: &[u64]) -> Bytes {
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [files.len()], "data_type": "string", "fill_value": "",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "vlen-utf8"}, {"name": "zstd", "configuration": {"level": LEVEL, "checksum": false}}],
        "attributes": {FILES: files},
    });
    Bytes::from(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let who = LinkIdentity { size: 9, mtime_ns: 5, etag: Some("\"é\"".into()) };
        let batch = BTreeMap::from([("file:///a".to_owned(), who)]);
        let bytes = encode(&batch).unwrap();
        assert_eq!(decode(&bytes).unwrap(), batch.into_iter().collect());
        for at in 0..bytes.len() {
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(decode(b"").unwrap_err().kind, ErrorKind::Corrupt);
    }

    #[test]
    fn the_document_is_an_array() {
        let document = document(&[3, 4]);
        assert_eq!(sizes(&document), [3, 4]);
        assert_eq!(outline(PATH, &document).unwrap().shape.num_chunks().collect::<Vec<_>>(), [2]);
    }
}
