//! Byte order: the `bytes` codec's big-endian data to native order and back, in place.

use std::ops::Range;

use crate::dtype::DType;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["bytes", "endian"];

/// Conversion of an array's elements between byte orders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Swap {
    /// Stored order is native order.
    None,
    /// Every element consists of units of this many bytes.
    Uniform(usize),
    /// Structured elements: the (unit, count) pairs of one element.
    Fields { units: Vec<(usize, usize)>, itemsize: usize },
}

impl Swap {
    /// The conversion for `dtype`.
    pub fn of(dtype: &DType) -> Swap {
        let units = dtype.swap_units();
        match units.first() {
            None => Swap::None,
            Some((first, _)) if units.iter().all(|(unit, _)| unit == first) => match first {
                1 => Swap::None,
                _ => Swap::Uniform(*first),
            },
            Some(_) => Swap::Fields { units, itemsize: dtype.size() },
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Swap::None
    }

    /// Swaps all elements that overlap `wanted`.
    pub fn apply(&self, bytes: &mut [u8], wanted: Range<usize>) {
        let unit = match self {
            Swap::None => return,
            Swap::Uniform(unit) => *unit,
            Swap::Fields { itemsize, .. } => *itemsize,
        };
        let lo = wanted.start / unit * unit;
        let hi = wanted.end.div_ceil(unit).saturating_mul(unit).min(bytes.len());
        let Some(bytes) = bytes.get_mut(lo..hi) else { return };
        match self {
            Swap::Fields { units, itemsize } => swap_fields(bytes, units, *itemsize),
            _ => swap_uniform(bytes, unit),
        }
    }
}

fn swap_fields(bytes: &mut [u8], units: &[(usize, usize)], itemsize: usize) {
    for element in bytes.chunks_exact_mut(itemsize) {
        let mut at = 0;
        for (unit, count) in units {
            for _ in 0..*count {
                element[at..at + unit].reverse();
                at += unit;
            }
        }
    }
}

/// Reverses the bytes of each unit of this many bytes.
pub fn swap_uniform(bytes: &mut [u8], unit: usize) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { swap_avx2(bytes, unit) };
    }
    swap_plain(bytes, unit);
}

/// The same code, compiled for AVX2: the compiler turns the loops into byte shuffles.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn swap_avx2(bytes: &mut [u8], unit: usize) {
    swap_plain(bytes, unit);
}

#[inline(always)]
fn swap_plain(bytes: &mut [u8], unit: usize) {
    match unit {
        2 => {
            bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|c| *c = u16::from_ne_bytes(*c).swap_bytes().to_ne_bytes())
        }
        4 => {
            bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|c| *c = u32::from_ne_bytes(*c).swap_bytes().to_ne_bytes())
        }
        8 => {
            bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|c| *c = u64::from_ne_bytes(*c).swap_bytes().to_ne_bytes())
        }
        _ => bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
    }
}
