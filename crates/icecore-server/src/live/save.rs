//! Write documents of nodes, and commit.

use std::sync::Arc;

use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Limits, Session};
use serde_json::{Map, Value, json};

use super::state::State;
use crate::domains::{Collection, Object};
use crate::hdf5::creation;
use crate::http::error::Answer;

impl State {
    /// Commits the changes as a version; returns whether the objects still equal those of the repository.
    pub(super) fn commit(&mut self, is_end: bool) -> Answer<bool> {
        self.sweep(is_end)?;
        if !self.has_changes() {
            return Ok(true);
        }
        let ids: Vec<String> = self.dirty.iter().cloned().collect();
        for id in &ids {
            self.mark(id);
            self.place(id)?;
        }
        // Groups before their members.
        let path = |id: &String| self.model.get(id).and_then(|object| object.path.clone());
        let mut saved: Vec<(Option<String>, String)> = self.dirty.iter().map(|id| (path(id), id.clone())).collect();
        saved.sort();
        for (_, id) in saved {
            self.save(&id)?;
        }
        let base = std::mem::take(&mut self.base);
        let writing = self.writing()?;
        let done = writing.commit("HDF REST");
        let id = match done {
            Ok(id) => id,
            Err(error) => {
                self.base = base;
                return Err(error.into());
            }
        };
        let parent = self.repo.log(Some(&id), Some(1))?.into_iter().next().and_then(|commit| commit.parent);
        let snapshot = self.repo.snapshot(Some(&id))?;
        self.session = Session::new(self.repo.clone(), snapshot, "/", Limits::default())?;
        self.base = id;
        self.dirty.clear();
        (self.stale, self.has_written) = (false, false);
        self.commits += 1;
        self.looked = std::time::Instant::now();
        self.changed();
        Ok(parent.is_none_or(|parent| parent == base))
    }

    /// Writes an object's document.
    fn save(&mut self, id: &str) -> Result<()> {
        let Some(object) = self.model.get(id).cloned() else { return Ok(()) };
        let Some(path) = object.path.clone() else { return Ok(()) };
        let is_root = id == self.model.root;
        let attributes = self.attributes(&object, is_root);
        let writer = Arc::clone(self.writing()?.writer());
        if !writer.exists(&path)? {
            return writer.add_group(&path, &attributes);
        }
        match writer.array_document(&path)? {
            Some(document) => {
                let mut document = parsed(&path, &document)?;
                let kept = document.get("attributes").cloned().unwrap_or_default();
                document.insert("attributes".to_owned(), merged(&kept, attributes));
                writer.update_array(&path, Value::from(document).to_string().as_bytes())
            }
            None => {
                let kept = writer.nodes()?.into_iter().find(|node| node.path == path);
                let kept = kept.map(|node| parsed(&path, &node.zarr_json)).transpose()?;
                let kept = kept.and_then(|document| document.get("attributes").cloned()).unwrap_or_default();
                writer.set_attributes(&path, &merged(&kept, attributes))
            }
        }
    }

    /// The Zarr attributes of an object: its values, and the HDF5 description beside them.
    fn attributes(&self, object: &Object, is_root: bool) -> Value {
        let mut marker = Map::new();
        marker.insert("id".to_owned(), json!(object.id));
        marker.insert("created".to_owned(), json!(object.created));
        marker.insert("lastModified".to_owned(), json!(object.modified));
        for name in ["type", "shape", "creationProperties"] {
            if let Some(value) = object.metadata.get(name) {
                marker.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(shape) = marker.get_mut("shape").and_then(Value::as_object_mut) {
            shape.shift_remove("dims");
        }
        let mut values = Map::new();
        let mut kept = Map::new();
        for (name, attribute) in &object.attributes {
            let mut attribute = attribute.clone();
            if name != "icecore"
                && let Some(value) = attribute.as_object_mut().and_then(|a| a.shift_remove("value"))
            {
                values.insert(name.clone(), value);
            }
            kept.insert(name.clone(), attribute);
        }
        marker.insert("attributes".to_owned(), kept.into());
        if object.collection == Collection::Groups {
            let is_told = |link: &Value| {
                let target = link.get("id").and_then(Value::as_str).and_then(|id| self.model.get(id));
                target.is_none_or(|target| target.marked)
            };
            let links: Map<String, Value> =
                object.links.iter().filter(|(_, link)| is_told(link)).map(|(k, v)| (k.clone(), v.clone())).collect();
            marker.insert("links".to_owned(), links.into());
        }
        if is_root {
            marker.insert("owner".to_owned(), json!(self.model.owner));
            marker.insert("acls".to_owned(), self.model.acls.clone().into());
        }
        values.insert("icecore".to_owned(), json!({"hdf5": marker}));
        values.into()
    }

    /// Creates a dataset's array, without elements.
    pub(super) fn add_array(&mut self, id: &str, path: &str) -> Answer<()> {
        let object = self
            .model
            .get(id)
            .cloned()
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{id} has been deleted")))?;
        let attributes = self.attributes(&object, false);
        let document = creation::document(&object.metadata, attributes)?;
        self.has_written = true;
        self.writing()?.writer().add_array(path, document.to_string().as_bytes())?;
        Ok(())
    }
}

pub(super) fn parsed(path: &str, document: &[u8]) -> Result<Map<String, Value>> {
    serde_json::from_slice(document)
        .map_err(|e| Error::new(ErrorKind::Format, format!("{path}: zarr.json is not a JSON object: {e}")))
}

/// The new attributes, plus icecore's other records among the old ones.
fn merged(old: &Value, mut new: Value) -> Value {
    for (key, value) in old.get("icecore").and_then(Value::as_object).into_iter().flatten() {
        if let Some(own) = new.get_mut("icecore").and_then(Value::as_object_mut) {
            own.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    new
}
