//! Required precision of a read, and the byte planes that it needs.

use icecore_chunk::DType;
use icecore_grid::{Error, ErrorKind, Result};

use super::ArrayView;

/// Requested precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Precision {
    /// Exact.
    #[default]
    Exact,
    /// Maximum relative error of a floating-point number.
    Rtol(f64),
    /// Number of most significant bytes of each number.
    Bytes(usize),
}

/// The part of an array's chunks to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Depth {
    /// The first planes of each chunk; `usize::MAX` for everything.
    pub planes: usize,
    /// Maximum relative error of a normal number; 0: exact.
    pub bound: f64,
}

impl Depth {
    const WHOLE: Self = Self { planes: usize::MAX, bound: 0.0 };
}

impl Precision {
    /// Resolves the precision for `view`. Floats that are not stored in byte planes are read exactly.
    ///
    /// # Errors
    /// `unsupported` for elements without a relative error (integers, times, strings), `invalid` for an impossible
    /// request.
    pub fn of(self, view: &ArrayView) -> Result<Depth> {
        let refused = |kind, what: String, hint: &str| Err(Error::new(kind, what).hint(hint));
        let asked = match self {
            Self::Exact => return Ok(Depth::WHOLE),
            Self::Rtol(rtol) if !(rtol >= 0.0 && rtol.is_finite()) => {
                let what = format!("a relative tolerance of {rtol}");
                return refused(ErrorKind::Invalid, what, "give a number from 0 (exact) up, such as 0.001");
            }
            Self::Bytes(0) => {
                return refused(ErrorKind::Invalid, "no bytes of each number".into(), "give at least 1");
            }
            Self::Rtol(rtol) => format!("rtol={rtol}"),
            Self::Bytes(bytes) => format!("bytes={bytes}"),
        };
        if !is_float(&view.meta().dtype) {
            let what = format!("{}: {asked} of elements of type {}", view.path(), view.meta().dtype.to_json());
            return refused(
                ErrorKind::Unsupported,
                what,
                "only floating-point arrays support reduced precision: remove it",
            );
        }
        if let Self::Bytes(bytes) = self
            && bytes > width(&view.meta().dtype)
        {
            let (dtype, width) = (&view.meta().dtype, width(&view.meta().dtype));
            let parts = if width < dtype.size() { " in each of its two parts" } else { "" };
            let (path, dtype) = (view.path(), dtype.to_json());
            let what = format!("{bytes} bytes of each number of {path}, whose type {dtype} has {width}{parts}");
            return refused(ErrorKind::Invalid, what, "give fewer bytes, or remove it to read all of them");
        }
        let Some(planes) = view.meta().chain.planes() else { return Ok(Depth::WHOLE) };
        let count = match self {
            Self::Rtol(rtol) => planes.for_rtol(rtol),
            Self::Bytes(bytes) => planes.for_bytes(bytes),
            Self::Exact => planes.count(),
        };
        Ok(if count == planes.count() { Depth::WHOLE } else { Depth { planes: count, bound: planes.bound(count) } })
    }
}

/// Bytes of a number; of each part of a complex number.
fn width(dtype: &DType) -> usize {
    if matches!(dtype, DType::Complex64 | DType::Complex128) { dtype.size() / 2 } else { dtype.size() }
}

fn is_float(dtype: &DType) -> bool {
    use DType::{Complex64, Complex128, Float16, Float32, Float64};
    matches!(dtype, Float16 | Float32 | Float64 | Complex64 | Complex128)
}
