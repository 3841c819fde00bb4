//! Kernels of products: pure functions from arrays of a source to columns of a result.
//!
//! [`atl06`] fits along-track elevations to photons of ICESat-2's ATL03, as SlideRule's ATL06-SR does. Sources: the Algorithm
//! Theoretical Basis Document of ATL06 (Smith et al., NSIDC), sections 5.4, 5.5, 5.7 and 5.9; the documentation of SlideRule.

mod dispersion;
mod extents;
mod fit;
mod line;
mod photons;

pub use extents::{Elevations, Extents, atl06};
pub use fit::{FitSettings, MAX_ITERATIONS_REACHED, OUT_OF_BOUNDS, SPREAD_TOO_SHORT, TOO_FEW_PHOTONS};
pub use photons::{Accepted, Photons, Segments};
