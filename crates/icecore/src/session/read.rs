//! Read the elements of a selection into the caller's memory or new memory.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use icecore_chunk::{DType, VIEW};
use icecore_grid::{Error, ErrorKind, Result, Selection};

use super::{Picks, Session};
use crate::read::{ArrayView, Blobs, Query, Report, Target, read};

/// Elements in C order and native byte order.
#[derive(Clone, Debug)]
pub struct Values {
    pub dtype: DType,
    pub bytes: Vec<u8>,
    /// Blobs that the views of variable-length elements refer to.
    blobs: Vec<Arc<[u8]>>,
}

impl Values {
    /// Elements of fixed length.
    #[must_use]
    pub fn fixed(dtype: DType, bytes: Vec<u8>) -> Self {
        Self { dtype, bytes, blobs: Vec::new() }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size().max(1)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Blobs of variable-length elements.
    #[must_use]
    pub fn blobs(&self) -> &[Arc<[u8]>] {
        &self.blobs
    }

    /// The elements with these indexes, in this order.
    #[must_use]
    pub fn taken(&self, numbers: &[u32]) -> Self {
        let size = self.dtype.size();
        let mut bytes = Vec::with_capacity(numbers.len() * size);
        for number in numbers {
            let at = *number as usize * size;
            bytes.extend_from_slice(self.bytes.get(at..at + size).unwrap_or_default());
        }
        Self { dtype: self.dtype.clone(), bytes, blobs: self.blobs.clone() }
    }

    /// The bytes of a variable-length element, from its view.
    ///
    /// # Errors
    /// `internal` for bytes that are not a view into these values.
    pub fn resolve(&self, view: &[u8]) -> Result<&[u8]> {
        let word =
            |at: usize| view.get(at..).and_then(|v| v.first_chunk::<4>()).map(|w| u32::from_ne_bytes(*w) as usize);
        let bytes = match (word(0), word(4), word(8)) {
            (Some(blob), Some(offset), Some(length)) if view.len() == VIEW => {
                self.blobs.get(blob).and_then(|blob| blob.get(offset..offset.checked_add(length)?))
            }
            _ => None,
        };
        bytes.ok_or_else(|| Error::new(ErrorKind::Internal, "a view of a text points nowhere"))
    }
}

impl Session {
    /// Reads a selection into a buffer, which is resized to fit and may be reused.
    ///
    /// # Errors
    /// `memory` if the selection does not fit into memory; the errors of the read pipeline.
    pub fn read_into(
        &self,
        view: &ArrayView,
        selection: &Selection,
        mut bytes: Vec<u8>,
        cancel: Option<Arc<AtomicBool>>,
    ) -> Result<(Values, Report)> {
        let dtype = view.meta().dtype.clone();
        let needed = selection.out_len().checked_mul(dtype.size() as u64).and_then(|n| usize::try_from(n).ok());
        let too_large = || {
            let message = format!("{}: {} elements do not fit into memory", view.path(), selection.out_len());
            Error::new(ErrorKind::Memory, message).hint("select fewer elements at a time")
        };
        let needed = needed.ok_or_else(too_large)?;
        if needed > bytes.capacity() {
            bytes = Vec::new();
            bytes.try_reserve_exact(needed).map_err(|_| too_large())?;
        }
        bytes.resize(needed, 0);
        let blobs = Blobs::default();
        let query = Query { array: view, selection, target: Target::new(&mut bytes), blobs: &blobs };
        let report = read(&[query], &self.limits().options(cancel))?;
        Ok((Values { dtype, bytes, blobs: blobs.into_vec() }, report))
    }

    /// Reads a selection of an array.
    ///
    /// # Errors
    /// As for [`Session::read_into`].
    pub fn read(&self, view: &ArrayView, picks: &Picks) -> Result<Values> {
        Ok(self.read_into(view, &picks.selection()?, Vec::new(), None)?.0)
    }

    /// Reads an array by path and selection text, as in `session.values("/sst", "[0:10, 3]")`.
    ///
    /// # Errors
    /// `not-found`, `selection`; the errors of a read.
    pub fn values(&self, path: &str, selection: &str) -> Result<Values> {
        let view = self.array(path)?;
        let picks = Picks::parse(selection, &view.meta().shape, &view.meta().dims)?;
        self.read(&view, &picks)
    }
}
