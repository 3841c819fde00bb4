//! `icecore.fpc`: XOR with a neighbour; a code of a few bits for the number of leading zero bytes, then the other bytes
//! (PStore's sFPC with the neighbour in space, tFPC with the neighbour in time).

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, config_i64_or, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.fpc"];

const NAME: &str = "icecore.fpc";

/// Elements whose codes are stored together before their bytes: a whole number of bytes for both code widths.
const BLOCK: usize = 8;

#[derive(Debug)]
pub(crate) struct Fpc {
    /// Negative numbers count from the last axis.
    axis: i64,
    /// True for float64, false for float32.
    double: bool,
}

impl Fpc {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Fpc> {
        only_keys(ext, &["axis"])?;
        let double = dtype.size() == 8;
        let number = matches!(dtype, DType::Float32 | DType::Float64 | DType::Int32 | DType::Int64)
            || matches!(dtype, DType::UInt32 | DType::UInt64 | DType::DateTime64 { .. } | DType::TimeDelta64 { .. });
        if !number {
            return Err(Error::new(ErrorKind::Unsupported, format!("{} of {}", ext.name, dtype.to_json()))
                .hint("it supports numbers of 4 and 8 bytes"));
        }
        match config_i64_or(ext, "axis", -1)? {
            axis @ -64..=63 => Ok(Fpc { axis, double }),
            _ => Err(bad_config(ext, "axis", "an axis of the array")),
        }
    }

    /// The distance of the neighbour in memory, and the length of the runs in which neighbours exist.
    fn apart(&self, shape: &[u64]) -> Result<(usize, usize)> {
        if shape.is_empty() {
            return Ok((1, 1));
        }
        let axis = if self.axis < 0 { self.axis + shape.len() as i64 } else { self.axis };
        let axis = usize::try_from(axis).ok().filter(|axis| *axis < shape.len()).ok_or_else(|| {
            let what = format!("{NAME}: axis {} of a chunk of shape {shape:?}", self.axis);
            Error::new(ErrorKind::Format, what)
        })?;
        let inner = shape[axis + 1..].iter().product::<u64>() as usize;
        Ok((inner, inner * shape[axis] as usize))
    }
}

impl ArrayCodec for Fpc {
    fn decode(&self, stored: &[u8], shape: &[u64], _: Range<usize>, out: &mut [u8], _: &mut Scratch) -> Result<()> {
        let (apart, run) = self.apart(shape)?;
        if self.double {
            unpack::<8>(stored, out)?;
            undo::<u64>(out, apart, run);
        } else {
            unpack::<4>(stored, out)?;
            undo::<u32>(out, apart, run);
        }
        Ok(())
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, _: &mut Scratch) -> Result<()> {
        let (apart, run) = self.apart(shape)?;
        out.extend(if self.double { pack::<u64, 8>(raw, apart, run) } else { pack::<u32, 4>(raw, apart, run) });
        Ok(())
    }
}

/// The coded number of leading zero bytes, 0 to size - 1: a zero keeps its last byte.
fn code(bits: u64, size: usize) -> usize {
    let zeros = bits.leading_zeros() as usize / 8 - (8 - size);
    zeros.min(size - 1)
}

/// Bits of a code: 3 for float64, 2 for float32.
const fn code_bits(size: usize) -> usize {
    size.trailing_zeros() as usize
}

/// An element as an unsigned integer.
trait Word: Copy + Into<u64> {
    fn read(bytes: &[u8]) -> Self;
}

impl Word for u32 {
    fn read(bytes: &[u8]) -> u32 {
        bytes.as_chunks().0.first().map_or(0, |b| u32::from_ne_bytes(*b))
    }
}

impl Word for u64 {
    fn read(bytes: &[u8]) -> u64 {
        bytes.as_chunks().0.first().map_or(0, |b| u64::from_ne_bytes(*b))
    }
}

