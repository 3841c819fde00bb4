//! Caches of reads: decoded chunks that were needed in part, tables of byte planes, and shard indexes.

use std::sync::atomic::{AtomicUsize, Ordering};

use icecore_catalog::PerProcess;

pub use crate::byte_cache::CacheInfo;
use crate::byte_cache::{ByteCache, Key};
use crate::settings;

/// The key of a decoded chunk: the number of its array (see [`super::ArrayView`]), the planes that were read, and its index
/// in the grid.
pub(crate) fn chunk_key(array: u64, planes: usize, flat: u64) -> Key {
    (array << 4 | if planes < 15 { planes as u64 } else { 15 }, flat)
}

/// Entries of a shard's index: offset and length in the shard, or None for a chunk of only fill values.
pub(crate) type ShardIndex = [Option<(u64, u64)>];

/// Decoded chunks.
pub(crate) fn chunks() -> &'static ByteCache<[u8]> {
    static CHUNKS: PerProcess<ByteCache<[u8]>> = PerProcess::new();
    CHUNKS.get_or(|_| ByteCache::new(cap()))
}

/// Tables of byte-plane chunks.
pub(crate) fn heads() -> &'static ByteCache<[u8]> {
    static HEADS: PerProcess<ByteCache<[u8]>> = PerProcess::new();
    HEADS.get_or(|_| ByteCache::new(16 << 20))
}

/// Indexes of shards.
pub(crate) fn indexes() -> &'static ByteCache<ShardIndex> {
    static INDEXES: PerProcess<ByteCache<ShardIndex>> = PerProcess::new();
    INDEXES.get_or(|_| ByteCache::new(64 << 20))
}

const DEFAULT_CAP: usize = 16 << 20;
const UNSET: usize = usize::MAX;
/// The limit set by [`set_cache_bytes`], which children inherit.
static CAP: AtomicUsize = AtomicUsize::new(UNSET);

fn cap() -> usize {
    match CAP.load(Ordering::Relaxed) {
        UNSET => initial_cap(),
        cap => cap,
    }
}

/// `ICECORE_CACHE` in bytes, 0 for none.
fn initial_cap() -> usize {
    settings::number(settings::CACHE).unwrap_or(DEFAULT_CAP)
}

/// The cache of decoded chunks.
pub fn cache_info() -> CacheInfo {
    chunks().info()
}

/// Sets the cap of the cache of decoded chunks; 0 turns it off.
pub fn set_cache_bytes(cap: usize) {
    CAP.store(cap.min(UNSET - 1), Ordering::Relaxed);
    chunks().set_cap(cap);
}
