//! Numbering of keys.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use icecore_grid::{Error, ErrorKind, Result};

use crate::pool::for_each;

/// Marks a key without a number.
pub(super) const NONE: u32 = u32::MAX;
/// Rows per unit of work.
const PIECE: usize = 1 << 14;

/// The number of the next key after `len` keys.
///
/// # Errors
/// `unsupported` for more than 2³² keys.
pub(super) fn next(keys: usize) -> Result<u32> {
    u32::try_from(keys).ok().filter(|key| *key != NONE).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "there are more than 2³² keys")
            .hint("reduce fewer rows, or by fewer columns")
    })
}

/// The numbers of the keys of `rows` rows, [`NONE`] for unknown keys: `find` runs on all cores.
pub(super) fn known(rows: usize, find: impl Fn(Range<usize>, &mut [u32]) + Sync) -> Result<Vec<u32>> {
    let mut codes = vec![NONE; rows];
    let pieces: Vec<Mutex<&mut [u32]>> = codes.chunks_mut(PIECE).map(Mutex::new).collect();
    for_each(pieces.len(), |i| {
        if let Some(piece) = pieces.get(i) {
            let mut codes = piece.lock().unwrap_or_else(PoisonError::into_inner);
            let start = i * PIECE;
            find(start..start + codes.len(), &mut codes);
        }
        Ok(())
    })?;
    drop(pieces);
    Ok(codes)
}
