//! Planted surfaces: the fit finds height and slope, whatever the noise, the order of photons and the cut into pieces.
#![allow(clippy::unwrap_used)]

use icecore_products::{Accepted, Elevations, Extents, FitSettings, Photons, Segments, TOO_FEW_PHOTONS, atl06};

const FIT: FitSettings =
    FitSettings { max_iterations: 5, min_window: 3.0, max_dispersion: 5.0, min_photons: 10, min_spread: 20.0 };
const GRID: Extents = Extents {
    length: 40.0,
    step: 20.0,
    in_segments: false,
    pass_invalid: false,
    from: f64::NEG_INFINITY,
    to: f64::INFINITY,
};

#[derive(Clone)]
struct Beam {
    along: Vec<f32>,
    height: Vec<f32>,
    confidence: Vec<i8>,
    quality: Vec<i8>,
    counts: Vec<u32>,
    distance: Vec<f64>,
    first_id: i64,
}

impl Beam {
    /// `segments` segments of `each` signal photons on `h = 100 + 0.05 x`, with `noise` background photons within ±15 m.
    fn planted(segments: usize, each: usize, noise: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let count = segments * (each + noise);
        let mut beam = Self {
            along: Vec::new(),
            height: Vec::new(),
            confidence: vec![4; count * 5],
            quality: vec![0; count],
            counts: vec![(each + noise) as u32; segments],
            distance: (0..segments).map(|s| 1000.0 + 20.0 * s as f64).collect(),
            first_id: 50,
        };
        for s in 0..segments {
            for i in 0..each + noise {
                let along = random.f64() * 20.0;
                let x = 1000.0 + 20.0 * s as f64 + along;
                let off = if i < each { (random.f64() - 0.5) * 0.4 } else { (random.f64() - 0.5) * 30.0 };
                beam.along.push(along as f32);
                beam.height.push((100.0 + 0.05 * (x - 1000.0) + off) as f32);
            }
        }
        beam
    }

    fn fit(&self, grid: Extents, accepted: &Accepted) -> Elevations {
        let n = self.counts.len();
        let photons = Photons {
            along: &self.along,
            height: &self.height,
            confidence: &self.confidence,
            quality: &self.quality,
            class: None,
        };
        let id: Vec<i64> = (0..n as i64).map(|i| self.first_id + i).collect();
        let segments = Segments {
            photons: &self.counts,
            id: &id,
            distance: &self.distance,
            velocity: &vec![7000.0; n],
            background: &vec![0.0; n],
        };
        atl06(&photons, &segments, &[], accepted, &grid, &FIT).unwrap()
    }
}

fn all() -> Accepted {
    Accepted { surface: Some(3), confidence: [true; 256], quality: [true; 256], class: [true; 256] }
}

#[test]
fn height_and_slope_are_found_in_noise() {
    for (noise, within) in [(0, 0.03), (20, 0.05)] {
        let found = Beam::planted(50, 100, noise).fit(GRID, &all());
        // The two extents that reach over the ends have photons along less than 20 m.
        assert_eq!(found.x_atc.len(), 49);
        for (x, h) in found.x_atc.iter().zip(&found.h_mean) {
            assert!((h - (100.0 + 0.05 * (x - 1000.0))).abs() < within, "{h} at {x}");
        }
        assert!(found.dh_fit_dx.iter().all(|slope| (slope - 0.05).abs() < 0.01));
        assert!(found.window_height.iter().all(|window| *window < 10.0));
    }
}

#[test]
fn the_order_of_photons_in_a_segment_does_not_matter() {
    let beam = Beam::planted(20, 50, 5);
    let mut turned = beam.clone();
    for segment in turned.along.chunks_mut(55) {
        segment.reverse();
    }
    for segment in turned.height.chunks_mut(55) {
        segment.reverse();
    }
    let (a, b) = (beam.fit(GRID, &all()), turned.fit(GRID, &all()));
    assert_eq!(a.photon_count, b.photon_count);
    assert!(a.h_mean.iter().zip(&b.h_mean).all(|(a, b)| (a - b).abs() < 1e-9));
}

#[test]
fn pieces_give_what_the_whole_gives() {
    let beam = Beam::planted(40, 60, 3);
    let whole = beam.fit(GRID, &all());
    let before = beam.fit(Extents { to: 1400.0, ..GRID }, &all());
    let behind = beam.fit(Extents { from: 1400.0, ..GRID }, &all());
    assert_eq!(whole.h_mean, [before.h_mean, behind.h_mean].concat());
}

#[test]
fn segments_as_extents() {
    let grid = Extents { length: 2.0, step: 1.0, in_segments: true, ..GRID };
    let found = Beam::planted(10, 60, 0).fit(grid, &all());
    let middle: Vec<f64> = (1..10).map(|i| 1000.0 + 20.0 * f64::from(i)).collect();
    assert_eq!(found.x_atc, middle);
    assert_eq!(found.photon_count, [120; 9]);
}

#[test]
fn values_that_are_not_accepted_are_left_out() {
    let mut beam = Beam::planted(10, 60, 0);
    beam.quality[..300].fill(2);
    let mut accepted = all();
    accepted.quality = std::array::from_fn(|q| q == 0);
    let found = beam.fit(GRID, &accepted);
    assert!(found.x_atc.iter().all(|x| *x >= 1100.0));
    assert_eq!(beam.fit(Extents { pass_invalid: true, ..GRID }, &all()).x_atc.len(), 11);
    accepted.confidence = [false; 256];
    assert!(beam.fit(GRID, &accepted).x_atc.is_empty());
}

#[test]
fn too_few_photons_are_flagged_or_left_out() {
    let beam = Beam::planted(10, 3, 0);
    assert!(beam.fit(GRID, &all()).x_atc.is_empty());
    let found = beam.fit(Extents { pass_invalid: true, ..GRID }, &all());
    assert_eq!(found.x_atc.len(), 11);
    assert!(found.pflags.iter().all(|flags| flags & TOO_FEW_PHOTONS != 0));
}

#[test]
fn fill_values_and_damaged_distances_are_left_out() {
    let mut beam = Beam::planted(10, 60, 0);
    beam.height[7] = f32::MAX;
    beam.height[8] = f32::NAN;
    beam.distance[5] = 1e300;
    beam.distance[6] = f64::NAN;
    let found = beam.fit(GRID, &all());
    assert!(found.h_mean.iter().all(|h| (h - 105.0).abs() < 10.0));
    assert_eq!(found.photon_count[0], 118);
}

#[test]
fn arrays_of_other_lengths_are_errors() {
    let photons = Photons { along: &[0.0], height: &[1.0], confidence: &[4; 4], quality: &[0], class: None };
    let segments = Segments { photons: &[1], id: &[1], distance: &[0.0], velocity: &[1.0], background: &[0.0] };
    let error = atl06(&photons, &segments, &[], &all(), &GRID, &FIT).unwrap_err();
    assert!(error.message.contains("signal_conf_ph: 4 values (expected 5)"), "{error}");
    let photons = Photons { confidence: &[4; 5], ..photons };
    assert!(atl06(&photons, &segments, &[&[]], &all(), &GRID, &FIT).is_err());
    assert!(atl06(&photons, &segments, &[], &all(), &Extents { step: 0.0, ..GRID }, &FIT).is_err());
}
