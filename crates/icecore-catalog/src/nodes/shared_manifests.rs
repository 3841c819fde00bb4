//! Cache of decoded manifests that several arrays share: each is fetched once for all of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use icechunk::format::ManifestId;
use icechunk::format::manifest::Manifest;
use icecore_grid::Result;
use tokio::sync::OnceCell;

use crate::nodes::node::Node;

/// Manifests that are kept; each is about 256 KiB at most.
const KEPT: usize = 128;

type Slot = Arc<OnceCell<Arc<Manifest>>>;

/// Manifests by name, or a place for one that is being fetched.
#[derive(Default)]
pub(crate) struct SharedManifests(Mutex<State>);

#[derive(Default)]
struct State {
    slots: HashMap<ManifestId, Slot>,
    order: VecDeque<ManifestId>,
}

impl SharedManifests {
    /// The manifest; the first caller fetches it and others wait.
    pub async fn get(
        &self,
        id: &ManifestId,
        fetch: impl Future<Output = Result<Arc<Manifest>>>,
    ) -> Result<Arc<Manifest>> {
        let slot = self.slot(id);
        slot.get_or_try_init(|| fetch).await.cloned()
    }

    fn slot(&self, id: &ManifestId) -> Slot {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = state.slots.get(id) {
            return Arc::clone(slot);
        }
        let slot = Slot::default();
        state.slots.insert(id.clone(), Arc::clone(&slot));
        state.order.push_back(id.clone());
        if state.order.len() > KEPT
            && let Some(oldest) = state.order.pop_front()
        {
            state.slots.remove(&oldest);
        }
        slot
    }
}

/// The manifests that several arrays use.
pub(crate) fn shared(nodes: &[Node]) -> HashSet<ManifestId> {
    let mut known = HashSet::new();
    let used = nodes.iter().filter_map(|node| node.array.as_ref()).flat_map(|entry| &entry.manifests);
    used.filter(|id| !known.insert((*id).clone())).cloned().collect()
}
