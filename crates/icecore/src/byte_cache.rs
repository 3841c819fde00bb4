//! A cache with a limit in bytes; the least recently used values are evicted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of an owner (an array, an open file) and of its part (a chunk, a block).
pub(crate) type Key = (u64, u64);

/// Least recently used values go first when the cap is reached.
pub(crate) struct ByteCache<V: ?Sized> {
    inner: Mutex<Inner<V>>,
}

struct Inner<V: ?Sized> {
    values: HashMap<Key, (Arc<V>, usize, u64)>,
    by_age: BTreeMap<u64, Key>,
    clock: u64,
    bytes: usize,
    cap: usize,
    hits: u64,
    misses: u64,
}

/// Size and hit statistics of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheInfo {
    pub bytes: usize,
    pub cap: usize,
    pub entries: usize,
    pub hits: u64,
    pub misses: u64,
}

impl<V: ?Sized> ByteCache<V> {
    pub fn new(cap: usize) -> Self {
        let inner =
            Inner { values: HashMap::new(), by_age: BTreeMap::new(), clock: 0, bytes: 0, cap, hits: 0, misses: 0 };
        Self { inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<V>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, key: Key) -> Option<Arc<V>> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        inner.clock += 1;
        let Some((value, _, age)) = inner.values.get_mut(&key) else {
            inner.misses += 1;
            return None;
        };
        inner.by_age.remove(age);
        *age = inner.clock;
        inner.by_age.insert(inner.clock, key);
        inner.hits += 1;
        Some(Arc::clone(value))
    }

    /// Whether a value of this size would be kept. Values that fill much of the cache would evict all others.
    pub fn takes(&self, bytes: usize) -> bool {
        bytes <= self.lock().cap / 8
    }

    pub fn put(&self, key: Key, value: Arc<V>, bytes: usize) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        if bytes > inner.cap / 8 {
            return;
        }
        inner.clock += 1;
        if let Some((_, old, age)) = inner.values.insert(key, (value, bytes, inner.clock)) {
            inner.bytes -= old;
            inner.by_age.remove(&age);
        }
        inner.by_age.insert(inner.clock, key);
        inner.bytes += bytes;
        inner.shrink();
    }

    pub fn set_cap(&self, cap: usize) {
        let mut inner = self.lock();
        inner.cap = cap;
        inner.shrink();
    }

    pub fn info(&self) -> CacheInfo {
        let inner = self.lock();
        CacheInfo {
            bytes: inner.bytes,
            cap: inner.cap,
            entries: inner.values.len(),
            hits: inner.hits,
            misses: inner.misses,
        }
    }
}

impl<V: ?Sized> Inner<V> {
    fn shrink(&mut self) {
        while self.bytes > self.cap
            && let Some((_, key)) = self.by_age.pop_first()
        {
            if let Some((_, bytes, _)) = self.values.remove(&key) {
                self.bytes -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_the_cap_holds() {
        let cache: ByteCache<[u8]> = ByteCache::new(800);
        for i in 0..8 {
            cache.put((0, i), vec![i as u8; 100].into(), 100);
        }
        assert!(cache.get((0, 0)).is_some());
        cache.put((0, 8), vec![8; 100].into(), 100);
        assert!(cache.get((0, 1)).is_none(), "1 was used longest ago");
        assert_eq!(cache.get((0, 0)).unwrap()[0], 0);
        assert_eq!(cache.info().bytes, 800);
        cache.put((0, 9), vec![0; 101].into(), 101);
        assert!(cache.get((0, 9)).is_none(), "too large for this cache");
        cache.set_cap(0);
        assert_eq!((cache.info().bytes, cache.info().entries), (0, 0));
    }
}
