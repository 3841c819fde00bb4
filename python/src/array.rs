//! An array of one snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use icecore::catalog::{Location, Place};
use icecore::grid::{Axis, ChunkGrid};
use icecore::read::ArrayView;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::OrRaise;
use crate::read::{self, Item, numpy_dtype};

/// Chunk lengths of a grid, and the flat indexes of some chunks.
type Chunks<'py> = (Vec<u64>, Bound<'py, PyArray1<u64>>);

/// Size, modification time and ETag of a file when it was linked.
type Known = (u64, i64, Option<String>);
/// Linked files; and per chunk the number of its file, its flat index, offset and length.
type LinkColumns<'py> = (
    Vec<(String, Option<Known>)>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
);

#[pyclass(frozen, module = "icecore._icecore")]
pub struct Array {
    pub view: Arc<ArrayView>,
}

#[pymethods]
impl Array {
    #[getter]
    fn path(&self) -> &str {
        self.view.path()
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.view.meta().shape)
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype(py, &self.view.meta().dtype)
    }

    /// The decoded unit: a tuple of ints, or of lists of lengths if they differ.
    #[getter]
    fn chunks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        lengths(py, self.view.grid())
    }

    /// The stored unit; None if the array has no shards.
    #[getter]
    fn shards<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.view.meta().shard.as_ref().map(|_| lengths(py, &self.view.meta().grid)).transpose()
    }

    /// Bytes per element.
    #[getter]
    fn fill(&self) -> &[u8] {
        &self.view.meta().fill
    }

    #[pyo3(signature = (sel=None, out=None, orthogonal=false, options=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        sel: Option<Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyAny>>,
        orthogonal: bool,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sel = sel.unwrap_or_else(|| py.None().into_bound(py));
        let item = Item::new(Arc::clone(&self.view), &sel, out, orthogonal)?;
        let mut read = read::read(py, &[item], &read::options(options.as_ref())?)?;
        Ok(read.pop().unwrap_or_else(|| py.None().into_bound(py)))
    }

    #[pyo3(signature = (sel=None, orthogonal=false, options=None))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        sel: Option<Bound<'py, PyAny>>,
        orthogonal: bool,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sel = sel.unwrap_or_else(|| py.None().into_bound(py));
        let item = Item::new(Arc::clone(&self.view), &sel, None, orthogonal)?;
        read::plan(py, &[item], &read::options(options.as_ref())?)
    }

    /// Maximum relative error of a read with these options; 0 for an exact read.
    #[pyo3(signature = (options=None))]
    fn bound(&self, options: Option<Bound<'_, PyDict>>) -> PyResult<f64> {
        Ok(read::options(options.as_ref())?.precision.of(&self.view).or_raise()?.bound)
    }

    /// The regular grid of the references, and the flat indexes of the existing chunks (or shards); None if the grid is
    /// not regular.
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Option<Chunks<'py>>> {
        let axes = self.view.meta().grid.axes.iter().map(|axis| match axis {
            Axis::Regular { chunk, .. } => Some(*chunk),
            Axis::Rectilinear { .. } => None,
        });
        let Some(unit) = axes.collect::<Option<Vec<u64>>>() else { return Ok(None) };
        let table = py.detach(|| self.view.table().map(Arc::clone)).or_raise()?;
        let there = table.iter().filter(|(_, place)| !matches!(place, Place::Missing)).map(|(flat, _)| flat);
        Ok(Some((unit, PyArray1::from_iter(py, there))))
    }

    /// The references to linked files as columns: URLs with the size, modification time (ns; -1: unknown) and ETag that each
    /// had when it was linked (None where that was not recorded), and for each linked chunk the number of its URL, its flat
    /// index, offset and length.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<LinkColumns<'py>> {
        let table = py.detach(|| self.view.table().map(Arc::clone)).or_raise()?;
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut files: Vec<(String, Option<Known>)> = Vec::new();
        let [mut chunks, mut offsets, mut lengths] = [const { Vec::<u64>::new() }; 3];
        let mut ids: Vec<u32> = Vec::new();
        for (flat, place) in table.iter() {
            let Place::Range { object, offset, length } = place else { continue };
            let Some(Location::Link(url)) = table.objects.get(object as usize).map(|o| &o.location) else { continue };
            let id = match numbers.get(url.as_str()) {
                Some(id) => *id,
                None => {
                    let known = self.view.snapshot().source_identity(url).or_raise()?;
                    files.push((url.clone(), known.map(|was| (was.size, was.mtime_ns, was.etag))));
                    let id = files.len() as u32 - 1;
                    numbers.insert(url, id);
                    id
                }
            };
            ids.push(id);
            chunks.push(flat);
            offsets.push(offset);
            lengths.push(length);
        }
        let [chunks, offsets, lengths] = [chunks, offsets, lengths].map(|column| PyArray1::from_vec(py, column));
        Ok((files, PyArray1::from_vec(py, ids), chunks, offsets, lengths))
    }

    /// The byte ranges of chunks in the repository's objects: rows of offset and length by object. Arrays may share ranges.
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = py.detach(|| self.view.table().map(Arc::clone)).or_raise()?;
        let mut ranges: BTreeMap<&str, Vec<[u64; 2]>> = BTreeMap::new();
        for (_, place) in table.iter() {
            if let Place::Range { object, offset, length } = place
                && let Some(Location::Native(name)) = table.objects.get(object as usize).map(|o| &o.location)
            {
                ranges.entry(name).or_default().push([offset, length]);
            }
        }
        let dict = PyDict::new(py);
        for (name, rows) in ranges {
            dict.set_item(name, PyArray1::from_vec(py, rows.into_flattened()))?;
        }
        Ok(dict)
    }

    /// Where the bytes are: counts of references by kind, bytes stored, and each linked file with its chunks and bytes.
    fn storage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (table, cells) =
            py.detach(|| Ok((Arc::clone(self.view.table()?), self.view.meta().grid.len()?))).or_raise()?;
        let (mut inline, mut native, mut linked, mut stored) = (0u64, 0u64, 0u64, 0u64);
        let mut urls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (_, place) in table.iter() {
            match place {
                Place::Missing => {}
                Place::Inline(bytes) => (inline, stored) = (inline + 1, stored + bytes.len() as u64),
                Place::Range { object, length, .. } => {
                    stored += length;
                    match table.objects.get(object as usize).map(|o| &o.location) {
                        Some(Location::Link(url)) => {
                            linked += 1;
                            let entry = urls.entry(url).or_default();
                            *entry = (entry.0 + 1, entry.1 + length);
                        }
                        _ => native += 1,
                    }
                }
            }
        }
        let dict = PyDict::new(py);
        let counts = [
            ("cells", cells),
            ("references", inline + native + linked),
            ("missing", cells.saturating_sub(inline + native + linked)),
            ("inline", inline),
            ("native", native),
            ("linked", linked),
            ("bytes_stored", stored),
        ];
        for (name, value) in counts {
            dict.set_item(name, value)?;
        }
        let files = PyDict::new(py);
        for (url, counts) in urls {
            files.set_item(url, counts)?;
        }
        dict.set_item("urls", files)?;
        Ok(dict)
    }
}

fn lengths<'py>(py: Python<'py>, grid: &ChunkGrid) -> PyResult<Bound<'py, PyTuple>> {
    let axes = grid.axes.iter().map(|axis| {
        Ok(match axis {
            Axis::Regular { chunk, .. } => chunk.into_pyobject(py)?.into_any(),
            Axis::Rectilinear { bounds, .. } => {
                let lengths: Vec<u64> = bounds.windows(2).map(|w| w[1] - w[0]).collect();
                lengths.into_pyobject(py)?.into_any()
            }
        })
    });
    PyTuple::new(py, axes.collect::<PyResult<Vec<_>>>()?)
}
