//! ROOT files: contents of trees and ntuples, locations of baskets and pages, and values of branches that can't be
//! linked.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use icecore::grid::{Error, ErrorKind, Result};
use icecore_root::ntuple::NTuple;
use icecore_root::{Branch, File, Interpretation, LocalFile, Tree};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::error::OrRaise;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RootFile>()
}

type Known<T> = Mutex<HashMap<String, Arc<T>>>;

/// An open local file. Trees and ntuples are parsed on first use.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct RootFile {
    file: File<LocalFile>,
    trees: Known<Tree>,
    ntuples: Known<NTuple>,
}

#[pymethods]
impl RootFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(|| File::open(LocalFile::open(&path)?)).or_raise()?;
        Ok(Self { file, trees: Mutex::default(), ntuples: Mutex::default() })
    }

    /// (path, cycle, class) of every key.
    fn keys(&self) -> Vec<(String, i16, String)> {
        self.file.keys().iter().map(|key| (key.path.clone(), key.cycle, key.class.clone())).collect()
    }

    /// A tree: `json` (title, entries, branches) and the columns `first`, `stop`, `offsets`, `lengths` of all baskets, where
    /// each branch has `baskets` = [from, to].
    fn tree<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
        let tree = py.detach(|| self.open_tree(path)).or_raise()?;
        let (mut start, mut branches) = (0, Vec::with_capacity(tree.branches.len()));
        for branch in &tree.branches {
            let mut about = describe(branch);
            about["baskets"] = json!([start, start + branch.baskets.len()]);
            start += branch.baskets.len();
            branches.push(about);
        }
        let text = json!({"title": tree.title, "entries": tree.entries, "branches": branches}).to_string();
        let all = || tree.branches.iter().flat_map(|branch| &branch.baskets);
        let out = PyDict::new(py);
        out.set_item("json", text)?;
        out.set_item("first", PyArray1::from_iter(py, all().map(|b| b.first_entry)))?;
        out.set_item("stop", PyArray1::from_iter(py, all().map(|b| b.end_entry)))?;
        out.set_item("offsets", PyArray1::from_iter(py, all().map(|b| b.offset)))?;
        out.set_item("lengths", PyArray1::from_iter(py, all().map(|b| b.len)))?;
        Ok(out)
    }

    /// The number of elements in each basket of each branch, from the baskets' keys; for a branch with a contradictory
    /// basket, the exception.
    fn elements<'py>(&self, py: Python<'py>, path: &str, branches: Vec<usize>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let counted: Result<Vec<_>> = py.detach(|| {
            let tree = self.open_tree(path)?;
            branches.iter().map(|id| Ok(self.file.elements_of_baskets(branch(&tree, *id)?))).collect()
        });
        let one = |found: Result<Vec<u64>>| match found.or_raise() {
            Ok(counts) => PyArray1::from_vec(py, counts).into_any(),
            Err(error) => error.into_value(py).into_bound(py).into_any(),
        };
        Ok(counted.or_raise()?.into_iter().map(one).collect())
    }

    /// All values of a branch: bytes in native order, and counts of the entries if these vary.
    #[pyo3(signature = (path, number, member=0))]
    fn values<'py>(&self, py: Python<'py>, path: &str, number: usize, member: usize) -> PyResult<Read<'py>> {
        let read = py.detach(|| {
            let tree = self.open_tree(path)?;
            self.file.values(&tree, branch(&tree, number)?, member)
        });
        let read = read.or_raise()?;
        Ok((PyArray1::from_vec(py, read.content), read.counts.map(|counts| PyArray1::from_vec(py, counts))))
    }

    /// An ntuple: `json` (fields, columns, clusters) and the columns `elements`, `offsets`, `lengths`, `checksums` of all pages.
    /// Each column lists per cluster [first element or null, elements, from page, to page].
    fn ntuple<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
        let ntuple = py.detach(|| self.open_ntuple(path)).or_raise()?;
        let out = PyDict::new(py);
        out.set_item("json", py.detach(|| describe_ntuple(&ntuple).to_string()))?;
        let pages = &ntuple.pages;
        out.set_item("elements", PyArray1::from_iter(py, pages.iter().map(|p| p.elements)))?;
        out.set_item("offsets", PyArray1::from_iter(py, pages.iter().map(|p| p.offset)))?;
        out.set_item("lengths", PyArray1::from_iter(py, pages.iter().map(icecore_root::ntuple::Page::stored_len)))?;
        out.set_item("checksums", PyArray1::from_iter(py, pages.iter().map(|p| p.has_checksum)))?;
        Ok(out)
    }

    /// The decoded elements of a column in one cluster.
    fn column<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        cluster: usize,
        column: usize,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let read = py.detach(|| self.open_ntuple(path)?.read_column(self.file.source(), cluster, column));
        Ok(PyArray1::from_vec(py, read.or_raise()?))
    }
}

