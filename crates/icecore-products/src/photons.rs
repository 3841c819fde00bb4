//! Photons of one beam, selected by confidence, quality and class, in the order of the extents.

use icecore_grid::{Error, ErrorKind, Result};

/// Number of surface types in `signal_conf_ph`.
const SURFACES: usize = 5;
/// Fill value of heights, and larger: no measurement.
const FILL: f32 = 3.0e38;
/// Coordinates beyond this (the ground track of an orbit has 4e7 m) are damaged.
const FARTHEST: f64 = 1.0e9;

/// Arrays with one element per photon, in the order of the file.
#[derive(Clone, Copy)]
pub struct Photons<'a> {
    /// Metres along the track from the start of the photon's segment.
    pub along: &'a [f32],
    /// Metres above the ellipsoid.
    pub height: &'a [f32],
    /// Five values per photon.
    pub confidence: &'a [i8],
    pub quality: &'a [i8],
    /// Class of ATL08; None if photons are not selected by it.
    pub class: Option<&'a [i8]>,
}

/// Arrays with one element per segment of about 20 m. The photons of the segments follow each other.
#[derive(Clone, Copy)]
pub struct Segments<'a> {
    pub photons: &'a [u32],
    pub id: &'a [i64],
    /// Metres along the track from the equator.
    pub distance: &'a [f64],
    /// Metres per second.
    pub velocity: &'a [f64],
    /// Background photons per second.
    pub background: &'a [f64],
}

/// Values of a photon that are accepted. Tables are indexed by the value as an unsigned byte.
#[derive(Clone)]
pub struct Accepted {
    /// Surface type whose confidence counts; None for the highest of all.
    pub surface: Option<usize>,
    pub confidence: [bool; 256],
    pub quality: [bool; 256],
    pub class: [bool; 256],
}

/// A selected photon.
#[derive(Clone, Copy)]
pub struct Photon {
    /// Coordinate of the extents: metres along the track, or the segment's id.
    pub at: f64,
    /// Number of the cell of width `step` that holds the coordinate.
    pub cell: f64,
    pub x: f64,
    pub h: f64,
    pub index: usize,
    pub segment: usize,
}

impl Photons<'_> {
    fn check(&self, count: usize) -> Result<()> {
        let lengths = [
            ("dist_ph_along", self.along.len(), count),
            ("h_ph", self.height.len(), count),
            ("signal_conf_ph", self.confidence.len(), count * SURFACES),
            ("quality_ph", self.quality.len(), count),
            ("atl08_class", self.class.map_or(count, <[i8]>::len), count),
        ];
        lengths.iter().try_for_each(|(name, got, expected)| same(name, *got, *expected))
    }

    fn is_accepted(&self, i: usize, accepted: &Accepted) -> bool {
        let of_surfaces = &self.confidence[i * SURFACES..][..SURFACES];
        let confidence = match accepted.surface {
            Some(surface) => of_surfaces[surface.min(SURFACES - 1)],
            None => of_surfaces.iter().copied().max().unwrap_or(i8::MIN),
        };
        accepted.confidence[usize::from(confidence as u8)]
            && accepted.quality[usize::from(self.quality[i] as u8)]
            && self.class.is_none_or(|class| accepted.class[usize::from(class[i] as u8)])
            && self.height[i].is_finite()
            && self.height[i] < FILL
    }
}

impl Segments<'_> {
    /// Checks the lengths and returns the number of photons.
    fn check(&self) -> Result<usize> {
        let count = self.photons.len();
        let (velocity, background) = (self.velocity.len(), self.background.len());
        for (name, got) in [
            ("segment_id", self.id.len()),
            ("segment_dist_x", self.distance.len()),
            ("velocity_sc", velocity),
            ("bckgrd_rate", background),
        ] {
            same(name, got, count)?;
        }
        Ok(self.photons.iter().map(|n| *n as usize).sum())
    }
}

fn same(name: &str, got: usize, expected: usize) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Mismatch, format!("{name}: {got} values (expected {expected})")))
}

/// The accepted photons, ordered by the cell of width `step` of their coordinate, then as in the file.
///
/// # Errors
/// `mismatch` for arrays of different lengths.
pub fn select(
    photons: &Photons<'_>,
    segments: &Segments<'_>,
    others: &[&[f64]],
    accepted: &Accepted,
    in_segments: bool,
    step: f64,
) -> Result<Vec<Photon>> {
    let count = segments.check()?;
    photons.check(count)?;
    others.iter().try_for_each(|other| same("a fitted quantity", other.len(), count))?;
    let mut found = Vec::with_capacity(photons.along.len());
    let mut first = 0;
    for (segment, count) in segments.photons.iter().enumerate() {
        let range = first..first + *count as usize;
        first = range.end;
        for i in range.filter(|i| photons.is_accepted(*i, accepted)) {
            let x = segments.distance[segment] + f64::from(photons.along[i]);
            let at = if in_segments { segments.id[segment] as f64 } else { x };
            if x.abs() < FARTHEST {
                found.push(Photon {
                    at,
                    cell: (at / step).floor(),
                    x,
                    h: f64::from(photons.height[i]),
                    index: i,
                    segment,
                });
            }
        }
    }
    found.sort_by(|a, b| a.cell.total_cmp(&b.cell));
    Ok(found)
}
