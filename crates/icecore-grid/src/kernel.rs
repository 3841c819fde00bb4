//! The copy kernel: runs executed over raw memory. The only unsafe file of the crate.
//!
//! Strides and offsets were checked when the runs were built (all positions are inside the chunk and the output), so
//! the arithmetic here wraps instead of checking: it sits in the innermost loops.

use crate::run::{Run, Scatter};
use std::marker::PhantomData;

/// Prefetch distance in units: a cache miss on the output takes longer than the copy of one unit.
const AHEAD: isize = 6;
/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
/// Units longer than this need no prefetch: the processor's own prefetcher follows them.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 2048;

/// Source, output and the sizes that convert element offsets to bytes.
pub(crate) struct Job<'a> {
    /// Innermost first.
    pub runs: &'a [Run],
    /// C-order strides of the chunk, in elements; used by scattered runs.
    pub strides: &'a [u64],
    pub itemsize: usize,
}

/// Operation at each position, on a unit of bytes.
trait Mover {
    /// False if the operation does not read the source; its pointer then stays where it is.
    const READS: bool;

    /// # Safety
    /// A unit must be readable at `src` (if `READS`) and writable at `dst`, and the two must not overlap.
    unsafe fn put(&self, src: *const u8, dst: *mut u8);

    /// Prefetches `dst` for a later write. Any address is allowed.
    #[inline(always)]
    fn ask(&self, _dst: *mut u8) {}
}

/// A unit of one machine word, copied with one load and one store.
struct Word<T>(PhantomData<T>);

impl<T: Copy> Mover for Word<T> {
    const READS: bool = true;

    #[inline(always)]
    unsafe fn put(&self, src: *const u8, dst: *mut u8) {
        // SAFETY: the caller vouches for size_of::<T>() bytes on both sides; alignment is not assumed.
        unsafe { dst.cast::<T>().write_unaligned(src.cast::<T>().read_unaligned()) }
    }
}

/// A unit of any other length.
struct Block(usize);

impl Mover for Block {
    const READS: bool = true;

    #[inline(always)]
    unsafe fn put(&self, src: *const u8, dst: *mut u8) {
        // SAFETY: the caller vouches for `self.0` bytes on both sides, apart from each other.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, self.0) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn ask(&self, dst: *mut u8) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        if (LINE..=LONG).contains(&self.0) {
            for at in (0..self.0 + LINE).step_by(LINE) {
                // SAFETY: it only fills caches and never faults; every x86-64 processor has it.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(dst.wrapping_add(at).cast()) };
            }
        }
    }
}

/// One value written over a unit of `len` bytes, a multiple of its own length.
struct Splat<'a> {
    value: &'a [u8],
    len: usize,
    /// The repeated byte of the value if all its bytes are equal (zero, in most cases).
    byte: Option<u8>,
}

impl Mover for Splat<'_> {
    const READS: bool = false;

    unsafe fn put(&self, _: *const u8, dst: *mut u8) {
        // SAFETY: all writes are within `len` bytes of `dst`, which the caller vouches for; each copy doubles what
        // is already written, from before `done` to after it.
        unsafe {
            if let Some(byte) = self.byte {
                return dst.write_bytes(byte, self.len);
            }
            std::ptr::copy_nonoverlapping(self.value.as_ptr(), dst, self.value.len().min(self.len));
            let mut done = self.value.len();
            while done < self.len {
                let more = done.min(self.len - done);
                std::ptr::copy_nonoverlapping(dst, dst.add(done), more);
                done += more;
            }
        }
    }
}

impl<'a> Job<'a> {
    /// Splits the runs into the innermost contiguous bytes and the loops around them.
    fn unit(&self, reads: bool) -> (usize, &'a [Run]) {
        match self.runs {
            [Run::Step { n, src, dst: 1 }, outer @ ..] if *src == 1 || !reads => {
                ((*n as usize).wrapping_mul(self.itemsize), outer)
            }
            runs => (self.itemsize, runs),
        }
    }

