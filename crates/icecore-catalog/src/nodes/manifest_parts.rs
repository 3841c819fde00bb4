//! Parts of an array's references: which manifests a commit keeps, and which it writes again.
//!
//! A commit that wrote all references of an array again would cost as much as the array is long. Manifests divide the first
//! axis, along which arrays grow, so most of them are kept. Small ones at the end are merged into larger ones, as in a
//! log-structured merge tree: n appends leave about log n manifests, and each reference is written about log n times.

use std::ops::Range;

use icechunk::format::manifest::{ManifestExtents, ManifestRef, Overlap};

/// Bytes of a manifest that is not merged any more: loaded with one short request.
pub(crate) const SEALED: u64 = 160 << 10;
/// Manifests of similar size that are merged into one.
const SIMILAR: usize = 8;
/// Bytes of references that a commit may write again at the end of its arrays, in total, to keep manifests few.
const REWRITTEN: u64 = 3 << 10;
/// Bytes of a stored reference beside inline data: most of it is compressed.
const REFERENCE: u64 = 10;

/// The manifests of an array, by what a commit does with them.
#[derive(Debug, PartialEq)]
pub(crate) struct Parts {
    pub kept: Vec<ManifestRef>,
    /// Their references are written again, unless they changed.
    pub again: Vec<ManifestRef>,
}

/// Divides an array's manifests.
///
/// `whole` is the array's chunk grid, `changed` are the indexes along the first axis of all changed chunks, sorted, which
/// take `fresh` bytes, `stored` returns the bytes of the array's references in a manifest, and `arrays` is the number of
/// changed arrays of the commit.
pub(crate) fn divide(
    manifests: &[ManifestRef],
    whole: &ManifestExtents,
    (changed, fresh): (&[u32], u64),
    stored: impl Fn(&ManifestRef) -> u64,
    arrays: usize,
) -> Parts {
    let mut sorted: Vec<(Range<u32>, &ManifestRef)> =
        manifests.iter().filter_map(|manifest| Some((manifest.extents.iter().next()?.clone(), manifest))).collect();
    sorted.sort_by_key(|(rows, _)| rows.start);
    let is_divided = sorted.len() == manifests.len() && sorted.is_sorted_by(|(a, _), (b, _)| a.end <= b.start);
    if !is_divided {
        return Parts { kept: Vec::new(), again: manifests.to_vec() };
    }
    let is_kept = |rows: &Range<u32>, manifest: &ManifestRef| {
        let next = changed.partition_point(|row| *row < rows.start);
        manifest.extents.overlap_with(whole) == Overlap::Complete
            && changed.get(next).is_none_or(|row| *row >= rows.end)
    };
    let (kept, again): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|(rows, manifest)| is_kept(rows, manifest));
    let end = kept.last().map_or(0, |(rows, _)| rows.end);
    let is_append = changed.first().is_some_and(|row| *row >= end);
    let fresh = fresh + again.iter().map(|(_, manifest)| stored(manifest)).sum::<u64>();
    let sizes: Vec<u64> = kept.iter().map(|(_, manifest)| stored(manifest)).collect();
    let merged = if is_append { merged(&sizes, fresh, REWRITTEN / arrays.max(1) as u64, SEALED) } else { 0 };
    let refs = |list: &[(Range<u32>, &ManifestRef)]| list.iter().map(|(_, manifest)| (*manifest).clone()).collect();
    let (kept, last) = kept.split_at(kept.len() - merged);
    Parts { kept: refs(kept), again: [refs(&again) as Vec<_>, refs(last)].concat() }
}

/// The number of parts at the end, of these sizes, that are written again together with new ones of size `fresh`: those
/// smaller than `least`, and several of similar size; none from `most` on.
pub(crate) fn merged(sizes: &[u64], fresh: u64, least: u64, most: u64) -> usize {
    let (mut merged, mut sum, mut largest) = (0, fresh, fresh);
    for (nth, size) in sizes.iter().rev().enumerate().take_while(|(_, size)| **size < most) {
        sum += size;
        largest = largest.max(*size);
        let are_similar = nth + 2 >= SIMILAR && sum >= 4 * largest;
        if sum < least || are_similar {
            merged = nth + 1;
        }
    }
    merged
}

/// An estimate of the stored bytes of references with `inline` bytes of data.
pub(crate) fn weight(count: usize, inline: usize) -> u64 {
    REFERENCE * count as u64 + inline as u64
}

/// The bytes of one array's references in a manifest of `bytes` that holds `count` references of all its arrays.
pub(crate) fn share(extents: &ManifestExtents, count: u64, bytes: u64) -> u64 {
    let own = volume(extents).min(count.max(1));
    bytes.saturating_mul(own) / count.max(1)
}

/// The number of chunks in a box: an upper bound of the references of one array in a manifest.
fn volume(extents: &ManifestExtents) -> u64 {
    extents.iter().map(|range| u64::from(range.end.saturating_sub(range.start))).product()
}

