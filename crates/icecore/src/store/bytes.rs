//! The bytes of one source file, wherever it is: a local file, or an object on a server or in a bucket.
//!
//! Blocks of remote files are cached, for all of them together, and sequential reads fetch increasing amounts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use icecore_catalog::{LinkIdentity, PerProcess, bucket_of, runtime};
use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use super::remote::{RangeGet, RemoteObject};
use super::stores::file_path;
use super::{LocalFile, stores};
use crate::byte_cache::ByteCache;

/// Bytes of a block.
const BLOCK: u64 = 256 << 10;
/// Bytes of all cached blocks.
const CACHE: usize = 64 << 20;
/// The rest of a file up to this size is fetched with one request.
const WHOLE: u64 = 4 << 20;
/// Most blocks that a sequential read fetches at once.
const AHEAD: u64 = 16;
/// Ranges that are requested at once.
const AT_ONCE: usize = 16;

/// An open source file with the identity that it had when it was opened; reads of a changed one fail.
pub struct ByteSource {
    place: Place,
    identity: LinkIdentity,
}

enum Place {
    Local(LocalFile),
    Remote(Remote),
}

struct Remote {
    object: RemoteObject,
    /// Number of this open object in the cache.
    number: u64,
    /// The block after the last request, and the blocks that the next one fetches if it continues there.
    sequence: Mutex<(u64, u64)>,
}

impl ByteSource {
    /// Opens a path, a `file://` URL, or the URL of an object with its storage options. Blocks.
    ///
    /// # Errors
    /// `source-missing`, `permission`, `network`, `io`, `invalid`.
    pub fn open(place: &Path, options: &BTreeMap<String, String>) -> Result<Self> {
        let url = place.to_str().filter(|text| is_url(text));
        let path = url.map_or(Ok(None), file_path)?;
        let (Some(url), None) = (url, &path) else {
            let file = LocalFile::open(path.as_deref().unwrap_or(place), true)?;
            let identity = file.identity();
            return Ok(Self { place: Place::Local(file), identity });
        };
        let mut object = stores().source(url, options, None)?;
        let found = runtime().block_on(object.probe())?;
        let identity = found.unwrap_or(LinkIdentity { size: 0, mtime_ns: -1, etag: None });
        object.identity = Some(identity.clone());
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Self { place: Place::Remote(Remote { object, number, sequence: Mutex::new((0, 1)) }), identity })
    }

    /// Size, modification time and ETag when it was opened.
    pub fn identity(&self) -> &LinkIdentity {
        &self.identity
    }
}

impl ReadAt for ByteSource {
    fn len(&self) -> u64 {
        self.identity.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        match &self.place {
            Place::Local(file) => file.read_at(offset, out),
            Place::Remote(remote) => remote.read_at(self.identity.size, offset, out),
        }
    }

    fn read_ahead(&self) -> usize {
        match self.place {
            Place::Local(_) => 1024,
            Place::Remote(_) => BLOCK as usize,
        }
    }
}

impl Remote {
    fn read_at(&self, size: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(out.len() as u64).filter(|end| *end <= size);
        let name = self.object.name();
        let end = end.ok_or_else(|| {
            let what = format!("{name}: {} bytes at offset {offset} exceed the file of {size}", out.len());
            Error::new(ErrorKind::Corrupt, what)
        })?;
        if out.is_empty() {
            return Ok(());
        }
        let wanted = offset / BLOCK..end.div_ceil(BLOCK);
        let mut blocks: BTreeMap<u64, Arc<[u8]>> = BTreeMap::new();
        let mut missing = Vec::new();
        for block in wanted.clone() {
            match cache().get((self.number, block)) {
                Some(bytes) => drop(blocks.insert(block, bytes)),
                None => missing.push(block),
            }
        }
        if let Some(first) = missing.first() {
            blocks.extend(self.fetch(size, *first, &missing)?);
        }
        for block in wanted {
            let start = block * BLOCK;
            let (low, high) = (offset.max(start), end.min(start + BLOCK));
            let from = blocks.get(&block).and_then(|bytes| bytes.get((low - start) as usize..(high - start) as usize));
            let into = out.get_mut((low - offset) as usize..(high - offset) as usize);
            match (from, into) {
                (Some(from), Some(into)) => into.copy_from_slice(from),
                _ => return Err(Error::new(ErrorKind::Internal, format!("{name}: block {block} is incomplete"))),
            }
        }
        Ok(())
    }

    /// Fetches the missing blocks, and more after them while reads are consecutive: one request a run.
    fn fetch(&self, size: u64, first: u64, missing: &[u64]) -> Result<Vec<(u64, Arc<[u8]>)>> {
        let end = size.div_ceil(BLOCK);
        let runs = if size <= WHOLE {
            vec![(0, end)]
        } else {
            let mut sequence = self.sequence.lock().unwrap_or_else(PoisonError::into_inner);
            let (next, ahead) = *sequence;
            let ahead = if first == next { (ahead * 2).min(AHEAD) } else { 1 };
            let mut runs = runs(missing);
            if let Some((start, stop)) = runs.last_mut() {
                *stop = (*stop).max(*start + ahead).min(end);
                *sequence = (*stop, ahead);
            }
            runs
        };
        let requests = runs.iter().map(|(low, high)| {
            let start = low * BLOCK;
            self.object.get(start, (high * BLOCK).min(size) - start)
        });
        let answers: Vec<Bytes> =
            runtime().block_on(futures::stream::iter(requests).buffered(AT_ONCE).try_collect())?;
        let mut found = Vec::new();
        for ((low, _), bytes) in runs.iter().zip(&answers) {
            for (number, part) in (*low..).zip(bytes.chunks(BLOCK as usize)) {
                let part: Arc<[u8]> = part.into();
                cache().put((self.number, number), Arc::clone(&part), part.len());
                found.push((number, part));
            }
        }
        Ok(found)
    }
}

fn is_url(place: &str) -> bool {
    bucket_of(place).is_some() || ["file://", "http://", "https://"].iter().any(|scheme| place.starts_with(scheme))
}

/// Runs of consecutive numbers.
fn runs(numbers: &[u64]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, stop)) if stop == number => *stop += 1,
            _ => runs.push((*number, number + 1)),
        }
    }
    runs
}

/// Blocks of all remote files.
fn cache() -> &'static ByteCache<[u8]> {
    static BLOCKS: PerProcess<ByteCache<[u8]>> = PerProcess::new();
    BLOCKS.get_or(|_| ByteCache::new(CACHE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_file_is_read_where_it_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b.bin");
        std::fs::write(&path, (0..=255).collect::<Vec<u8>>()).unwrap();
        for place in [path.display().to_string(), format!("file://{}/a%20b.bin", dir.path().display())] {
            let source = ByteSource::open(Path::new(&place), &BTreeMap::new()).unwrap();
            assert_eq!((source.len(), source.identity().size), (256, 256));
            let mut out = [0; 3];
            source.read_at(7, &mut out).unwrap();
            assert_eq!(out, [7, 8, 9]);
            assert!(source.read_at(254, &mut out).is_err());
        }
        let missing = ByteSource::open(Path::new("/no/such/file"), &BTreeMap::new());
        assert_eq!(missing.err().map(|error| error.kind), Some(ErrorKind::SourceMissing));
    }

    #[test]
    fn consecutive_blocks_are_one_request() {
        assert_eq!(runs(&[1, 2, 3, 7, 9, 10]), [(1, 4), (7, 8), (9, 11)]);
        assert_eq!(runs(&[]), []);
    }
}