    /// # Safety
    /// With `src` and `dst` at the job's first element: every element that the runs reach must be readable from the
    /// source and writable in the output, and the two must not overlap.
    pub unsafe fn copy(&self, src: *const u8, dst: *mut u8) {
        let (unit, runs) = self.unit(true);
        // SAFETY: a unit is one element or an innermost contiguous run; the caller vouches for all of them.
        unsafe {
            match unit {
                1 => self.walk(&Word::<u8>(PhantomData), runs, src, dst),
                2 => self.walk(&Word::<u16>(PhantomData), runs, src, dst),
                4 => self.walk(&Word::<u32>(PhantomData), runs, src, dst),
                8 => self.walk(&Word::<u64>(PhantomData), runs, src, dst),
                16 => self.walk(&Word::<u128>(PhantomData), runs, src, dst),
                _ => self.walk(&Block(unit), runs, src, dst),
            }
        }
    }

    /// Writes `value` (of `itemsize` bytes) to every element of the output that the runs reach.
    ///
    /// # Safety
    /// With `dst` at the job's first element, every element that the runs reach must be writable.
    pub unsafe fn fill(&self, value: &[u8], dst: *mut u8) {
        let (len, runs) = self.unit(false);
        let byte = value.first().copied().filter(|first| value.iter().all(|byte| byte == first));
        // SAFETY: as in `copy`; nothing is read through the source pointer.
        unsafe { self.walk(&Splat { value, len, byte }, runs, std::ptr::null(), dst) }
    }

    /// # Safety
    /// As `copy`, for the loops in `runs` and the unit of `mover`.
    unsafe fn walk<M: Mover>(&self, mover: &M, runs: &[Run], src: *const u8, dst: *mut u8) {
        match runs {
            // SAFETY: the caller vouches for every position that the runs reach.
            [] => unsafe { mover.put(src, dst) },
            [inner @ .., Run::Step { n, src: src_step, dst: dst_step }] => {
                let src_step = if M::READS { self.bytes(*src_step as isize) } else { 0 };
                // SAFETY: as above.
                unsafe { self.step(mover, inner, *n, (src, src_step), (dst, self.bytes(*dst_step as isize))) }
            }
            // SAFETY: as above.
            [inner @ .., Run::Scatter { table, lo, n }] => unsafe {
                self.scatter(mover, inner, (table, *lo, *n), src, dst);
            },
        }
    }

    #[inline(always)]
    fn bytes(&self, elements: isize) -> isize {
        elements.wrapping_mul(self.itemsize as isize)
    }

    /// # Safety
    /// As `walk`.
    #[inline]
    unsafe fn step<M: Mover>(&self, mover: &M, inner: &[Run], n: u64, src: (*const u8, isize), dst: (*mut u8, isize)) {
        let ((mut from, src_step), (mut to, dst_step)) = (src, dst);
        // After the last element the pointers may be outside the buffers, where they are not dereferenced: hence
        // `wrapping_add`.
        for _ in 0..n {
            if inner.is_empty() {
                mover.ask(to.wrapping_offset(dst_step.wrapping_mul(AHEAD)));
            }
            // SAFETY: the caller vouches for n positions at these distances.
            unsafe { if inner.is_empty() { mover.put(from, to) } else { self.walk(mover, inner, from, to) } }
            from = from.wrapping_offset(src_step);
            to = to.wrapping_offset(dst_step);
        }
    }

    /// # Safety
    /// As `walk`.
    #[inline]
    unsafe fn scatter<M: Mover>(
        &self,
        mover: &M,
        inner: &[Run],
        (table, lo, n): (&Scatter, usize, usize),
        src: *const u8,
        dst: *mut u8,
    ) {
        let k = table.axes.len();
        let index = table.index[lo * k..(lo + n) * k].chunks_exact(k);
        for (index, &to) in index.zip(&table.dst[lo..lo + n]) {
            let from = if M::READS { self.source(&table.axes, index) } else { 0 };
            let (from, to) =
                (src.wrapping_offset(self.bytes(from as isize)), dst.wrapping_offset(self.bytes(to as isize)));
            // SAFETY: the caller vouches for every entry of the window.
            unsafe { if inner.is_empty() { mover.put(from, to) } else { self.walk(mover, inner, from, to) } }
        }
    }

    #[inline(always)]
    fn source(&self, axes: &[usize], index: &[u64]) -> u64 {
        axes.iter().zip(index).fold(0, |sum, (&axis, &at)| sum.wrapping_add(at.wrapping_mul(self.strides[axis])))
    }
}
