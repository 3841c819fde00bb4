//! Prefault large targets: one write per page before decoding starts.
//!
//! The kernel allocates and zeroes a page at its first write. Without prefaulting, two threads that decode neighbouring chunks
//! fault the same huge page at the same time, and the kernel zeroes one for each of them.

use std::ops::Range;

use icecore_grid::Result;

use super::{Query, Target};
use crate::pool::for_each;

/// Smaller targets have few huge pages, if any.
const WORTH: usize = 8 << 20;
/// Unit of work: two huge pages.
const PART: usize = 4 << 20;
/// The smallest page size of any machine.
const PAGE: usize = 4 << 10;

/// Faults in the pages of large targets that are not present. Their contents are lost: the read overwrites all of them.
pub(crate) fn prefault(queries: &[Query<'_>]) -> Result<()> {
    let large = queries.iter().map(|query| &query.target).filter(|t| !t.is_present() && t.bytes() >= WORTH);
    let parts: Vec<(&Target<'_>, Range<usize>)> =
        large.flat_map(|t| split(whole(t), PART).map(move |part| (t, part))).collect();
    for_each(parts.len(), |i| {
        let Some((target, part)) = parts.get(i) else { return Ok(()) };
        let first = target.pointer() as usize;
        for page in split(part.clone(), PAGE) {
            // SAFETY: within the target, which its query uses exclusively; no other part contains this byte.
            unsafe { target.pointer().add(page.start - first).write_volatile(0) };
        }
        Ok(())
    })
}

/// The addresses of a target.
fn whole(target: &Target<'_>) -> Range<usize> {
    let first = target.pointer() as usize;
    first..first + target.bytes()
}

/// Address ranges, divided at multiples of `size`, so that pages of that size are not divided.
fn split(addresses: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = addresses.end;
    let cut = move |at: usize| end.min((at / size + 1) * size);
    let starts = std::iter::successors(Some(addresses.start), move |at| Some(cut(*at)));
    starts.take_while(move |at| *at < end).map(move |at| at..cut(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_one_part() {
        for (start, bytes) in [(16, 3 * PART + 5), (PART, PART), (PART - 1, 2), (PAGE + 7, PAGE), (5, 0)] {
            let pages =
                split(start..start + bytes, PART).flat_map(|part| split(part, PAGE)).map(|page| page.start / PAGE);
            let all = if bytes == 0 { 0..0 } else { start / PAGE..(start + bytes - 1) / PAGE + 1 };
            assert!(pages.eq(all), "{start} {bytes}");
        }
    }
}
