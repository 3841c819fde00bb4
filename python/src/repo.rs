//! A repository at one snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use icecore::catalog::{self, Snapshot, Storage};
use icecore::read::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::array::Array;
use crate::error::OrRaise;
use crate::interrupt;
use crate::read::{self, Item};
use crate::writer::Writer;

#[pyclass(frozen, module = "icecore._icecore")]
pub struct Repo {
    repo: catalog::Repo,
    snapshot: Snapshot,
    reference: String,
}

impl Repo {
    fn view(&self, path: &str) -> PyResult<Arc<ArrayView>> {
        ArrayView::open(&self.repo, &self.snapshot, path).map(Arc::new).or_raise()
    }

    fn items<'py>(&self, items: &[Bound<'py, PyTuple>], orthogonal: bool) -> PyResult<Vec<Item<'py>>> {
        items
            .iter()
            .map(|item| {
                let view = self.view(&item.get_item(0)?.extract::<String>()?)?;
                let out = item.get_item(2).ok().filter(|o| !o.is_none());
                Item::new(view, &item.get_item(1)?, out, orthogonal)
            })
            .collect()
    }
}

fn storage(url: &str, options: Option<BTreeMap<String, String>>, allow_links: Option<Vec<String>>) -> Storage {
    Storage { url: url.to_owned(), options: options.unwrap_or_default(), allow_links }
}

#[pymethods]
impl Repo {
    #[staticmethod]
    #[pyo3(signature = (url, r#ref=None, storage=None, allow_links=None))]
    fn open(
        py: Python<'_>,
        url: &str,
        r#ref: Option<String>,
        storage: Option<BTreeMap<String, String>>,
        allow_links: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let place = self::storage(url, storage, allow_links);
        py.detach(|| {
            icecore::check_environment()?;
            let repo = catalog::Repo::open(&place)?;
            let snapshot = repo.snapshot(r#ref.as_deref())?;
            Ok(Self { repo, snapshot, reference: r#ref.unwrap_or_else(|| "main".to_owned()) })
        })
        .or_raise()
    }

    #[staticmethod]
    #[pyo3(signature = (url, storage=None))]
    fn create(py: Python<'_>, url: &str, storage: Option<BTreeMap<String, String>>) -> PyResult<Self> {
        let place = self::storage(url, storage, None);
        py.detach(|| {
            icecore::check_environment()?;
            let repo = catalog::Repo::create(&place)?;
            let snapshot = repo.snapshot(None)?;
            Ok(Self { repo, snapshot, reference: "main".to_owned() })
        })
        .or_raise()
    }

    /// The repository with `writer`'s uncommitted changes.
    fn pending(&self, py: Python<'_>, writer: &Writer) -> PyResult<Self> {
        let snapshot = py.detach(|| writer.pending()).or_raise()?;
        Ok(Self { repo: self.repo.clone(), snapshot, reference: self.reference.clone() })
    }

    /// The same repository at another version.
    fn at(&self, py: Python<'_>, r#ref: Option<String>) -> PyResult<Self> {
        let snapshot = py.detach(|| self.repo.snapshot(r#ref.as_deref())).or_raise()?;
        Ok(Self { repo: self.repo.clone(), snapshot, reference: r#ref.unwrap_or_else(|| "main".to_owned()) })
    }

    #[getter]
    fn url(&self) -> String {
        self.repo.url().to_owned()
    }

    #[getter]
    fn r#ref(&self) -> &str {
        &self.reference
    }

    #[getter]
    fn snapshot_id(&self) -> String {
        self.snapshot.id().to_owned()
    }

    #[getter]
    fn link_prefixes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.repo.link_prefixes()).or_raise()
    }

    fn sources(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.snapshot.sources()).or_raise()
    }

    fn references(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        py.detach(|| self.snapshot.references()).or_raise()
    }

    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<(String, bool, String)>> {
        py.detach(|| Ok(self.snapshot.nodes().iter().map(described).collect())).or_raise()
    }

    /// The group or array at a path: (path, whether it is an array, its document); None if there is none.
    fn node(&self, path: &str) -> Option<(String, bool, String)> {
        self.snapshot.node(path).map(described)
    }

    /// The members of a group, sorted by path.
    fn members(&self, path: &str) -> Vec<(String, bool, String)> {
        self.snapshot.members(path).map(described).collect()
    }

    fn array(&self, path: &str) -> PyResult<Array> {
        Ok(Array { view: self.view(path)? })
    }

    #[pyo3(signature = (items, orthogonal=false, options=None))]
    fn read_many<'py>(
        &self,
        py: Python<'py>,
        items: Vec<Bound<'py, PyTuple>>,
        orthogonal: bool,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        read::read(py, &self.items(&items, orthogonal)?, &read::options(options.as_ref())?)
    }

    #[pyo3(signature = (items, orthogonal=false, options=None))]
    fn plan_many<'py>(
        &self,
        py: Python<'py>,
        items: Vec<Bound<'py, PyTuple>>,
        orthogonal: bool,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        read::plan(py, &self.items(&items, orthogonal)?, &read::options(options.as_ref())?)
    }

    #[pyo3(signature = (limit=None))]
    fn log<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let commits = py.detach(|| self.repo.log(Some(self.snapshot.id()), limit)).or_raise()?;
        let list = PyList::empty(py);
        for commit in commits {
            let entry = PyDict::new(py);
            entry.set_item("id", commit.id)?;
            entry.set_item("parent", commit.parent)?;
            entry.set_item("message", commit.message)?;
            entry.set_item("time_us", commit.time_us)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    fn diff<'py>(&self, py: Python<'py>, a: &str, b: &str) -> PyResult<Bound<'py, PyDict>> {
        let (diff, changes) = py
            .detach(|| {
                let diff = self.repo.diff(a, b)?;
                let changes = icecore::changes(&diff, &self.repo.snapshot(Some(b))?)?;
                Ok((diff, changes))
            })
            .or_raise()?;
        let dict = PyDict::new(py);
        let lists = [
            ("new_groups", diff.new_groups),
            ("new_arrays", diff.new_arrays),
            ("deleted_groups", diff.deleted_groups),
            ("deleted_arrays", diff.deleted_arrays),
            ("updated_groups", diff.updated_groups),
            ("updated_arrays", diff.updated_arrays),
        ];
        for (name, paths) in lists {
            dict.set_item(name, paths)?;
        }
        let chunks = PyDict::new(py);
        for change in changes {
            let written = PyDict::new(py);
            written.set_item("chunks", change.chunks)?;
            written.set_item("elements", change.elements)?;
            let boxes: Vec<_> = change.boxes.iter().map(|of| (of.start.clone(), of.end())).collect();
            written.set_item("boxes", boxes)?;
            chunks.set_item(change.path, written)?;
        }
        dict.set_item("chunks", chunks)?;
        Ok(dict)
    }

