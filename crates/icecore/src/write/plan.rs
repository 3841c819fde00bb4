//! plan: the stored chunks of an array that a box of data fills. A chunk is written completely or not at all.

use icecore_chunk::ArrayMeta;
use icecore_grid::{Error, ErrorKind, Region, Result};

/// The flat numbers of the chunks (or shards) that make up `region`.
///
/// # Errors
/// `mismatch` if the region does not begin and end at chunk boundaries (or at the array's end).
pub(crate) fn chunks(path: &str, meta: &ArrayMeta, region: &Region) -> Result<Vec<u64>> {
    let rank = meta.shape.len();
    if region.start.len() != rank || region.shape.len() != rank {
        let got = region.start.len();
        return Err(Error::new(
            ErrorKind::Mismatch,
            format!("{path}: the data has {got} dimensions, the array {rank}"),
        ));
    }
    let mut ranges = Vec::with_capacity(rank);
    for (axis, grid) in meta.grid.axes.iter().enumerate() {
        let (start, extent, length) = (region.start[axis], region.shape[axis], meta.shape[axis]);
        let end = start.checked_add(extent).filter(|end| *end <= length);
        let end = end.ok_or_else(|| misfit(path, axis, start, extent, &format!("the array has {length}")))?;
        if extent == 0 {
            return Ok(Vec::new());
        }
        let (first, first_start, _) = grid.find(start);
        let (last, last_start, last_length) = grid.find(end - 1);
        if first_start != start {
            return Err(misfit(path, axis, start, extent, &format!("a chunk starts at {first_start}")));
        }
        if end != length && last_start.saturating_add(last_length) != end {
            return Err(misfit(
                path,
                axis,
                start,
                extent,
                &format!("a chunk ends at {}", last_start.saturating_add(last_length)),
            ));
        }
        ranges.push((first, last));
    }
    Ok(product(meta, &ranges))
}

fn misfit(path: &str, axis: usize, start: u64, extent: u64, other: &str) -> Error {
    let end = start.saturating_add(extent);
    Error::new(ErrorKind::Mismatch, format!("{path}: axis {axis}: elements {start}..{end} are given, {other}"))
        .hint("write whole chunks (whole shards of a sharded array), or up to the array's end")
}

fn product(meta: &ArrayMeta, ranges: &[(u64, u64)]) -> Vec<u64> {
    let mut coords: Vec<u64> = ranges.iter().map(|r| r.0).collect();
    let mut flat = Vec::new();
    loop {
        flat.push(meta.grid.flat(&coords));
        let mut axis = ranges.len();
        loop {
            if axis == 0 {
                return flat;
            }
            axis -= 1;
            if coords[axis] < ranges[axis].1 {
                coords[axis] += 1;
                break;
            }
            coords[axis] = ranges[axis].0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> ArrayMeta {
        let json = r#"{"zarr_format":3,"node_type":"array","shape":[10,7],"data_type":"int16","fill_value":0,
            "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,3]}},
            "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
        ArrayMeta::parse(json.as_bytes()).unwrap()
    }

    fn region(start: [u64; 2], shape: [u64; 2]) -> Region {
        Region { start: start.to_vec(), shape: shape.to_vec() }
    }

    #[test]
    fn whole_chunks_and_the_edge() {
        assert_eq!(chunks("/a", &meta(), &region([0, 0], [4, 3])).unwrap(), [0]);
        assert_eq!(chunks("/a", &meta(), &region([4, 3], [6, 4])).unwrap(), [4, 5, 7, 8]);
        assert_eq!(chunks("/a", &meta(), &region([0, 0], [0, 3])).unwrap(), [0u64; 0]);
    }

    #[test]
    fn parts_of_chunks_are_refused() {
        for bad in [region([1, 0], [3, 3]), region([0, 0], [3, 3]), region([8, 6], [4, 1])] {
            assert_eq!(chunks("/a", &meta(), &bad).unwrap_err().kind, ErrorKind::Mismatch, "{bad:?}");
        }
    }
}
