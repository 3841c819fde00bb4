//! Kernels of products.

use icecore_products::{Accepted, Elevations, Extents, FitSettings, Photons, Segments};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(atl06, module)?)
}

/// One element per photon.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PhotonArrays<'py> {
    along: PyReadonlyArray1<'py, f32>,
    height: PyReadonlyArray1<'py, f32>,
    confidence: PyReadonlyArray1<'py, i8>,
    quality: PyReadonlyArray1<'py, i8>,
    r#class: Option<PyReadonlyArray1<'py, i8>>,
}

/// One element per segment.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SegmentArrays<'py> {
    photons: PyReadonlyArray1<'py, u32>,
    id: PyReadonlyArray1<'py, i64>,
    distance: PyReadonlyArray1<'py, f64>,
    velocity: PyReadonlyArray1<'py, f64>,
    background: PyReadonlyArray1<'py, f64>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    surface: Option<usize>,
    confidence: Vec<i8>,
    quality: Vec<i8>,
    classes: Vec<i8>,
    length: f64,
    step: f64,
    in_segments: bool,
    pass_invalid: bool,
    from: f64,
    to: f64,
    max_iterations: u32,
    min_window: f64,
    max_dispersion: f64,
    min_photons: usize,
    min_spread: f64,
}

/// Elevations of the extents of a piece of a beam: a dictionary of columns; `fitted` is a list in the order of `others`.
#[pyfunction]
fn atl06<'py>(
    py: Python<'py>,
    photons: PhotonArrays<'py>,
    segments: SegmentArrays<'py>,
    others: Vec<PyReadonlyArray1<'py, f64>>,
    settings: Settings,
) -> PyResult<Bound<'py, PyDict>> {
    let class = photons.r#class.as_ref().map(|class| class.as_slice()).transpose()?;
    let photons = Photons {
        along: photons.along.as_slice()?,
        height: photons.height.as_slice()?,
        confidence: photons.confidence.as_slice()?,
        quality: photons.quality.as_slice()?,
        class,
    };
    let segments = Segments {
        photons: segments.photons.as_slice()?,
        id: segments.id.as_slice()?,
        distance: segments.distance.as_slice()?,
        velocity: segments.velocity.as_slice()?,
        background: segments.background.as_slice()?,
    };
    let others = others.iter().map(|other| other.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let found = py.detach(|| fitted(&photons, &segments, &others, &settings)).or_raise()?;
    as_dict(py, found)
}

fn fitted(
    photons: &Photons<'_>,
    segments: &Segments<'_>,
    others: &[&[f64]],
    settings: &Settings,
) -> icecore::grid::Result<Elevations> {
    let accepted = Accepted {
        surface: settings.surface,
        confidence: table(&settings.confidence),
        quality: table(&settings.quality),
        class: table(&settings.classes),
    };
    let extents = Extents {
        length: settings.length,
        step: settings.step,
        in_segments: settings.in_segments,
        pass_invalid: settings.pass_invalid,
        from: settings.from,
        to: settings.to,
    };
    let fit = FitSettings {
        max_iterations: settings.max_iterations,
        min_window: settings.min_window,
        max_dispersion: settings.max_dispersion,
        min_photons: settings.min_photons,
        min_spread: settings.min_spread,
    };
    icecore_products::atl06(photons, segments, others, &accepted, &extents, &fit)
}

fn table(values: &[i8]) -> [bool; 256] {
    let mut table = [false; 256];
    values.iter().for_each(|value| table[usize::from(*value as u8)] = true);
    table
}

fn as_dict<'py>(py: Python<'py>, found: Elevations) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("x_atc", PyArray1::from_vec(py, found.x_atc))?;
    dict.set_item("h_mean", PyArray1::from_vec(py, found.h_mean))?;
    dict.set_item("dh_fit_dx", PyArray1::from_vec(py, found.dh_fit_dx))?;
    dict.set_item("window_height", PyArray1::from_vec(py, found.window_height))?;
    dict.set_item("rms_misfit", PyArray1::from_vec(py, found.rms_misfit))?;
    dict.set_item("h_sigma", PyArray1::from_vec(py, found.h_sigma))?;
    dict.set_item("photon_count", PyArray1::from_vec(py, found.photon_count))?;
    dict.set_item("pflags", PyArray1::from_vec(py, found.pflags))?;
    dict.set_item("first", PyArray1::from_vec(py, found.first))?;
    dict.set_item("nearest", PyArray1::from_vec(py, found.nearest))?;
    let fitted: Vec<_> = found.fitted.into_iter().map(|values| PyArray1::from_vec(py, values)).collect();
    dict.set_item("fitted", fitted)?;
    Ok(dict)
}
