//! Iterative fit of a line to the photons of one extent (ATBD, sections 5.5 and 5.7).

use crate::dispersion::robust;
use crate::line::Line;

/// Bits of `pflags`, as SlideRule numbers them.
pub const SPREAD_TOO_SHORT: u16 = 1;
pub const TOO_FEW_PHOTONS: u16 = 2;
pub const MAX_ITERATIONS_REACHED: u16 = 4;
pub const OUT_OF_BOUNDS: u16 = 8;

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;
/// Pulses per second.
const PULSES: f64 = 10_000.0;
/// Standard deviation of the footprint (m) and of the transmitted pulse (s).
const SIGMA_BEAM: f64 = 4.25;
const SIGMA_XMIT: f64 = 0.68e-9;
/// Window in standard deviations, and the part of a window that the next one has at least.
const WINDOW_SIGMAS: f64 = 6.0;
const WINDOW_SHRINK: f64 = 0.75;

/// Parameters of the fit.
#[derive(Clone, Copy, Debug)]
pub struct FitSettings {
    /// Largest number of iterations (`fit.maxi`).
    pub max_iterations: u32,
    /// Smallest window, m (`fit.H_min_win`).
    pub min_window: f64,
    /// Largest robust dispersion, m (`fit.sigma_r_max`).
    pub max_dispersion: f64,
    /// Least number of photons (`cnt`) and their least extension along the track, m (`ats`).
    pub min_photons: usize,
    pub min_spread: f64,
}

/// Result of one fit. The points that remain are those of [`Points`].
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    pub line: Line,
    pub window: f64,
    pub rms: f64,
    pub flags: u16,
}

/// Points of an extent: distance from its centre (m), height (m), number of the photon. The fit removes points.
#[derive(Default)]
pub struct Points {
    pub x: Vec<f64>,
    pub h: Vec<f64>,
    pub index: Vec<usize>,
    residuals: Vec<f64>,
    sorted: Vec<f64>,
}

/// Background photons per metre of height in an extent of `length` metres.
pub fn background_density(length: f64, velocity: f64, rate: f64) -> f64 {
    let density = length * PULSES / velocity * rate / (LIGHT / 2.0);
    if density.is_finite() { density.max(0.0) } else { 0.0 }
}

impl Points {
    pub fn clear(&mut self) {
        self.x.clear();
        self.h.clear();
        self.index.clear();
    }

    pub fn push(&mut self, x: f64, h: f64, index: usize) {
        self.x.push(x);
        self.h.push(h);
        self.index.push(index);
    }

    /// Flags of points that are too few or too close together for a fit.
    pub fn check(&self, settings: &FitSettings) -> u16 {
        let short = if spread(self.x.iter().copied()) < settings.min_spread { SPREAD_TOO_SHORT } else { 0 };
        let few = if self.x.len() < settings.min_photons { TOO_FEW_PHOTONS } else { 0 };
        short | few
    }

    /// Fits a line, and removes points outside a window around it until no point is removed. Needs a point.
    pub fn fit(&mut self, density: f64, settings: &FitSettings) -> Fit {
        let (mut window, mut flags, mut iteration) = (0.0, 0, 0);
        loop {
            let line = self.residuals();
            let (low, high) = if iteration == 0 { self.ends() } else { (-window / 2.0, window / 2.0) };
            let sigma = robust(&self.sorted, low, high, density).unwrap_or_else(|| {
                flags |= OUT_OF_BOUNDS;
                0.0
            });
            window = next_window(window, sigma, line.slope, settings);
            let inside = |r: f64| r.abs() < window / 2.0;
            let left = self.residuals.iter().filter(|r| inside(**r)).count();
            let kept = self.x.iter().zip(&self.residuals).filter(|(_, r)| inside(**r));
            let is_last = if left < settings.min_photons {
                flags |= TOO_FEW_PHOTONS;
                true
            } else if spread(kept.map(|(x, _)| *x)) < settings.min_spread {
                flags |= SPREAD_TOO_SHORT;
                true
            } else {
                iteration += 1;
                let is_done = left == self.x.len();
                flags |= if !is_done && iteration >= settings.max_iterations { MAX_ITERATIONS_REACHED } else { 0 };
                is_done || iteration >= settings.max_iterations
            };
            if is_last {
                let squares: f64 = self.residuals.iter().map(|r| r * r).sum();
                return Fit { line, window, rms: (squares / self.x.len() as f64).sqrt(), flags };
            }
            self.retain(window / 2.0);
        }
    }

    /// Fits a line to the points and computes the residuals, in order and sorted.
    fn residuals(&mut self) -> Line {
        let line = Line::fit(&self.x, &self.h);
        self.residuals.clear();
        self.residuals.extend(self.x.iter().zip(&self.h).map(|(x, h)| h - (line.height + line.slope * x)));
        self.sorted.clone_from(&self.residuals);
        self.sorted.sort_unstable_by(f64::total_cmp);
        line
    }

    fn ends(&self) -> (f64, f64) {
        (self.sorted.first().copied().unwrap_or(0.0), self.sorted.last().copied().unwrap_or(0.0))
    }

    fn retain(&mut self, most: f64) {
        let mut kept = 0;
        for i in 0..self.x.len() {
            if self.residuals[i].abs() < most {
                self.x[kept] = self.x[i];
                self.h[kept] = self.h[i];
                self.index[kept] = self.index[i];
                kept += 1;
            }
        }
        self.x.truncate(kept);
        self.h.truncate(kept);
        self.index.truncate(kept);
    }
}

fn next_window(before: f64, sigma: f64, slope: f64, settings: &FitSettings) -> f64 {
    let pulse = LIGHT / 2.0 * SIGMA_XMIT;
    let expected = (pulse * pulse + (SIGMA_BEAM * slope).powi(2)).sqrt();
    let sigma = sigma.min(settings.max_dispersion);
    let window = settings.min_window.max(WINDOW_SIGMAS * expected).max(WINDOW_SIGMAS * sigma);
    window.max(WINDOW_SHRINK * before)
}

fn spread(x: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = x.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    high - low
}
