//! A handle for writing: the arrays in use, blocks, commits, and the chunks of other ranks.

use std::collections::HashMap;
use std::sync::Arc;

use icecore::catalog::{Repo, Snapshot};
use icecore::chunk::ArrayMeta;
use icecore::grid::{Axis, Error, ErrorKind, Region, Result};
use icecore::write::{Data, Places, WriteOptions, Writing};
use serde_json::Value;

use crate::document::Declared;
use crate::error::invalid;
use crate::places::{self, Message, Part};

/// The group of stored trends, which only the Python package renews.
const TRENDS: &str = "/__summary__";

/// Uncommitted changes to a branch.
pub struct Changes {
    repo: Repo,
    branch: String,
    writing: Writing,
    metas: HashMap<String, Arc<ArrayMeta>>,
    /// Documents of arrays that were declared, for later steps.
    declared: HashMap<String, Vec<u8>>,
    /// Chunks since the last commit, by array.
    places: HashMap<String, Places>,
}

impl Changes {
    pub fn new(repo: Repo, branch: &str) -> Result<Self> {
        let writing = pipeline(&repo, branch)?;
        let (metas, declared, places) = Default::default();
        Ok(Self { repo, branch: branch.to_owned(), writing, metas, declared, places })
    }

    /// Adds an array, or accepts the stored one.
    pub fn declare(&mut self, array: &Declared) -> Result<()> {
        let document = array.document()?.to_string().into_bytes();
        let new = ArrayMeta::parse(&document)?;
        if new.dtype.is_vlen() {
            let message = format!("{}: strings of variable length can't be written from C", array.path);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        match self.writing.writer().array_document(array.path)? {
            Some(stored) => array.check(&ArrayMeta::parse(&stored)?, &new)?,
            None => self.add(array.path, &document)?,
        }
        self.declared.insert(array.path.to_owned(), document);
        self.meta(array.path).map(drop)
    }

    fn add(&self, path: &str, document: &[u8]) -> Result<()> {
        self.parents(path)?;
        self.writing.writer().add_array(path, document)
    }

    fn parents(&self, path: &str) -> Result<()> {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        for parent in ends.filter_map(|at| path.get(..at)) {
            if !self.writing.writer().exists(parent)? {
                self.writing.writer().add_group(parent, &Value::Object(Default::default()))?;
            }
        }
        Ok(())
    }

    /// Sets the attributes of an array or a group, which is added if nothing is there.
    pub fn attributes(&self, path: &str, attributes: &Value) -> Result<()> {
        if self.writing.writer().exists(path)? {
            return self.writing.writer().set_attributes(path, attributes);
        }
        self.parents(path)?;
        self.writing.writer().add_group(path, attributes)
    }

    /// The array's metadata; an array that an earlier step declared is declared again if it isn't committed yet.
    fn meta(&mut self, path: &str) -> Result<Arc<ArrayMeta>> {
        if let Some(meta) = self.metas.get(path) {
            return Ok(Arc::clone(meta));
        }
        let stored = self.writing.writer().array_document(path)?;
        if stored.is_none()
            && let Some(document) = self.declared.get(path)
        {
            self.add(path, document)?;
        }
        if self.writing.writer().exists(&format!("{TRENDS}{path}"))? {
            let error =
                Error::new(ErrorKind::Unsupported, format!("{path} has stored trends, which would be out of date"));
            return Err(error.hint("write it with Python, which renews them"));
        }
        let meta = Arc::new(ArrayMeta::parse(&self.document(path)?)?);
        self.metas.insert(path.to_owned(), Arc::clone(&meta));
        Ok(meta)
    }

    fn document(&self, path: &str) -> Result<Vec<u8>> {
        let document = self.writing.writer().array_document(path)?;
        let missing = || Error::new(ErrorKind::NotFound, format!("there is no array {path}"));
        document.map(|bytes| bytes.to_vec()).ok_or_else(|| missing().hint("declare it first: icecore_array"))
    }

    /// Number of axes of an array.
    pub fn rank(&mut self, path: &str) -> Result<usize> {
        self.meta(path).map(|meta| meta.shape.len())
    }

    /// Writes a block; one that ends behind the first axis extends it.
    pub fn write(&mut self, path: &str, region: Region, data: Vec<u8>) -> Result<()> {
        let meta = self.meta(path)?;
        let end = region.start.iter().zip(&region.shape).map(|(start, n)| start.saturating_add(*n)).next();
        let is_empty = region.shape.contains(&0);
        let meta = self.extended(path, meta, end.filter(|_| !is_empty).unwrap_or(0))?;
        self.writing.write(path, &meta, region, Data::Fixed(Box::new(data)))
    }

    /// The array's metadata with at least this many rows.
    fn extended(&mut self, path: &str, meta: Arc<ArrayMeta>, rows: u64) -> Result<Arc<ArrayMeta>> {
        if meta.shape.first().is_none_or(|length| *length >= rows) {
            return Ok(meta);
        }
        if !matches!(meta.grid.axes.first(), Some(Axis::Regular { .. })) {
            let message = format!("{path} has chunks of several lengths along its first axis");
            return Err(Error::new(ErrorKind::Unsupported, message).hint("append to it with Python"));
        }
        let bad = |e: serde_json::Error| Error::new(ErrorKind::Format, format!("{path}: {e}"));
        let mut document: Value = serde_json::from_slice(&self.document(path)?).map_err(bad)?;
        if let Some(length) = document.get_mut("shape").and_then(|shape| shape.get_mut(0)) {
            *length = rows.into();
        }
        let document = document.to_string().into_bytes();
        let meta = Arc::new(ArrayMeta::parse(&document)?);
        self.writing.writer().update_array(path, &document)?;
        self.metas.insert(path.to_owned(), Arc::clone(&meta));
        Ok(meta)
    }

    pub fn commit(&mut self, message: &str) -> Result<()> {
        self.writing.commit(message)?;
        self.writing.fork();
        self.metas.clear();
        self.places.clear();
        Ok(())
    }

    /// What a commit would store now.
    pub fn pending(&self) -> Result<Snapshot> {
        self.writing.flush()?;
        self.writing.writer().snapshot()
    }

    /// Waits until everything is stored, and notes the chunks of this process.
    fn stored(&mut self) -> Result<()> {
        for (path, chunks) in self.writing.take()? {
            self.places.entry(path).or_default().extend(chunks);
        }
        Ok(())
    }

    /// The message to the process that commits. Afterwards this handle has no changes.
    pub fn take(&mut self) -> Result<Vec<u8>> {
        self.stored()?;
        let mut message = Message::new();
        for (path, places) in std::mem::take(&mut self.places) {
            let rows = self.meta(&path)?.shape.first().copied().unwrap_or(1);
            let part = Part::new(&self.document(&path)?, rows, &places)?;
            message.insert(path, part);
        }
        // The next step is based on a version that may have this one.
        self.writing = pipeline(&self.repo, &self.branch)?;
        self.metas.clear();
        places::dump(&message)
    }

    /// Adds the chunks of another process.
    pub fn merge(&mut self, message: &[u8]) -> Result<()> {
        self.stored()?;
        let mut all = Vec::new();
        for (path, part) in places::load(message)? {
            let meta = self.meta(&path)?;
            let meta = self.extended(&path, meta, part.rows)?;
            let chunks = part.places(&path, &self.document(&path)?)?;
            let known = self.places.get(&path);
            if let Some(both) = chunks.keys().find(|chunk| known.is_some_and(|known| known.contains_key(*chunk))) {
                let error = invalid(format!("{path}: chunk {both} was written by two processes"));
                return Err(error.hint("give each chunk to one process"));
            }
            if let Some((last, _)) =
                chunks.last_key_value().filter(|(chunk, _)| meta.grid.len().is_ok_and(|n| **chunk >= n))
            {
                return Err(invalid(format!("{path} has no chunk number {last}")));
            }
            all.push((path, chunks));
        }
        for (path, chunks) in all {
            self.writing.merge(&path, &chunks, icecore::write::Written::default())?;
        }
        self.stored()
    }
}

fn pipeline(repo: &Repo, branch: &str) -> Result<Writing> {
    let writing = Writing::new(Arc::new(repo.writer(branch)?), WriteOptions::default());
    writing.fork();
    Ok(writing)
}
