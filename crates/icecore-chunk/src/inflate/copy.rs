//! Repeats what came before.

/// The longest repetition (RFC 1951).
pub(super) const LONGEST: usize = 258;
/// Bytes behind it that [`quickly`] may write too.
pub(super) const BEYOND: usize = 32;

/// Repeats `length` bytes from `distance` before `at`, where `history` ends in front of `out`; false where that is too far.
#[cold]
pub(super) fn exactly(history: &[u8], out: &mut [u8], mut at: usize, mut length: usize, distance: usize) -> bool {
    if let Some(before) = distance.checked_sub(at).filter(|before| *before > 0) {
        let Some(start) = history.len().checked_sub(before) else { return false };
        let part = length.min(before);
        out[at..at + part].copy_from_slice(&history[start..start + part]);
        (at, length) = (at + part, length - part);
    }
    if distance >= length {
        out.copy_within(at - distance.min(at)..at - distance.min(at) + length, at);
    } else {
        (at..at + length).for_each(|i| out[i] = out[i - distance]);
    }
    true
}

/// Repeats `length` bytes from `distance` before `at`, many at once.
///
/// # Safety
/// There are `distance` bytes in front of `at`, 1 at least, and `length` and [`BEYOND`] ones from there on may be written.
#[inline(always)]
pub(super) unsafe fn quickly(at: *mut u8, length: usize, distance: usize) {
    // SAFETY: blocks of 16 and 8 bytes end at most 32 bytes behind `length`; none reads what it writes itself, because it
    // begins at least its own length before.
    unsafe {
        let from = at.sub(distance);
        let block = |i: usize| at.add(i).cast::<[u8; 16]>().write(from.add(i).cast::<[u8; 16]>().read());
        if distance >= 16 {
            block(0);
            block(16);
            let mut done = 32;
            while done < length {
                block(done);
                block(done + 16);
                done += 32;
            }
        } else if distance == 1 {
            at.write_bytes(from.read(), length);
        } else if distance >= 8 {
            let mut done = 0;
            while done < length {
                at.add(done).cast::<[u8; 8]>().write(from.add(done).cast::<[u8; 8]>().read());
                done += 8;
            }
        } else {
            (0..length).for_each(|i| at.add(i).write(from.add(i).read()));
        }
    }
}
