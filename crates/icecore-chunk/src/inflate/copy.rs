//! Copies of matches: repeat earlier output.

/// Maximum length of a match (RFC 1951).
pub(super) const LONGEST: usize = 258;
/// Bytes after a match that [`quickly`] may overwrite.
pub(super) const BEYOND: usize = 24;

/// Copies `length` bytes from `distance` before `at`, where `history` precedes `out`; false if that is too far.
#[cold]
pub(crate) fn exactly(history: &[u8], out: &mut [u8], mut at: usize, mut length: usize, distance: usize) -> bool {
    if let Some(before) = distance.checked_sub(at).filter(|before| *before > 0) {
        let Some(start) = history.len().checked_sub(before) else { return false };
        let part = length.min(before);
        out[at..at + part].copy_from_slice(&history[start..start + part]);
        (at, length) = (at + part, length - part);
    }
    let start = at - distance.min(at);
    if distance == 1 && length > 0 {
        let byte = out[start];
        out[at..at + length].fill(byte);
        return true;
    }
    // Copies what exists already, which doubles each time.
    let mut done = 0;
    while done < length {
        let part = (at + done - start).min(length - done);
        out.copy_within(start..start + part, at + done);
        done += part;
    }
    true
}

/// Copies `length` bytes from `distance` before `at`, in whole words: most matches are short, and a branch on the
/// length would be mispredicted.
///
/// # Safety
/// `distance` is at least 1, `distance` bytes before `at` are readable, and `length` + [`BEYOND`] bytes from `at` are
/// writable.
#[inline(always)]
pub(super) unsafe fn quickly(at: *mut u8, length: usize, distance: usize) {
    // SAFETY: three words end less than 24 bytes behind `length`; none reads what it writes itself, because it begins at
    // least its own length before.
    unsafe {
        let from = at.sub(distance);
        let word = |i: usize| at.add(i).cast::<[u8; 8]>().write(from.add(i).cast::<[u8; 8]>().read());
        let three = |i: usize| [i, i + 8, i + 16].into_iter().for_each(word);
        if distance >= 8 {
            word(0);
            if length <= 8 {
                return;
            }
            word(8);
            let mut done = 16;
            while done < length {
                three(done);
                done += 24;
            }
        } else if distance == 1 {
            at.write_bytes(from.read(), length);
        } else {
            (0..length).for_each(|i| at.add(i).write(from.add(i).read()));
        }
    }
}
