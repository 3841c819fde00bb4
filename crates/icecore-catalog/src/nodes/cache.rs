//! Cache of loaded reference tables with a limit in bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::nodes::table::ChunkTable;

/// Memory for tables: about ten million references.
const CAPACITY: u64 = 256 << 20;

/// Tables by (snapshot id, path); the least recently used is evicted.
pub(crate) struct TableCache {
    capacity: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tables: HashMap<(String, String), (Arc<ChunkTable>, u64)>,
    bytes: u64,
    clock: u64,
}

impl Default for TableCache {
    fn default() -> Self {
        Self { capacity: CAPACITY, state: Mutex::default() }
    }
}

impl TableCache {
    pub fn get(&self, snapshot: &str, path: &str) -> Option<Arc<ChunkTable>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let now = state.clock;
        let (table, used) = state.tables.get_mut(&(snapshot.to_owned(), path.to_owned()))?;
        *used = now;
        Some(Arc::clone(table))
    }

    /// Caches a table, unless it is larger than the whole cache.
    pub fn put(&self, snapshot: &str, path: &str, table: &Arc<ChunkTable>) {
        let size = table.bytes();
        if size > self.capacity {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let now = state.clock;
        if let Some((old, _)) = state.tables.insert((snapshot.to_owned(), path.to_owned()), (Arc::clone(table), now)) {
            state.bytes -= old.bytes();
        }
        state.bytes += size;
        while state.bytes > self.capacity && state.evict() {}
    }
}

impl State {
    fn evict(&mut self) -> bool {
        let oldest = self.tables.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
        let evicted = oldest.and_then(|key| self.tables.remove(&key));
        self.bytes -= evicted.as_ref().map_or(0, |(table, _)| table.bytes());
        evicted.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::table::TableBuilder;

    fn table(rows: u64) -> Arc<ChunkTable> {
        let mut builder = TableBuilder::new(&[1 << 20]).unwrap();
        (0..rows).for_each(|flat| builder.inline(flat, bytes::Bytes::from_static(b"x")));
        Arc::new(builder.finish().unwrap())
    }

    #[test]
    fn the_table_used_longest_ago_makes_room() {
        let cache = TableCache { capacity: 2 * table(10).bytes(), state: Mutex::default() };
        cache.put("s", "/a", &table(10));
        cache.put("s", "/b", &table(10));
        assert!(cache.get("s", "/a").is_some());
        cache.put("s", "/c", &table(10));
        assert!(cache.get("s", "/b").is_none() && cache.get("s", "/a").is_some() && cache.get("s", "/c").is_some());
        cache.put("s", "/d", &table(1000));
        assert!(cache.get("s", "/d").is_none() && cache.get("s", "/a").is_some());
        assert!(cache.get("t", "/a").is_none());
    }

    #[test]
    fn a_replaced_table_is_not_counted_twice() {
        let cache = TableCache { capacity: 2 * table(10).bytes(), state: Mutex::default() };
        for _ in 0..5 {
            cache.put("s", "/a", &table(10));
        }
        cache.put("s", "/b", &table(10));
        assert!(cache.get("s", "/a").is_some() && cache.get("s", "/b").is_some());
    }
}
