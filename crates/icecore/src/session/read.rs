//! Read the elements of a selection into the caller's memory or new memory.

use std::sync::Arc;

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
    /// Elements that are in memory already; `blobs` hold the texts of variable length.
    #[must_use]
    pub fn new(dtype: DType, bytes: Vec<u8>, blobs: Vec<Arc<[u8]>>) -> Self {
        Self { dtype, bytes, blobs }
    }

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

    /// The elements with these indexes, in this order. Of variable-length elements, only their own bytes are kept.
    ///
    /// # Errors
    /// As for [`Values::resolve`].
    pub fn taken(&self, numbers: &[u32]) -> Result<Self> {
        let size = self.dtype.size();
        let mut bytes = Vec::with_capacity(numbers.len() * size);
        let mut blob: Vec<u8> = Vec::new();
        for number in numbers {
            let at = *number as usize * size;
            let element = self.bytes.get(at..at + size).unwrap_or_default();
            if !self.dtype.is_vlen() {
                bytes.extend_from_slice(element);
                continue;
            }
            let text = self.resolve(element)?;
            let words = [0, blob.len(), text.len()].map(u32::try_from);
            let [Ok(number), Ok(offset), Ok(length)] = words else {
                let error = Error::new(ErrorKind::Memory, "texts of more than 4 GiB");
                return Err(error.hint("select fewer elements at a time"));
            };
            bytes.extend([number, offset, length].iter().flat_map(|word| word.to_ne_bytes()));
            bytes.resize(bytes.len() + VIEW.saturating_sub(12), 0);
            blob.extend_from_slice(text);
        }
        Ok(Self { dtype: self.dtype.clone(), bytes, blobs: vec![Arc::from(blob)] })
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
    /// Reads a selection into a buffer, which is resized to fit and may be reused. The read ends when the thread's work is
    /// cancelled (see [`crate::cancel`]).
    ///
    /// # Errors
    /// `memory` if the selection does not fit into memory; the errors of the read pipeline.
    pub fn read_into(&self, view: &ArrayView, selection: &Selection, mut bytes: Vec<u8>) -> Result<(Values, Report)> {
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
        let report = read(&[query], &self.limits().options())?;
        Ok((Values { dtype, bytes, blobs: blobs.into_vec() }, report))
    }

    /// Reads a selection of an array.
    ///
    /// # Errors
    /// As for [`Session::read_into`].
    pub fn read(&self, view: &ArrayView, picks: &Picks) -> Result<Values> {
        Ok(self.read_into(view, &picks.selection()?, Vec::new())?.0)
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
