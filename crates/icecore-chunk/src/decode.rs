//! Decode a chunk: apply the chain backwards; the last step writes directly to the output.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::buffer::Buffer;
use crate::chain::{ArrayStep, Chain, Serializer};
use crate::codecs::{ByteStep, Transpose};
use crate::errors::wrong_length;
use crate::scratch::Scratch;

/// Extra room for the bytes that a step in the middle of a chain may add to the decoded length.
const SLACK: usize = 1 << 16;

/// A chunk whose last bytes→bytes codecs are undone; `left` is the number of those that remain.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    pub bytes: &'a [u8],
    pub left: usize,
}

/// Data between two steps.
pub(crate) enum Held<'a> {
    Stored(&'a [u8]),
    Buffer(Buffer, Range<usize>),
}

impl Held<'_> {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Held::Stored(bytes) => bytes,
            Held::Buffer(buffer, range) => &buffer.bytes()[range.clone()],
        }
    }

    /// Keeps only this part.
    fn narrow(&mut self, part: Range<usize>) {
        match self {
            Held::Stored(bytes) => *bytes = &bytes[part],
            Held::Buffer(_, range) => *range = range.start + part.start..range.start + part.end,
        }
    }

    pub fn release(self, scratch: &mut Scratch) {
        if let Held::Buffer(buffer, _) = self {
            scratch.give(buffer);
        }
    }
}

