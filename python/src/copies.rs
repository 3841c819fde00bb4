//! Clone a repository, bring a copy up to date, and mend a repository from a copy.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use icecore::catalog::{self, CopyReport, Copying, Scope, Storage};
use icecore::grid::Result;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;
use crate::interrupt;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(clone_repository, module)?)?;
    module.add_function(wrap_pyfunction!(pull_repository, module)?)?;
    module.add_function(wrap_pyfunction!(repair_repository, module)?)
}

type Place = (String, BTreeMap<String, String>, Option<Vec<String>>);

fn open(place: Place) -> Result<catalog::Repo> {
    icecore::check_environment()?;
    catalog::Repo::open(&storage(place))
}

fn storage((url, options, allow_links): Place) -> Storage {
    Storage { url, options, allow_links }
}

/// Calls `progress(done, total)` from time to time, from any thread.
fn reporting(progress: &Option<Py<PyAny>>) -> impl Fn(u64, u64) + Sync {
    move |done, total| {
        if let Some(progress) = progress {
            // An exception in a progress callback must not stop the work.
            let _ = Python::attach(|py| progress.call1(py, (done, total)));
        }
    }
}

fn copied(py: Python<'_>, report: CopyReport) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("source", report.source)?;
    dict.set_item("versions", report.versions)?;
    dict.set_item("chunks", report.chunks)?;
    dict.set_item("present", report.present)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("links", report.links)?;
    Ok(dict)
}

/// Places are (URL, options, allowed links).
#[pyfunction]
#[pyo3(signature = (source, target, r#ref, group, shallow, pack_links, progress))]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
fn clone_repository<'py>(
    py: Python<'py>,
    source: Place,
    target: Place,
    r#ref: Option<String>,
    group: Option<String>,
    shallow: bool,
    pack_links: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scope = Scope { reference: r#ref, is_shallow: shallow, group, packs_links: pack_links };
    let (cancel, target) = (AtomicBool::new(false), storage(target));
    let work = || {
        let source = open(source)?;
        let read_links = |links: &[catalog::Link]| icecore::read_links(&source, links);
        let copying = Copying { progress: &reporting(&progress), cancel: &cancel, read_links: &read_links };
        source.clone_to(&target, &scope, &copying)
    };
    copied(py, interrupt::scoped(py, true, &cancel, work)?.or_raise()?)
}

/// Without a `source` the copy is brought up to date with the one that it records; its options come from `options`.
#[pyfunction]
#[pyo3(signature = (copy, source, options, progress))]
fn pull_repository<'py>(
    py: Python<'py>,
    copy: Place,
    source: Option<String>,
    options: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let repo = py.detach(|| open(copy)).or_raise()?;
    let source = match source {
        Some(url) => url,
        None => py.detach(|| repo.cloned_from()).or_raise()?,
    };
    let source: Place = options.call1(py, (source,))?.extract(py)?;
    let cancel = AtomicBool::new(false);
    let work = || {
        let source = open(source)?;
        let read_links = |links: &[catalog::Link]| icecore::read_links(&source, links);
        let copying = Copying { progress: &reporting(&progress), cancel: &cancel, read_links: &read_links };
        repo.pull(&source, &copying)
    };
    copied(py, interrupt::scoped(py, true, &cancel, work)?.or_raise()?)
}

#[pyfunction]
#[pyo3(signature = (repo, copy, trust_copy, progress))]
fn repair_repository<'py>(
    py: Python<'py>,
    repo: Place,
    copy: Place,
    trust_copy: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let cancel = AtomicBool::new(false);
    let work = || icecore::repair(&open(repo)?, &open(copy)?, trust_copy, &reporting(&progress), &cancel);
    let done = interrupt::scoped(py, true, &cancel, work)?.or_raise()?;
    let dict = PyDict::new(py);
    dict.set_item("objects", done.objects)?;
    dict.set_item("bytes", done.bytes)?;
    dict.set_item("mended", done.mended)?;
    dict.set_item("lost", done.lost)?;
    dict.set_item("missing_in_copy", done.missing_in_copy)?;
    dict.set_item("undecided", done.suspects.into_iter().map(|suspect| suspect.name).collect::<Vec<_>>())?;
    Ok(dict)
}
