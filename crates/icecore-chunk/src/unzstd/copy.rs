//! Copies that write whole words.

/// Bytes behind a copy that may be written too.
pub(super) const BEYOND: usize = 16;

/// # Safety
/// 16 bytes may be read, and written.
#[inline(always)]
pub(super) unsafe fn word(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe { to.cast::<[u8; 16]>().write(from.cast::<[u8; 16]>().read()) }
}

/// Copies what does not overlap, or begins 16 bytes before at least.
///
/// # Safety
/// `length` and [`BEYOND`] bytes may be read, and written.
#[inline(always)]
pub(super) unsafe fn forward(from: *const u8, to: *mut u8, length: usize) {
    let mut done = 0;
    while done < length {
        // SAFETY: as the caller says.
        unsafe { word(from.add(done), to.add(done)) };
        done += 16;
    }
}

/// Repeats `length` bytes from `distance` before `at`.
///
/// # Safety
/// There are `distance` bytes in front of `at`, 1 at least, and `length` and [`BEYOND`] ones from there on may be written.
#[inline(always)]
pub(super) unsafe fn repeat(at: *mut u8, length: usize, distance: usize) {
    // SAFETY: as the caller says; what was repeated can be read from farther away.
    unsafe {
        match distance {
            16.. => forward(at.sub(distance), at, length),
            1 => at.write_bytes(at.sub(1).read(), length),
            _ => {
                let many = 16usize.div_ceil(distance) * distance;
                let first = length.min(many - distance);
                (0..first).for_each(|i| at.add(i).write(at.sub(distance).add(i).read()));
                if first < length {
                    forward(at.add(first).sub(many), at.add(first), length - first);
                }
            }
        }
    }
}