    fn branches(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        Ok(py.detach(|| self.repo.branches()).or_raise()?.into_iter().collect())
    }

    fn tags(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        Ok(py.detach(|| self.repo.tags()).or_raise()?.into_iter().collect())
    }

    fn create_tag(&self, py: Python<'_>, name: &str, r#ref: &str) -> PyResult<()> {
        py.detach(|| self.repo.create_tag(name, Some(r#ref))).or_raise()
    }

    fn delete_tag(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.repo.delete_tag(name)).or_raise()
    }

    fn create_branch(&self, py: Python<'_>, name: &str, r#ref: &str) -> PyResult<()> {
        py.detach(|| self.repo.create_branch(name, Some(r#ref))).or_raise()
    }

    fn delete_branch(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.repo.delete_branch(name)).or_raise()
    }

    #[pyo3(signature = (older_than_us=None, dry_run=true))]
    fn gc<'py>(&self, py: Python<'py>, older_than_us: Option<i64>, dry_run: bool) -> PyResult<Bound<'py, PyDict>> {
        let report = py.detach(|| self.repo.gc(older_than_us, dry_run)).or_raise()?;
        let dict = PyDict::new(py);
        let counts = [
            ("chunks", report.chunks),
            ("manifests", report.manifests),
            ("snapshots", report.snapshots),
            ("transaction_logs", report.transaction_logs),
            ("remains", report.remains),
        ];
        for (name, count) in counts {
            dict.set_item(name, count)?;
        }
        dict.set_item("objects", counts.iter().map(|(_, count)| count).sum::<u64>())?;
        dict.set_item("bytes", report.bytes)?;
        dict.set_item("failed", report.failed)?;
        dict.set_item("errors", report.errors)?;
        dict.set_item("dry_run", report.dry_run)?;
        Ok(dict)
    }

    /// Deletes the repository from its directory; with `only_if_bare` only if nothing was ever committed.
    fn remove(&self, py: Python<'_>, only_if_bare: bool) -> PyResult<bool> {
        py.detach(|| self.repo.remove(only_if_bare)).or_raise()
    }

    /// Ids of versions without recorded checksums.
    fn unsealed(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.repo.unsealed()).or_raise()
    }

    /// `progress(done, total)` is called from time to time, from any thread; Ctrl-C is handled separately.
    #[pyo3(signature = (deep=false, progress=None, history=false))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        deep: bool,
        progress: Option<Py<PyAny>>,
        history: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let report = |done: u64, total: u64| {
            if let Some(progress) = &progress {
                // An exception in a progress callback must not stop the check.
                let _ = Python::attach(|py| progress.call1(py, (done, total)));
            }
        };
        let depth = icecore::verify::Depth { deep, history };
        let cancel = AtomicBool::new(false);
        let check = || icecore::verify::verify(&self.repo, &self.snapshot, depth, &report, &cancel);
        let problems = interrupt::scoped(py, true, &cancel, check)?.or_raise()?;
        let list = PyList::empty(py);
        for problem in problems {
            let entry = PyDict::new(py);
            entry.set_item("kind", problem.error.kind.code())?;
            entry.set_item("message", problem.error.message)?;
            entry.set_item("hint", problem.error.hint)?;
            entry.set_item("path", problem.path)?;
            entry.set_item("chunk", problem.chunk)?;
            entry.set_item("where", problem.place)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    #[pyo3(signature = (branch="main", memory=None))]
    fn writer(&self, py: Python<'_>, branch: &str, memory: Option<usize>) -> PyResult<Writer> {
        let writer = py.detach(|| self.repo.writer(branch)).or_raise()?;
        Ok(Writer::new(writer, memory))
    }
}

fn described(node: &catalog::Node) -> (String, bool, String) {
    (node.path.clone(), node.is_array, String::from_utf8_lossy(&node.zarr_json).into_owned())
}
