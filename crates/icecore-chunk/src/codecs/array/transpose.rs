//! `transpose`: permute the axes before serialization.

use icecore_grid::{Error, ErrorKind, Result};

use crate::errors::bad_config;
use crate::extension::{Extension, config_list};

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["transpose"];

/// Edge length of the tiles of a two-axis transpose, so that both sides stay in the cache.
const TILE: usize = 32;

/// Axis i of the encoded array is axis `order[i]` of the decoded one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transpose {
    order: Vec<usize>,
}

impl Transpose {
    pub fn parse(ext: &Extension) -> Result<Transpose> {
        let order: Vec<usize> = config_list(ext, "order")?.into_iter().map(|a| a as usize).collect();
        let mut seen = vec![false; order.len()];
        for axis in &order {
            match seen.get_mut(*axis) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(bad_config(ext, "order", "each axis once")),
            }
        }
        Ok(Transpose { order })
    }

    /// Whether the order is the identity.
    pub fn is_identity(&self) -> bool {
        self.order.iter().enumerate().all(|(i, axis)| i == *axis)
    }

    /// The shape of the encoded array.
    pub fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>> {
        if shape.len() != self.order.len() {
            return Err(Error::new(
                ErrorKind::Format,
                format!("transpose orders {} axes, the chunk has {}", self.order.len(), shape.len()),
            ));
        }
        Ok(self.order.iter().map(|axis| shape[*axis]).collect())
    }

    /// `shape` is that of the decoded array; `src` and `out` hold its elements of `itemsize` bytes.
    pub fn decode(&self, shape: &[u64], itemsize: usize, src: &[u8], out: &mut [u8]) -> Result<()> {
        let strides = strides(&self.encoded_shape(shape)?);
        let mut axes: Vec<Axis> = shape.iter().map(|len| Axis { len: *len as usize, stride: 0 }).collect();
        for (axis, stride) in self.order.iter().zip(strides) {
            axes[*axis].stride = stride;
        }
        gather(axes, itemsize, src, out)
    }

    /// The inverse of `decode`: `shape` is again that of the decoded array.
    pub fn encode(&self, shape: &[u64], itemsize: usize, src: &[u8], out: &mut [u8]) -> Result<()> {
        let strides = strides(shape);
        let encoded = self.encoded_shape(shape)?;
        let axes = self.order.iter().zip(encoded).map(|(axis, len)| Axis { len: len as usize, stride: strides[*axis] });
        gather(axes.collect(), itemsize, src, out)
    }
}

/// One axis of the output: its length, and its stride in the source, in elements.
#[derive(Debug, Clone, Copy)]
struct Axis {
    len: usize,
    stride: usize,
}

fn strides(shape: &[u64]) -> Vec<usize> {
    let mut out = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = out[axis] * shape[axis] as usize;
    }
    out
}

/// Fills `out` in C order from a strided source.
fn gather(axes: Vec<Axis>, itemsize: usize, src: &[u8], out: &mut [u8]) -> Result<()> {
    let needed = axes.iter().map(|a| a.len).product::<usize>() * itemsize;
    if src.len() != needed || out.len() != needed {
        return Err(crate::errors::wrong_length("transpose", src.len(), needed));
    }
    let axes = merge(axes);
    match itemsize {
        1 => gather_typed::<1>(&axes, src, out),
        2 => gather_typed::<2>(&axes, src, out),
        4 => gather_typed::<4>(&axes, src, out),
        8 => gather_typed::<8>(&axes, src, out),
        16 => gather_typed::<16>(&axes, src, out),
        // Elements of other sizes get one more axis, of bytes.
        _ => {
            let mut axes: Vec<Axis> = axes.iter().map(|a| Axis { len: a.len, stride: a.stride * itemsize }).collect();
            axes.push(Axis { len: itemsize, stride: 1 });
            gather_typed::<1>(&merge(axes), src, out);
        }
    }
    Ok(())
}

/// Merges axes that are contiguous in the source too, and removes axes of length 1.
fn merge(axes: Vec<Axis>) -> Vec<Axis> {
    let mut out: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes.into_iter().filter(|a| a.len != 1) {
        match out.last_mut() {
            Some(last) if last.stride == axis.stride * axis.len => {
                *last = Axis { len: last.len * axis.len, stride: axis.stride };
            }
            _ => out.push(axis),
        }
    }
    out
}

fn gather_typed<const N: usize>(axes: &[Axis], src: &[u8], out: &mut [u8]) {
    let (src, out) = (src.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
    let (Some(last), false) = (axes.last(), out.is_empty()) else {
        // No axes remain: at most one element.
        return out.copy_from_slice(src);
    };
    if last.stride == 1 {
        let mut at = 0;
        return for_each(&axes[..axes.len() - 1], &mut |from, _| {
            out[at..at + last.len].copy_from_slice(&src[from..from + last.len]);
            at += last.len;
        });
    }
    // Tiles over the axis with the smallest stride in the source and the last axis of the output.
    let fast = axes.iter().position(|a| a.stride == 1).unwrap_or(0);
    let step = axes[fast + 1..].iter().map(|a| a.len).product::<usize>();
    let mut outer = axes[..axes.len() - 1].to_vec();
    let rows = outer.remove(fast).len;
    let steps: Vec<usize> =
        (0..axes.len() - 1).filter(|k| *k != fast).map(|k| axes[k + 1..].iter().map(|a| a.len).product()).collect();
    for_each(&outer, &mut |from, index| {
        let to: usize = index.iter().zip(&steps).map(|(i, s)| i * s).sum();
        for row in (0..rows).step_by(TILE) {
            for column in (0..last.len).step_by(TILE) {
                for r in row..(row + TILE).min(rows) {
                    let target = &mut out[to + r * step..][..last.len];
                    for c in column..(column + TILE).min(last.len) {
                        target[c] = src[from + r + c * last.stride];
                    }
                }
            }
        }
    });
}

/// Calls `visit` with the source offset and the index of every position, the last axis fastest.
fn for_each(axes: &[Axis], visit: &mut impl FnMut(usize, &[usize])) {
    let mut index = vec![0; axes.len()];
    let mut from = 0;
    loop {
        visit(from, &index);
        let mut axis = axes.len();
        loop {
            let Some(before) = axis.checked_sub(1) else { return };
            axis = before;
            index[axis] += 1;
            from += axes[axis].stride;
            if index[axis] < axes[axis].len {
                break;
            }
            from -= axes[axis].stride * axes[axis].len;
            index[axis] = 0;
        }
    }
}