type Read<'py> = (Bound<'py, PyArray1<u8>>, Option<Bound<'py, PyArray1<u32>>>);

impl RootFile {
    fn open_tree(&self, path: &str) -> Result<Arc<Tree>> {
        known(&self.trees, path, || self.file.tree(self.file.key(path)?))
    }

    fn open_ntuple(&self, path: &str) -> Result<Arc<NTuple>> {
        known(&self.ntuples, path, || self.file.ntuple(self.file.key(path)?))
    }
}

fn known<T>(all: &Known<T>, path: &str, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
    let poisoned = |_| Error::new(ErrorKind::Internal, "a thread that read the file panicked");
    if let Some(found) = all.lock().map_err(poisoned)?.get(path) {
        return Ok(found.clone());
    }
    let made = Arc::new(make()?);
    let poisoned = |_| Error::new(ErrorKind::Internal, "a thread that read the file panicked");
    all.lock().map_err(poisoned)?.insert(path.to_string(), made.clone());
    Ok(made)
}

fn branch(tree: &Tree, number: usize) -> Result<&Branch> {
    let missing = || Error::new(ErrorKind::Invalid, format!("tree {:?} has no branch number {number}", tree.name));
    tree.branches.get(number).ok_or_else(missing)
}

fn describe(branch: &Branch) -> Value {
    let mut out = match &branch.interpretation {
        Interpretation::Flat { dtype, shape } => json!({"kind": "flat", "dtype": dtype.name(), "shape": shape}),
        Interpretation::Record { fields, .. } => {
            let fields: Vec<_> = fields.iter().map(|f| json!([f.name, f.dtype.name(), f.shape])).collect();
            json!({"kind": "record", "fields": fields})
        }
        Interpretation::Jagged { dtype, inner_shape, skip, counter } => {
            json!({"kind": "jagged", "dtype": dtype.name(), "shape": inner_shape, "skip": skip, "counter": counter})
        }
        Interpretation::String { .. } => json!({"kind": "string"}),
        Interpretation::Unsupported(name) => json!({"kind": "unsupported", "type": name}),
        _ => json!({"kind": "group"}),
    };
    out["path"] = json!(branch.path);
    out["title"] = json!(branch.title);
    out["embedded"] = json!(branch.embedded.len());
    out["entries"] = json!(branch.entries);
    if !branch.file_name.is_empty() {
        out["file"] = json!(branch.file_name);
    }
    if let Some(damage) = &branch.damage {
        out["damage"] = json!(damage.message);
    }
    out
}

fn describe_ntuple(ntuple: &NTuple) -> Value {
    let fields: Vec<_> = ntuple
        .fields
        .iter()
        .map(|f| {
            json!({"name": f.name, "type": f.type_name, "description": f.description, "parent": f.parent,
                "role": format!("{:?}", f.role), "repetition": f.repetition, "source": f.source})
        })
        .collect();
    let columns = ntuple.columns.iter().enumerate().map(|(id, column)| {
        let clusters = ntuple.clusters.iter().map(|cluster| match cluster.columns.get(id) {
            Some(listed) => json!([listed.first_element, listed.elements, listed.pages.start, listed.pages.end]),
            None => Value::Null,
        });
        json!({"field": column.field, "type": column.kind.name(), "bits": column.bits, "range": column.range,
            "dtype": column.kind.dtype().map(icecore_root::DType::name), "index": column.kind.is_index(),
            "representation": column.representation, "first": column.first_element,
            "clusters": clusters.collect::<Vec<_>>()})
    });
    let columns: Vec<_> = columns.collect();
    let aliases: Vec<_> = ntuple.aliases.iter().map(|a| json!([a.column, a.field])).collect();
    let clusters: Vec<_> = ntuple.clusters.iter().map(|c| json!([c.first_entry, c.entries])).collect();
    json!({"description": ntuple.description, "entries": ntuple.entries, "fields": fields, "columns": columns,
        "aliases": aliases, "clusters": clusters})
}
