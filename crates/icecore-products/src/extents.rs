//! Extents of fixed length along the track, and the elevations fitted in them.
//!
//! Extent `k` covers the coordinates from `k * step` up to, not including, `k * step + length`. The grid starts at the equator
//! crossing, so that an extent does not depend on the polygon, on the order of photons or on how a beam is cut into pieces.

use icecore_grid::{Error, ErrorKind, Result};

use crate::fit::{Fit, FitSettings, Points, background_density};
use crate::photons::{Accepted, Photon, Photons, Segments, select};

/// Nominal length of a segment, m.
const SEGMENT: f64 = 20.0;

/// The grid of extents and the part of it that is computed.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    /// In metres, or in segments.
    pub length: f64,
    pub step: f64,
    pub in_segments: bool,
    /// Also return extents with too few photons, or too close together, before the fit.
    pub pass_invalid: bool,
    /// Only extents that start in this range of coordinates.
    pub from: f64,
    pub to: f64,
}

/// Columns of the result, one element per extent.
#[derive(Default, Debug)]
pub struct Elevations {
    pub x_atc: Vec<f64>,
    pub h_mean: Vec<f64>,
    pub dh_fit_dx: Vec<f32>,
    pub window_height: Vec<f32>,
    pub rms_misfit: Vec<f32>,
    pub h_sigma: Vec<f32>,
    pub photon_count: Vec<u32>,
    pub pflags: Vec<u16>,
    /// Positions of the first photon of the extent, and of the photon of the fit that is nearest to its centre.
    pub first: Vec<i64>,
    pub nearest: Vec<i64>,
    /// Quantities that were fitted with the weights of the heights, in their order.
    pub fitted: Vec<Vec<f64>>,
}

/// Fits an elevation in each extent that has accepted photons.
///
/// `others` are quantities of the photons: their fitted value at the centre is returned. Values must not jump: unwrap angles.
///
/// # Errors
/// `mismatch` for arrays of different lengths, `invalid` for extents without a length or a step.
pub fn atl06(
    photons: &Photons<'_>,
    segments: &Segments<'_>,
    others: &[&[f64]],
    accepted: &Accepted,
    extents: &Extents,
    settings: &FitSettings,
) -> Result<Elevations> {
    if !(extents.length > 0.0 && extents.step > 0.0) {
        let message = format!("extents of length {} every {}", extents.length, extents.step);
        return Err(Error::new(ErrorKind::Invalid, message).hint("give positive numbers"));
    }
    let selected = select(photons, segments, others, accepted, extents.in_segments, extents.step)?;
    let mut found = Elevations { fitted: vec![Vec::new(); others.len()], ..Elevations::default() };
    let mut work = Points::default();
    let mut values = Vec::new();
    let (mut first, mut k) = (0, f64::NEG_INFINITY);
    loop {
        // Photons before the extent are not needed again.
        while selected.get(first).is_some_and(|p| p.cell < k) {
            first += 1;
        }
        let Some(next) = selected.get(first) else { break };
        // Skip extents that end before the next photon.
        k = k.max(((next.at - extents.length) / extents.step).floor());
        let start = k * extents.step;
        if start >= extents.to {
            break;
        }
        if start >= extents.from {
            let within = inside(selected.get(first..).unwrap_or_default(), start, extents);
            if let Some(extent) = Extent::of(within, start, segments, extents, &mut work) {
                extent.elevation(others, &mut work, extents, settings, &mut values, &mut found);
            }
        }
        k += 1.0;
    }
    Ok(found)
}

/// The photons of an extent; they are in the cells from its start on.
fn inside<'a>(from: &'a [Photon], start: f64, extents: &Extents) -> impl Iterator<Item = &'a Photon> + Clone + use<'a> {
    let end = start + extents.length;
    let last = (end / extents.step).floor();
    from.iter().take_while(move |p| p.cell <= last).filter(move |p| p.at >= start && p.at < end)
}

/// An extent that has photons.
struct Extent {
    center: f64,
    first: usize,
    density: f64,
}

impl Extent {
    fn of<'a>(
        photons: impl Iterator<Item = &'a Photon> + Clone,
        start: f64,
        segments: &Segments<'_>,
        extents: &Extents,
        work: &mut Points,
    ) -> Option<Self> {
        let first = photons.clone().min_by_key(|p| p.index)?;
        let middle = start + extents.length / 2.0;
        let (center, length) = if extents.in_segments {
            // The start of a segment is known exactly; the middle lies a whole or half number of segments from it.
            let near = photons.clone().min_by(|a, b| (a.at - middle).abs().total_cmp(&(b.at - middle).abs()))?;
            let from = segments.distance.get(near.segment)?;
            (from + (middle - near.at) * SEGMENT, extents.length * SEGMENT)
        } else {
            (middle, extents.length)
        };
        work.clear();
        photons.for_each(|p| work.push(p.x - center, p.h, p.index));
        let of_first = |values: &[f64]| values.get(first.segment).copied().unwrap_or(0.0);
        let density = background_density(length, of_first(segments.velocity), of_first(segments.background));
        Some(Self { center, first: first.index, density })
    }

    fn elevation(
        &self,
        others: &[&[f64]],
        work: &mut Points,
        extents: &Extents,
        settings: &FitSettings,
        values: &mut Vec<f64>,
        found: &mut Elevations,
    ) {
        let invalid = work.check(settings);
        if invalid != 0 && !extents.pass_invalid {
            return;
        }
        let Fit { line, window, rms, flags } = work.fit(self.density, settings);
        for (column, other) in found.fitted.iter_mut().zip(others) {
            // Relative to one of them, so that rounding does not grow with the size of the values.
            let base = work.index.first().and_then(|i| other.get(*i)).copied().unwrap_or(0.0);
            values.clear();
            values.extend(work.index.iter().filter_map(|i| other.get(*i)).map(|value| value - base));
            column.push(base + line.at_zero(&work.x, values));
        }
        let nearest = work.x.iter().zip(&work.index).min_by(|a, b| a.0.abs().total_cmp(&b.0.abs()).then(a.1.cmp(b.1)));
        found.x_atc.push(self.center);
        found.h_mean.push(line.height);
        found.dh_fit_dx.push(line.slope as f32);
        found.window_height.push(window as f32);
        found.rms_misfit.push(rms as f32);
        found.h_sigma.push((rms * line.sigma()) as f32);
        found.photon_count.push(work.x.len() as u32);
        found.pflags.push(flags | invalid);
        found.first.push(self.first as i64);
        found.nearest.push(nearest.map_or(-1, |(_, index)| *index as i64));
    }
}