/// Divides sorted references (their indexes along the first axis, and their bytes) into runs for a manifest each. A run
/// neither takes more than [`SEALED`] bytes, unless one index does, nor reaches over a kept manifest.
pub(crate) fn runs(references: &[(u32, u64)], kept: &[ManifestRef]) -> Vec<Range<usize>> {
    let mut borders: Vec<u32> =
        kept.iter().filter_map(|manifest| Some(manifest.extents.iter().next()?.start)).collect();
    borders.sort_unstable();
    let side = |row: u32| borders.partition_point(|border| *border <= row);
    let (mut found, mut run, mut taken) = (Vec::<Range<usize>>::new(), 0..0, 0);
    for row in references.chunk_by(|(a, _), (b, _)| a == b) {
        let bytes = row.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let is_over = |last: &(u32, u64)| row.first().is_some_and(|(next, _)| side(last.0) != side(*next));
        let last = references.get(run.start..run.end).and_then(<[_]>::last);
        if last.is_some_and(|last| taken + bytes > SEALED || is_over(last)) {
            found.push(run.clone());
            (run, taken) = (run.end..run.end, 0);
        }
        run.end += row.len();
        taken += bytes;
    }
    if !run.is_empty() {
        found.push(run);
    }
    found
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use icechunk::format::ManifestId;

    use super::*;

    fn manifest(rows: Range<u32>) -> ManifestRef {
        ManifestRef { object_id: ManifestId::random(), extents: ManifestExtents::from_ranges_iter([rows, 0..2]) }
    }

    fn rows(manifests: &[ManifestRef]) -> Vec<Range<u32>> {
        manifests.iter().map(|manifest| manifest.extents.iter().next().unwrap().clone()).collect()
    }

    fn whole(length: u32) -> ManifestExtents {
        ManifestExtents::from_ranges_iter([0..length, 0..2])
    }

    fn stored(manifest: &ManifestRef) -> u64 {
        weight(volume(&manifest.extents) as usize, 0)
    }

    #[test]
    fn only_manifests_with_changed_rows_are_written_again() {
        let manifests = [manifest(0..9_000), manifest(9_000..18_000), manifest(20_000..29_000)];
        let parts = |changed: &[u32], length| {
            let parts = divide(&manifests, &whole(length), (changed, 10), stored, 1);
            (rows(&parts.kept), rows(&parts.again))
        };
        assert_eq!(parts(&[29_000], 29_001), (vec![0..9_000, 9_000..18_000, 20_000..29_000], vec![]));
        assert_eq!(parts(&[5], 29_000), (vec![9_000..18_000, 20_000..29_000], vec![0..9_000]));
        assert_eq!(parts(&[19_000], 29_000).1, []);
        assert_eq!(parts(&[], 10_000), (vec![0..9_000], vec![9_000..18_000, 20_000..29_000]));
        let overlapping = [manifest(0..9), manifest(5..12)];
        assert_eq!(divide(&overlapping, &whole(13), (&[12], 10), stored, 1).kept, []);
    }

    #[test]
    fn n_appends_leave_few_manifests_and_write_each_reference_a_few_times() {
        for (arrays, step, appends) in [(1, 1, 70_000), (60, 1, 20_000), (1, 300, 2_000), (1, 20_000, 10)] {
            let (mut manifests, mut written, mut most) = (Vec::<ManifestRef>::new(), 0u64, 0);
            for append in 0..appends {
                let (from, to) = (append * step, (append + 1) * step);
                let changed: Vec<u32> = (from..to).flat_map(|row| [row, row]).collect();
                let parts = divide(&manifests, &whole(to), (&changed, weight(changed.len(), 0)), stored, arrays);
                let first = rows(&parts.again).iter().map(|rows| rows.start).min().unwrap_or(from);
                let sorted: Vec<(u32, u64)> =
                    (first..to).flat_map(|row| [(row, REFERENCE), (row, REFERENCE)]).collect();
                manifests = parts.kept;
                for run in runs(&sorted, &manifests) {
                    assert!(run.len() as u64 * REFERENCE <= SEALED);
                    manifests.push(manifest(sorted[run.start].0..sorted[run.end - 1].0 + 1));
                }
                written += sorted.len() as u64;
                most = most.max(manifests.len());
            }
            let all = u64::from(appends * step * 2);
            let extents = rows(&manifests);
            assert!(extents.is_sorted_by(|a, b| a.end == b.start), "{extents:?}");
            assert!(most as u64 <= 40 + 3 * REFERENCE * all / SEALED, "{arrays} {step}: {most} manifests");
            let rewritten = 6 * all + u64::from(appends) * REWRITTEN / REFERENCE / arrays as u64;
            assert!(written <= rewritten, "{arrays} {step}: {written} references written for {all}");
        }
    }

    #[test]
    fn runs_end_at_kept_manifests() {
        let kept = [manifest(10..20)];
        let of = |rows: &[u32], kept: &[ManifestRef]| {
            runs(&rows.iter().map(|row| (*row, REFERENCE)).collect::<Vec<_>>(), kept)
        };
        assert_eq!(of(&[0, 0, 5, 30, 31], &kept), [0..3, 3..5]);
        assert_eq!(of(&[], &kept), Vec::<Range<usize>>::new());
        let many: Vec<u32> = (0..20_000).map(|n| n / 3).collect();
        assert_eq!(of(&many, &[]), [0..16_383, 16_383..20_000]);
        assert_eq!(of(&vec![7; 20_000], &[]), [0..20_000]);
    }

    #[test]
    fn an_array_has_its_share_of_a_manifest() {
        assert_eq!(share(&ManifestExtents::from_ranges_iter([0..1]), 60, 1_200), 20);
        assert_eq!(share(&ManifestExtents::from_ranges_iter([0..90]), 60, 1_200), 1_200);
        assert_eq!(share(&ManifestExtents::from_ranges_iter([0..1]), 0, 0), 0);
    }
}
