//! Change a dataset's shape. Elements that are cut off are lost: if the dataset grows again, they are fill values.

use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Pick, Picks};
use serde_json::{Value, json};

use super::save::parsed;
use super::state::State;
use super::values::Places;
use crate::domains::Collection;
use crate::http::error::{Answer, Failure};

impl State {
    /// Changes a dataset's shape within its limits; returns the new shape.
    pub(crate) fn resize(&mut self, id: &str, dims: &[u64]) -> Answer<()> {
        let path = self.place(id)?;
        let old = self.check(id, dims)?;
        if old == dims {
            return Ok(());
        }
        let kept = self.edge(&path, &old, dims)?;
        let writer = std::sync::Arc::clone(self.writing()?.writer());
        let document = writer.array_document(&path)?;
        let document = document
            .ok_or_else(|| Failure::missing(format!("the dataset {id} has been deleted"), "open the domain again"))?;
        self.replaced.push((path.clone(), document.to_vec()));
        let mut document = parsed(&path, &document)?;
        document.insert("shape".to_owned(), json!(dims));
        writer.update_array(&path, Value::from(document).to_string().as_bytes())?;
        self.has_written = true;
        self.stale = true;
        for (places, elements) in kept {
            self.write(&path, &places, &elements)?;
        }
        let object = self.object(Collection::Datasets, id)?;
        if let Some(shape) = object.metadata.get_mut("shape") {
            shape["dims"] = json!(dims);
        }
        Ok(())
    }

    fn check(&self, id: &str, dims: &[u64]) -> Answer<Vec<u64>> {
        let object = self.model.object(Collection::Datasets, id)?;
        let list = |name: &str| -> Option<Vec<u64>> {
            let list = object.metadata.get("shape")?.get(name)?.as_array()?;
            Some(list.iter().filter_map(Value::as_u64).collect())
        };
        let refuse = |what: String| {
            Failure::from(Error::new(ErrorKind::Invalid, what).hint("a dataset changes its lengths within its maxdims"))
        };
        let old = list("dims").ok_or_else(|| refuse("the dataset has no axes".to_owned()))?;
        if old.len() != dims.len() {
            return Err(refuse(format!("{} lengths for {} axes", dims.len(), old.len())));
        }
        let limits = list("maxdims").unwrap_or_else(|| old.clone());
        match dims.iter().zip(&limits).find(|(len, limit)| **limit != 0 && len > limit) {
            Some((len, limit)) => Err(refuse(format!("the length {len} is above the limit {limit}"))),
            None => Ok(old),
        }
    }

    /// The remaining part of truncated chunks, which is written again so that their rest is fill value.
    fn edge(
        &mut self,
        path: &str,
        old: &[u64],
        dims: &[u64],
    ) -> Result<Vec<(Places, crate::hdf5::incoming::Elements)>> {
        let view = self.view(path)?;
        let mut kept = Vec::new();
        for (axis, (before, after)) in old.iter().zip(dims).enumerate() {
            let Some(grid) = view.meta().grid.axes.get(axis) else { continue };
            if after >= before || *after == 0 {
                continue;
            }
            let (_, start, len) = grid.find(after - 1);
            if start + len == *after {
                continue;
            }
            let count = |i: usize| old.get(i).copied().unwrap_or(0).min(dims.get(i).copied().unwrap_or(0));
            let range = |i: usize| match i == axis {
                true => Pick::Range { start, step: 1, count: after - start },
                false => Pick::Range { start: 0, step: 1, count: count(i) },
            };
            let axes = (0..dims.len()).map(range).collect();
            let reduced = vec![false; dims.len()];
            let picks = Picks { shape: old.to_vec(), axes, reduced };
            let elements = self.read(path, &Places::Picks(picks.clone()))?;
            kept.push((Places::Picks(Picks { shape: dims.to_vec(), ..picks }), elements));
        }
        Ok(kept)
    }
}
