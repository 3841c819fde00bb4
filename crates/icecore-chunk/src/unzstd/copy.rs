//! Copies in whole words.

/// Bytes after a copy that may be overwritten.
pub(super) const BEYOND: usize = 16;

/// # Safety
/// 16 bytes must be readable at the source and writable at the destination.
#[inline(always)]
pub(super) unsafe fn word(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe { to.cast::<[u8; 16]>().write(from.cast::<[u8; 16]>().read()) }
}

/// Copies ranges that do not overlap, or whose source begins at least 16 bytes before the destination.
///
/// # Safety
/// `length` + [`BEYOND`] bytes must be readable and writable.
#[inline(always)]
pub(super) unsafe fn forward(from: *const u8, to: *mut u8, length: usize) {
    let mut done = 0;
    while done < length {
        // SAFETY: as the caller says.
        unsafe { word(from.add(done), to.add(done)) };
        done += 16;
    }
}

/// Copies `length` bytes from `distance` before `at`.
///
/// # Safety
/// `distance` is at least 1, `distance` bytes before `at` are readable, and `length` + [`BEYOND`] bytes from `at` are
/// writable.
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

/// Copies 16 bytes from any `distance` before `at`: a shuffle derives the bytes that do not exist yet from those that
/// do.
///
/// # Safety
/// `distance` is at least 1, `distance` bytes before `at` are readable, and 16 bytes from `at` are writable.
#[inline(always)]
pub(super) unsafe fn near(at: *mut u8, distance: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as the caller says, and where this is called the processor has the instruction. A row has 16 bytes.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128};
        let there = _mm_loadu_si128(at.sub(distance).cast());
        let order = _mm_load_si128(ORDERS.0.as_ptr().add(distance.min(16)).cast::<__m128i>());
        _mm_storeu_si128(at.cast(), _mm_shuffle_epi8(there, order));
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as the caller says.
    unsafe {
        repeat(at, 16, distance);
    }
}

/// For each distance, the shuffle: source index of each of the 16 bytes.
#[cfg(target_arch = "x86_64")]
#[repr(align(16))]
struct Orders([[u8; 16]; 17]);

#[cfg(target_arch = "x86_64")]
static ORDERS: Orders = {
    let mut rows = [[0; 16]; 17];
    let mut distance = 1;
    while distance <= 16 {
        let mut i = 0;
        while i < 16 {
            rows[distance][i] = (i % distance) as u8;
            i += 1;
        }
        distance += 1;
    }
    Orders(rows)
};