fn pack<W: Word, const SIZE: usize>(raw: &[u8], apart: usize, run: usize) -> Vec<u8> {
    let count = raw.len() / SIZE;
    let at = |i: usize| W::read(&raw[i * SIZE..]).into();
    let mut out = Vec::with_capacity(raw.len() + raw.len() / 16 + 8);
    for first in (0..count).step_by(BLOCK) {
        let (mut codes, mut bytes) = (0u64, Vec::with_capacity(BLOCK * SIZE));
        for i in first..(first + BLOCK).min(count) {
            let bits: u64 = if i % run < apart { at(i) } else { at(i) ^ at(i - apart) };
            let zeros = code(bits, SIZE);
            codes |= (zeros as u64) << ((i - first) * code_bits(SIZE));
            bytes.extend_from_slice(&bits.to_le_bytes()[..SIZE - zeros]);
        }
        out.extend_from_slice(&codes.to_le_bytes()[..code_bits(SIZE)]);
        out.extend_from_slice(&bytes);
    }
    out
}

/// Decodes the XORs into `out`, in native order.
fn unpack<const SIZE: usize>(stored: &[u8], out: &mut [u8]) -> Result<()> {
    let short = || corrupt(NAME, "the chunk ends too early");
    let mut rest = stored;
    for block in out.chunks_mut(BLOCK * SIZE) {
        let (head, bytes) = rest.split_at_checked(code_bits(SIZE)).ok_or_else(short)?;
        let mut codes = head.iter().rev().fold(0u64, |codes, byte| codes << 8 | u64::from(*byte));
        let elements = block.len() / SIZE;
        let taken = if bytes.len() >= (BLOCK + 1) * 8 && elements == BLOCK {
            fast_block::<SIZE>(codes, bytes, block)
        } else {
            slow_block::<SIZE>(&mut codes, bytes, block).ok_or_else(short)?
        };
        rest = bytes.get(taken..).ok_or_else(short)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(corrupt(NAME, format!("{} bytes too many", rest.len()))) }
}

/// Decodes all elements with loads of eight bytes, which the caller guarantees to be readable; returns the bytes used.
#[inline(always)]
fn fast_block<const SIZE: usize>(mut codes: u64, bytes: &[u8], block: &mut [u8]) -> usize {
    let mut at = 0;
    for element in block.as_chunks_mut::<SIZE>().0 {
        let len = SIZE - (codes & (SIZE as u64 - 1)) as usize;
        codes >>= code_bits(SIZE);
        let word = bytes[at..].as_chunks::<8>().0.first().map_or(0, |b| u64::from_le_bytes(*b));
        let bits = word & (u64::MAX >> (64 - 8 * len));
        element.copy_from_slice(&native::<SIZE>(bits));
        at += len;
    }
    at
}

fn slow_block<const SIZE: usize>(codes: &mut u64, bytes: &[u8], block: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    for element in block.as_chunks_mut::<SIZE>().0 {
        let len = SIZE - (*codes & (SIZE as u64 - 1)) as usize;
        *codes >>= code_bits(SIZE);
        let bits = bytes.get(at..at + len)?.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        element.copy_from_slice(&native::<SIZE>(bits));
        at += len;
    }
    Some(at)
}

/// The low bytes of an integer in native order.
#[inline(always)]
fn native<const SIZE: usize>(bits: u64) -> [u8; SIZE] {
    let mut out = [0; SIZE];
    out.copy_from_slice(&bits.to_le_bytes()[..SIZE]);
    if cfg!(target_endian = "big") {
        out.reverse();
    }
    out
}

/// Converts XORs to elements, in place.
fn undo<W: Word>(out: &mut [u8], apart: usize, run: usize) {
    let size = size_of::<W>();
    for run in out.chunks_mut((run * size).max(1)) {
        if apart == 1 {
            chain::<W>(run);
            continue;
        }
        let mut rest = run;
        while rest.len() > apart * size {
            let (done, next) = rest.split_at_mut(apart * size);
            next.iter_mut().zip(done.iter()).for_each(|(a, b)| *a ^= b);
            rest = next;
        }
    }
}

/// The neighbour is the previous element: one running XOR.
fn chain<W: Word>(run: &mut [u8]) {
    let mut last = 0u64;
    for element in run.chunks_exact_mut(size_of::<W>()) {
        last ^= W::read(element).into();
        match size_of::<W>() {
            4 => element.copy_from_slice(&(last as u32).to_ne_bytes()),
            _ => element.copy_from_slice(&last.to_ne_bytes()),
        }
    }
}
