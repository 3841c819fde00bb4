//! Data to write.

use icecore_chunk::ArrayMeta;
use icecore_grid::{Error, ErrorKind, Region, Result};

/// Elements to write, C order.
pub enum Data {
    /// Elements of fixed size, native byte order.
    Fixed(Box<dyn AsRef<[u8]> + Send + Sync>),
    /// Variable-length elements: `ends[i]` is the end of element i in the blob.
    Variable { blob: Vec<u8>, ends: Vec<usize> },
}

impl Data {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Fixed(bytes) => (**bytes).as_ref().len(),
            Self::Variable { blob, ends } => blob.len() + ends.len() * 8,
        }
    }

    pub(crate) fn check(&self, path: &str, meta: &ArrayMeta, region: &Region) -> Result<()> {
        let elements = region.shape.iter().try_fold(1u64, |n, s| n.checked_mul(*s)).unwrap_or(u64::MAX);
        let (wanted, got, unit) = match self {
            Self::Fixed(bytes) => {
                (elements.saturating_mul(meta.dtype.size() as u64), (**bytes).as_ref().len() as u64, "bytes")
            }
            Self::Variable { ends, .. } => (elements, ends.len() as u64, "elements"),
        };
        let fits = matches!(self, Self::Variable { .. }) == meta.dtype.is_vlen();
        if !fits || wanted != got {
            let message = format!(
                "{path}: the region {:?} needs {wanted} {unit} of {:?}, {got} are given",
                region.shape, meta.dtype
            );
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        if let Self::Variable { blob, ends } = self
            && (!ends.is_sorted() || ends.last().is_some_and(|e| *e > blob.len()))
        {
            return Err(Error::new(ErrorKind::Invalid, format!("{path}: the ends of the elements are not in order")));
        }
        Ok(())
    }
}
