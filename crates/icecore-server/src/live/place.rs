//! Nodes of objects: a path by the first link, or below `/__hdf5__`; and their removal.

use std::time::{Duration, Instant};

use icecore::grid::Result;
use serde_json::{Value, json};

use super::state::State;
use crate::domains::{Collection, UNPLACED};
use crate::http::error::Answer;

/// Time after which an object without a link is removed: clients move objects with two requests.
const GRACE: Duration = Duration::from_secs(10);

impl State {
    /// Gives an object a node, and the groups above it.
    pub(super) fn place(&mut self, id: &str) -> Answer<String> {
        if let Some(path) = self.model.get(id).and_then(|object| object.path.clone()) {
            return Ok(path);
        }
        let path = self.path_for(id)?;
        let Some(object) = self.model.get_mut(id) else { return Err(crate::domains::ids::unknown(id).into()) };
        object.path = Some(path.clone());
        self.dirty.insert(id.to_owned());
        if self.model.get(id).is_some_and(|object| object.collection == Collection::Datasets) {
            self.add_array(id, &path)?;
            self.stale = true;
        }
        Ok(path)
    }

    fn path_for(&mut self, id: &str) -> Answer<String> {
        let unplaced = format!("{UNPLACED}/{id}");
        // For a group that is only linked from inside itself there is no path from the root.
        for (group, title) in self.model.parents(id) {
            if group == id
                || !is_name(&title)
                || self.model.get(&group).is_none_or(|g| g.path.is_none() && !self.reaches(&group))
            {
                continue;
            }
            let above = self.place(&group)?;
            if above.starts_with(UNPLACED) {
                continue;
            }
            let path = if above == "/" { format!("/{title}") } else { format!("{above}/{title}") };
            self.vacate(&path)?;
            let is_free = !self.model.paths().contains(path.as_str()) && !self.writing()?.writer().exists(&path)?;
            if is_free {
                return Ok(path);
            }
        }
        Ok(unplaced)
    }

    /// Whether hard links lead from the root to a group.
    fn reaches(&self, group: &str) -> bool {
        let (mut open, mut seen) = (vec![self.model.root.clone()], std::collections::HashSet::new());
        while let Some(id) = open.pop() {
            if id == group {
                return true;
            }
            let links = self.model.get(&id).into_iter().flat_map(|object| object.links.values());
            for next in links.filter_map(|link| link.get("id")?.as_str()) {
                if next.starts_with('g') && seen.insert(next.to_owned()) {
                    open.push(next.to_owned());
                }
            }
        }
        false
    }

    /// Removes an unlinked object from a path that another one needs.
    fn vacate(&mut self, path: &str) -> Answer<()> {
        let there =
            self.model.objects().find(|object| object.path.as_deref() == Some(path)).map(|object| object.id.clone());
        if let Some(id) = there.filter(|id| self.unlinked.contains_key(id)) {
            self.drop_object(&id)?;
        }
        Ok(())
    }

    /// Removes objects that have been without links for that time.
    pub(super) fn sweep(&mut self, is_end: bool) -> Answer<()> {
        loop {
            let due =
                self.unlinked.iter().find(|(_, since)| is_end || since.elapsed() >= GRACE).map(|(id, _)| id.clone());
            let Some(id) = due else { return Ok(()) };
            self.unlinked.remove(&id);
            if !self.model.is_linked(&id) && self.model.get(&id).is_some() {
                self.drop_object(&id)?;
            }
        }
    }

    /// Removes an object; objects that only it linked to lose their last link.
    pub(super) fn drop_object(&mut self, id: &str) -> Answer<()> {
        let Some(object) = self.model.remove(id) else { return Ok(()) };
        self.dirty.remove(id);
        self.unlinked.remove(id);
        for child in object.links.values().filter_map(|link| link.get("id")?.as_str()) {
            if !self.model.is_linked(child) {
                self.mark(child);
                self.unlinked.entry(child.to_owned()).or_insert_with(Instant::now);
            }
        }
        if let Some(path) = &object.path {
            self.remove_node(path)?;
        }
        Ok(())
    }

    fn remove_node(&mut self, path: &str) -> Result<()> {
        let below = format!("{path}/");
        let is_needed =
            self.model.objects().any(|object| object.path.as_deref().is_some_and(|p| p.starts_with(&below)));
        let writer = std::sync::Arc::clone(self.writing()?.writer());
        self.has_written = true;
        self.stale = true;
        if !writer.exists(path)? {
            return Ok(());
        }
        if is_needed {
            let attributes: Value = json!({"icecore": {"hdf5": {"removed": true}}});
            return writer.set_attributes(path, &attributes);
        }
        self.writing()?.delete(path)
    }
}

/// Whether a title is a valid name of a Zarr node.
fn is_name(title: &str) -> bool {
    !title.is_empty()
        && !title.starts_with("__")
        && !title.chars().all(|c| c == '.')
        && !title.contains(['\0', '\\', '/'])
        && title != "zarr.json"
        && title.len() < 200
}
