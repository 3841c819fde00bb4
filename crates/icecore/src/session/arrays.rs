//! Cache of opened arrays with a limited number of entries; the least recently used one is evicted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use icecore_grid::Result;

use crate::read::ArrayView;

pub(super) struct Arrays {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<String, (Arc<ArrayView>, u64)>,
    clock: u64,
}

impl Arrays {
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), state: Mutex::default() }
    }

    /// The array at `path`, opened with `open` if it is not cached.
    pub fn get(&self, path: &str, open: impl FnOnce() -> Result<ArrayView>) -> Result<Arc<ArrayView>> {
        if let Some(view) = self.known(path) {
            return Ok(view);
        }
        // Without the lock: parsing metadata takes time, and other threads open other arrays.
        let view = Arc::new(open()?);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = state.clock;
        let kept = Arc::clone(&state.open.entry(path.to_owned()).or_insert((view, now)).0);
        while state.open.len() > self.capacity {
            let oldest = state.open.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            oldest.and_then(|path| state.open.remove(&path));
        }
        Ok(kept)
    }

    fn known(&self, path: &str) -> Option<Arc<ArrayView>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let now = state.clock;
        let (view, used) = state.open.get_mut(path)?;
        *used = now;
        Some(Arc::clone(view))
    }
}
