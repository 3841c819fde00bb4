//! `sharding_indexed` inside another shard or behind array codecs: the chunk is decoded as a whole.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::buffer::grow;
use crate::chain::{Chain, raw_len};
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::corrupt;
use crate::extension::Extension;
use crate::scratch::Scratch;
use crate::shard::Shard;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["sharding_indexed"];

#[derive(Debug)]
pub(crate) struct NestedShard {
    shard: Shard,
    inner: Chain,
    /// One element, for missing inner chunks.
    fill: Vec<u8>,
}

impl NestedShard {
    pub fn parse(ext: &Extension, dtype: &DType, fill: &[u8]) -> Result<NestedShard> {
        if fill.len() != dtype.size() {
            let what = format!("a fill value of {} bytes for elements of {}", fill.len(), dtype.to_json());
            return Err(Error::new(ErrorKind::Mismatch, what));
        }
        let (shard, inner) = Shard::parse(ext, dtype, fill)?;
        Ok(NestedShard { shard, inner, fill: fill.to_vec() })
    }

    /// The inner chunks of a chunk of this shape.
    fn tiling(&self, shape: &[u64]) -> Result<Tiling> {
        let chunk = &self.shard.chunk;
        let whole = shape.len() == chunk.len() && shape.iter().zip(chunk).all(|(n, inner)| n % inner == 0);
        if !whole {
            let what = format!("a chunk of {shape:?} elements in inner chunks of {chunk:?}");
            return Err(Error::new(ErrorKind::Format, what)
                .hint("chunk_shape of sharding_indexed must divide the chunk along each axis"));
        }
        let size = self.fill.len();
        raw_len(shape, size)?;
        let lengths = |shape: &[u64]| shape.iter().map(|n| *n as usize).collect();
        Ok(Tiling { shape: lengths(shape), chunk: lengths(chunk), counts: lengths(&self.shard.counts(shape)), size })
    }
}

/// Boxes of equal shape that fill a chunk, in C order.
struct Tiling {
    shape: Vec<usize>,
    chunk: Vec<usize>,
    counts: Vec<usize>,
    /// Bytes of an element.
    size: usize,
}

impl Tiling {
    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// Bytes of one box.
    fn bytes(&self) -> usize {
        self.chunk.iter().product::<usize>() * self.size
    }

    /// The byte range of each row of a box in the whole chunk, in the order of the box.
    fn rows(&self, number: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let corner = unravel(number, &self.counts);
        let length = self.chunk.last().copied().unwrap_or(1);
        let rows = self.chunk.split_last().map_or(1, |(_, outer)| outer.iter().product());
        (0..rows).map(move |row| {
            let inside = unravel(row * length, &self.chunk);
            let axes = corner.iter().zip(&self.chunk).zip(&inside).zip(&self.shape);
            let start = axes.fold(0, |at, (((corner, chunk), inside), n)| at * n + corner * chunk + inside);
            start * self.size..(start + length) * self.size
        })
    }
}

/// The coordinates of element `flat` in C order.
fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut coords = vec![0; shape.len()];
    for (coord, n) in coords.iter_mut().zip(shape).rev() {
        *coord = flat % n;
        flat /= n;
    }
    coords
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl ArrayCodec for NestedShard {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let tiling = self.tiling(shape)?;
        let index_len = self.shard.index_bytes(tiling.len());
        let Some(rest) = stored.len().checked_sub(index_len) else {
            let what = format!("{} stored bytes, shorter than the index of {index_len} bytes", stored.len());
            return Err(corrupt("sharding_indexed", what));
        };
        let index = if self.shard.index_at_end { &stored[rest..] } else { &stored[..index_len] };
        let places = self.shard.parse_index(index, tiling.len(), Some(stored.len() as u64))?;
        let mut buffer = scratch.take();
        let chunk = buffer.sized(tiling.bytes())?;
        for (number, place) in places.iter().enumerate() {
            if !tiling.rows(number).any(|row| overlap(&row, &wanted)) {
                continue;
            }
            match place {
                Some((offset, length)) => {
                    // Within `stored`: `parse_index` has checked it.
                    let bytes = &stored[*offset as usize..(offset + length) as usize];
                    self.inner.decode(bytes, &self.shard.chunk, (0, chunk.len() as u64), chunk, scratch)?;
                }
                None => chunk.chunks_exact_mut(tiling.size).for_each(|element| element.copy_from_slice(&self.fill)),
            }
            let length = chunk.len() / tiling.rows(number).count();
            for (row, from) in tiling.rows(number).zip(chunk.chunks_exact(length)) {
                out[row].copy_from_slice(from);
            }
        }
        scratch.give(buffer);
        Ok(())
    }

    /// Inner chunks of only the fill value are left out, as zarr-python and zarrs do.
    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if raw.is_empty() {
            return Ok(());
        }
        let tiling = self.tiling(shape)?;
        let index_len = self.shard.index_bytes(tiling.len());
        let start = out.len();
        if !self.shard.index_at_end {
            grow(out, start + index_len)?;
        }
        let mut places = Vec::with_capacity(tiling.len());
        let mut chunk = Vec::with_capacity(tiling.bytes());
        for number in 0..tiling.len() {
            chunk.clear();
            tiling.rows(number).for_each(|row| chunk.extend_from_slice(&raw[row]));
            if chunk.chunks_exact(tiling.size).all(|element| element == self.fill) {
                places.push(None);
                continue;
            }
            let offset = out.len();
            self.inner.append(&chunk, &self.shard.chunk, out, scratch)?;
            places.push(Some(((offset - start) as u64, (out.len() - offset) as u64)));
        }
        let index = self.shard.encode_index(&places)?;
        if self.shard.index_at_end {
            out.extend_from_slice(&index);
        } else {
            out[start..start + index_len].copy_from_slice(&index);
        }
        Ok(())
    }
}
