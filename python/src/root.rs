//! ROOT files: contents of trees and ntuples, locations of baskets and pages, and values of branches that can't be
//! linked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use icecore::grid::{Error, ErrorKind, ReadAt, Result};
use icecore_root::ntuple::NTuple;
use icecore_root::{Branch, File, Part, Tree};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;
use crate::remote::Place;
use crate::root_json;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RootFile>()
}

type Known<T> = Mutex<HashMap<String, Arc<T>>>;

/// An open file. Trees and ntuples are parsed on first use.
#[pyclass(frozen, module = "icecore._icecore")]
pub struct RootFile {
    file: File<Box<dyn ReadAt>>,
    trees: Known<Tree>,
    ntuples: Known<NTuple>,
}

#[pymethods]
impl RootFile {
    /// Opens a local path, or an object with `read_at` and `identity`.
    #[new]
    fn new(py: Python<'_>, source: Place) -> PyResult<Self> {
        let file = py.detach(|| File::open(source.open()?)).or_raise()?;
        Ok(Self { file, trees: Mutex::default(), ntuples: Mutex::default() })
    }

    /// (path, cycle, class) of every key.
    fn keys(&self) -> Vec<(String, i16, String)> {
        self.file.keys().iter().map(|key| (key.path.clone(), key.cycle, key.class.clone())).collect()
    }

    /// A tree: `json` (title, entries, branches) and the columns `first`, `stop`, `offsets`, `lengths` of all baskets, where
    /// each branch has `baskets` = [from, to].
    fn tree<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
        let described = || -> Result<_> {
            let tree = self.open_tree(path)?;
            let text = root_json::tree(&tree)?;
            Ok((tree, text))
        };
        let (tree, text) = py.detach(described).or_raise()?;
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

    /// Bytes and lengths of each array of a branch that is decoded entry by entry, in the order of its `parts`.
    fn parts<'py>(&self, py: Python<'py>, path: &str, number: usize) -> PyResult<Vec<PartArrays<'py>>> {
        let read = py.detach(|| {
            let tree = self.open_tree(path)?;
            Ok(self.file.columns(&tree, branch(&tree, number)?)?.parts())
        });
        let arrays = |part: Part| (PyArray1::from_vec(py, part.bytes), PyArray1::from_vec(py, part.lengths));
        Ok(read.or_raise()?.into_iter().map(arrays).collect())
    }

    /// An ntuple: `json` (fields, columns, clusters) and the columns `elements`, `offsets`, `lengths`, `checksums` of all pages.
    /// Each column lists per cluster [first element or null, elements, from page, to page].
    fn ntuple<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
        let described = || -> Result<_> {
            let ntuple = self.open_ntuple(path)?;
            let text = root_json::ntuple(&ntuple)?;
            Ok((ntuple, text))
        };
        let (ntuple, text) = py.detach(described).or_raise()?;
        let out = PyDict::new(py);
        out.set_item("json", text)?;
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

type PartArrays<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u32>>);
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