impl Chain {
    /// Decodes a chunk of `shape` into `out` (exactly the chunk, C order, native byte order).
    ///
    /// `wanted` is the byte range of the decoded chunk that must be correct on return; other bytes are unspecified.
    /// Decoders may stop early and then skip checks: pass the whole range to verify all of the data.
    ///
    /// Errors: `Corrupt` for damaged data or data of another length, `Mismatch` if `out` has another length.
    pub fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: (u64, u64),
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_top(stored, usize::MAX, shape, wanted, out, scratch)
    }

    /// As [`Chain::decode`], from the first `planes` planes only, if the chain has [`Chain::planes`]: `stored` may then
    /// end after them ([`Planes::prefix_len`](crate::Planes::prefix_len)), and floats are within
    /// [`Planes::bound`](crate::Planes::bound). Without planes all of `stored` is decoded, exactly.
    pub fn decode_top(
        &self,
        stored: &[u8],
        planes: usize,
        shape: &[u64],
        wanted: (u64, u64),
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_packed(self.packed(stored), planes, shape, wanted, out, scratch)
    }

    /// Whether [`Chain::decode_parts`] of few elements takes much less time than a whole chunk.
    pub fn has_parts(&self) -> bool {
        let own = matches!(&self.serializer, Serializer::Own(codec) if codec.has_parts());
        own && self.arrays.is_empty()
    }

    /// As [`Chain::decode`], where only the bytes of these ranges must be right; they begin and end with elements.
    pub fn decode_parts(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: &[Range<usize>],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let end = wanted.iter().map(|range| range.end).max().unwrap_or(0);
        match &self.serializer {
            Serializer::Own(codec) if self.has_parts() && out.len() == self.raw_len(shape)? && end <= out.len() => {
                let held = self.unpack(self.packed(stored), None, out.len(), 0, scratch)?;
                codec.decode_parts(held.bytes(), shape, wanted, out, scratch)?;
                held.release(scratch);
                Ok(())
            }
            _ => self.decode(stored, shape, (0, out.len() as u64), out, scratch),
        }
    }

    /// The stored bytes, with no codec undone.
    pub(crate) fn packed<'a>(&self, bytes: &'a [u8]) -> Packed<'a> {
        Packed { bytes, left: self.bytes.len() }
    }

    /// Continues [`Chain::decode_top`] to the end.
    pub(crate) fn decode_packed(
        &self,
        stored: Packed<'_>,
        planes: usize,
        shape: &[u64],
        wanted: (u64, u64),
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let raw = self.raw_len(shape)?;
        if out.len() != raw || self.dtype.is_vlen() {
            let what =
                format!("an output of {} bytes for a chunk of {raw} bytes of {}", out.len(), self.dtype.to_json());
            return Err(Error::new(ErrorKind::Mismatch, what));
        }
        let wanted = self.whole_elements(wanted, raw);
        let planes = if self.planes().is_some() { planes } else { usize::MAX };
        let moves: Vec<(usize, &Transpose)> = self.moves();
        if moves.is_empty() {
            return self.decode_in_place(stored, planes, shape, wanted, out, scratch);
        }
        self.decode_moved(stored, planes, shape, &moves, out, scratch)
    }

    /// Decodes only the bytes→bytes codecs. An output far longer than `expected` is rejected.
    ///
    /// Errors: `Corrupt` for damaged data.
    pub fn unpack_bytes(&self, stored: &[u8], expected: usize, scratch: &mut Scratch) -> Result<Vec<u8>> {
        let held = self.unpack(self.packed(stored), None, expected, 0, scratch)?;
        let bytes = held.bytes().to_vec();
        held.release(scratch);
        Ok(bytes)
    }

    /// The needed bytes within the chunk, widened to whole elements.
    fn whole_elements(&self, wanted: (u64, u64), raw: usize) -> Range<usize> {
        let size = self.dtype.size().max(1);
        let end = usize::try_from(wanted.1).unwrap_or(raw).min(raw);
        let start = usize::try_from(wanted.0).unwrap_or(end).min(end);
        if start == end {
            return 0..0;
        }
        start / size * size..end.next_multiple_of(size).min(raw)
    }

    /// Transposes that change the order, with their index in the chain.
    pub(crate) fn moves(&self) -> Vec<(usize, &Transpose)> {
        let steps = self.arrays.iter().enumerate();
        steps
            .filter_map(|(index, step)| match step {
                ArrayStep::Transpose(t) if !t.is_identity() => Some((index, t)),
                _ => None,
            })
            .collect()
    }

    /// The range that must be decoded for the wanted bytes to be correct: sums need all preceding elements.
    fn summed(&self, wanted: Range<usize>, len: usize) -> Range<usize> {
        let sums = self.arrays.iter().any(|step| matches!(step, ArrayStep::Delta(_)));
        if sums { 0..len } else { wanted }
    }

    /// The steps after the bytes→bytes codecs, if the elements are in their final order: the end of [`Chain::decode`].
    pub(crate) fn settle(&self, out: &mut [u8], wanted: (u64, u64)) {
        let wanted = self.summed(self.whole_elements(wanted, out.len()), out.len());
        if let Serializer::Bytes(swap) = &self.serializer {
            swap.apply(out, wanted);
        }
        self.sum_up(out);
    }

    fn decode_in_place(
        &self,
        stored: Packed<'_>,
        planes: usize,
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let wanted = self.summed(wanted, out.len());
        match &self.serializer {
            Serializer::Bytes(swap) => {
                self.unpack_into(stored, out, wanted.clone(), scratch)?;
                swap.apply(out, wanted);
            }
            Serializer::Pco(pco) => {
                let held = self.unpack(stored, None, out.len(), 0, scratch)?;
                pco.decode(held.bytes(), out, scratch)?;
                held.release(scratch);
            }
            Serializer::Own(codec) => {
                let held = self.unpack(stored, None, out.len(), 0, scratch)?;
                codec.decode_top(held.bytes(), planes, shape, wanted, out, scratch)?;
                held.release(scratch);
            }
            Serializer::Vlen { .. } => {
                return Err(Error::new(ErrorKind::Mismatch, "a chunk of strings read as numbers"));
            }
        }
        self.sum_up(out);
        Ok(())
    }

    /// As `decode_in_place`, with a transpose: the data is decoded into a buffer first.
    fn decode_moved(
        &self,
        stored: Packed<'_>,
        planes: usize,
        shape: &[u64],
        moves: &[(usize, &Transpose)],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let raw = out.len();
        let shapes = self.shapes(shape)?;
        let mut held = match &self.serializer {
            Serializer::Pco(pco) => {
                let packed = self.unpack(stored, None, raw, 0, scratch)?;
                let mut buffer = scratch.take();
                pco.decode(packed.bytes(), buffer.sized(raw)?, scratch)?;
                packed.release(scratch);
                Held::Buffer(buffer, 0..raw)
            }
            Serializer::Own(codec) => {
                let packed = self.unpack(stored, None, raw, 0, scratch)?;
                let mut buffer = scratch.take();
                let inner = shapes.last().map_or(shape, Vec::as_slice);
                codec.decode_top(packed.bytes(), planes, inner, 0..raw, buffer.sized(raw)?, scratch)?;
                packed.release(scratch);
                Held::Buffer(buffer, 0..raw)
            }
            _ => self.unpack(stored, Some(raw), raw, 0, scratch)?,
        };
        if held.bytes().len() != raw {
            return Err(wrong_length("bytes", held.bytes().len(), raw));
        }
        for (nth, (index, transpose)) in moves.iter().enumerate().rev() {
            if nth == 0 {
                transpose.decode(&shapes[*index], self.dtype.size(), held.bytes(), out)?;
                break;
            }
            let mut next = scratch.take();
            transpose.decode(&shapes[*index], self.dtype.size(), held.bytes(), next.sized(raw)?)?;
            std::mem::replace(&mut held, Held::Buffer(next, 0..raw)).release(scratch);
        }
        held.release(scratch);
        if let Serializer::Bytes(swap) = &self.serializer {
            swap.apply(out, 0..raw);
        }
        self.sum_up(out);
        Ok(())
    }

    /// The shape before each array codec.
    pub(crate) fn shapes(&self, shape: &[u64]) -> Result<Vec<Vec<u64>>> {
        let mut shapes = vec![shape.to_vec()];
        for step in &self.arrays {
            let last = shapes.last().map_or(&[][..], Vec::as_slice);
            let next = match step {
                ArrayStep::Transpose(t) => t.encoded_shape(last)?,
                _ => last.to_vec(),
            };
            shapes.push(next);
        }
        Ok(shapes)
    }

    fn sum_up(&self, out: &mut [u8]) {
        for step in self.arrays.iter().rev() {
            if let ArrayStep::Delta(delta) = step {
                delta.decode(out);
            }
        }
    }

    /// Undoes the bytes→bytes codecs into `out`.
    fn unpack_into(
        &self,
        stored: Packed<'_>,
        out: &mut [u8],
        wanted: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let last = match self.bytes[..stored.left].first() {
            Some(ByteStep::Codec(codec)) => Some(codec),
            _ => None,
        };
        let held = self.unpack(stored, Some(out.len()), out.len(), usize::from(last.is_some()), scratch)?;
        match last {
            Some(codec) => codec.decode_into(held.bytes(), out, wanted, scratch)?,
            None if held.bytes().len() == out.len() => out[wanted.clone()].copy_from_slice(&held.bytes()[wanted]),
            None => return Err(wrong_length("bytes", held.bytes().len(), out.len())),
        }
        held.release(scratch);
        Ok(())
    }

    /// Undoes the bytes→bytes codecs from the last one down to number `first`. `raw` is the length of the serialised
    /// array if it is known, `expected` the reference for limits of unknown lengths.
    pub(crate) fn unpack<'a>(
        &self,
        stored: Packed<'a>,
        raw: Option<usize>,
        expected: usize,
        first: usize,
        scratch: &mut Scratch,
    ) -> Result<Held<'a>> {
        let cap = expected.saturating_mul(32).saturating_add(SLACK);
        let mut held = Held::Stored(stored.bytes);
        for index in (first..stored.left).rev() {
            let codec = match &self.bytes[index] {
                ByteStep::Checksum(checksum) => {
                    let data = checksum.verify(held.bytes())?;
                    held.narrow(data);
                    continue;
                }
                ByteStep::Codec(codec) => codec,
            };
            let mut buffer = scratch.take();
            let len = match self.decoded_len(index, raw) {
                Some(len) => {
                    codec.decode_into(held.bytes(), buffer.sized(len)?, 0..len, scratch)?;
                    len
                }
                None => codec.decode_unsized(held.bytes(), &mut buffer, cap, scratch)?,
            };
            std::mem::replace(&mut held, Held::Buffer(buffer, 0..len)).release(scratch);
        }
        Ok(held)
    }
}
