//! Queries of a read and their targets.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use icecore_chunk::DType;
use icecore_grid::{Error, ErrorKind, Result, Selection};

use super::ArrayView;

/// Memory that a read writes to: C order, the shape of the selection.
///
/// Threads write disjoint elements concurrently, so it is a pointer and not a slice.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    start: *mut u8,
    bytes: usize,
    present: bool,
    borrow: PhantomData<&'a mut [u8]>,
}

// SAFETY: a target has exclusive access to its memory, and the pipeline's threads write disjoint parts of it.
unsafe impl Send for Target<'_> {}
// SAFETY: as for `Send`; through a shared target, threads write disjoint parts only.
unsafe impl Sync for Target<'_> {}

impl<'a> Target<'a> {
    /// A target that is a whole buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { start: buffer.as_mut_ptr(), bytes: buffer.len(), present: false, borrow: PhantomData }
    }

    /// # Safety
    /// `start..start + bytes` must be writable and must not be accessed otherwise during `'a`.
    pub unsafe fn from_raw(start: *mut u8, bytes: usize) -> Self {
        Self { start, bytes, present: false, borrow: PhantomData }
    }

    /// A target without memory, for plans that are not executed.
    pub fn none() -> Self {
        Self { start: std::ptr::NonNull::dangling().as_ptr(), bytes: 0, present: false, borrow: PhantomData }
    }

    /// Marks the memory as used before: its pages exist and need no prefault.
    pub fn present(self) -> Self {
        Self { present: true, ..self }
    }

    pub(crate) fn is_present(&self) -> bool {
        self.present
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Decoded chunks of variable-length elements; the views in the target point into them.
#[derive(Default)]
pub struct Blobs(Mutex<Vec<Arc<[u8]>>>);

impl Blobs {
    /// Stores a decoded chunk and returns its number.
    pub(crate) fn keep(&self, blob: Arc<[u8]>) -> Result<u32> {
        let mut blobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = u32::try_from(blobs.len())
            .map_err(|_| Error::new(ErrorKind::Memory, "more than 2³² chunks of strings in one read"))?;
        blobs.push(blob);
        Ok(number)
    }

    /// The blobs in order of their numbers.
    pub fn into_vec(self) -> Vec<Arc<[u8]>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One array, a selection of it, and a target.
pub struct Query<'a> {
    pub array: &'a ArrayView,
    pub selection: &'a Selection,
    pub target: Target<'a>,
    /// Blobs of variable-length elements; unused for other types.
    pub blobs: &'a Blobs,
}

impl Query<'_> {
    pub(crate) fn itemsize(&self) -> usize {
        self.dtype().size()
    }

    pub(crate) fn dtype(&self) -> &DType {
        &self.array.meta().dtype
    }

    /// Required size of the target in bytes.
    pub fn bytes(&self) -> Result<usize> {
        let bytes = self.selection.out_len().checked_mul(self.itemsize() as u64);
        bytes.and_then(|b| usize::try_from(b).ok()).ok_or_else(|| {
            Error::new(
                ErrorKind::Memory,
                format!(
                    "{}: the selection has {} elements, more than memory can hold",
                    self.array.path(),
                    self.selection.out_len()
                ),
            )
        })
    }
}
