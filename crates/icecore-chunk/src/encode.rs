//! Encode a chunk: apply the chain forwards.

use icecore_grid::{Error, ErrorKind, Result};

use crate::buffer::{grow, put};
use crate::chain::{ArrayStep, Chain, Serializer};
use crate::codecs::ByteStep;
use crate::scratch::Scratch;

impl Chain {
    /// Whether a chunk's bytes may depend on [`MinMatch`](crate::MinMatch).
    pub fn uses_min_match(&self) -> bool {
        let open = |step: &ByteStep| matches!(step, ByteStep::Codec(codec) if codec.uses_min_match());
        matches!(self.serializer, Serializer::Bytes(_)) && self.bytes.iter().any(open)
    }

    /// Encodes a chunk of `shape`; `raw` is exactly the chunk in C order and native byte order.
    ///
    /// Errors: `Mismatch` for a `raw` of another length, `Codec` or `Unsupported` where a codec cannot encode it.
    pub fn encode(&self, raw: &[u8], shape: &[u64], scratch: &mut Scratch) -> Result<Vec<u8>> {
        let mut out = scratch.spare();
        self.encode_into(raw, shape, &mut out, scratch)?;
        Ok(exact(out, scratch))
    }

    /// As `encode`, into the reused memory of `out`: fresh memory costs the kernel as much time as a fast codec needs.
    /// The old contents are replaced; after an error they are unspecified.
    pub fn encode_into(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        out.clear();
        self.append(raw, shape, out, scratch)
    }

    /// As `encode`, appended to `out`; after an error the appended bytes are unspecified.
    pub fn append(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let len = self.raw_len(shape)?;
        if raw.len() != len || self.dtype.is_vlen() {
            let what = format!("{} bytes given for a chunk of {len} bytes of {}", raw.len(), self.dtype.to_json());
            return Err(Error::new(ErrorKind::Mismatch, what));
        }
        let changed = self.apply_array_steps(raw, shape)?;
        let data = changed.as_deref().unwrap_or(raw);
        match &self.serializer {
            Serializer::Bytes(swap) if swap.is_none() => pack(&self.bytes, data, out, scratch),
            Serializer::Bytes(swap) => {
                let mut swapped = data.to_vec();
                swap.apply(&mut swapped, 0..len);
                pack(&self.bytes, &swapped, out, scratch)
            }
            Serializer::Vlen { .. } => Err(Error::new(ErrorKind::Mismatch, "numbers given for a chunk of strings")),
            _ if self.bytes.iter().all(ByteStep::is_sum_behind) => {
                let start = out.len();
                self.serialize(data, shape, out, scratch)?;
                close(&self.bytes, out, start);
                Ok(())
            }
            _ => {
                let mut between = scratch.spare();
                between.clear();
                self.serialize(data, shape, &mut between, scratch)?;
                let done = pack(&self.bytes, &between, out, scratch);
                scratch.keep(between);
                done
            }
        }
    }

    /// Appends the output of an array→bytes codec for `data`.
    fn serialize(&self, data: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        match &self.serializer {
            Serializer::Pco(pco) => pco.encode(data, out),
            Serializer::Own(codec) => {
                let shapes = self.shapes(shape)?;
                codec.encode(data, shapes.last().map_or(shape, Vec::as_slice), out, scratch)
            }
            Serializer::Bytes(_) | Serializer::Vlen { .. } => put(out, data),
        }
    }

    /// The array after the array→array codecs; `None` if they change nothing.
    fn apply_array_steps(&self, raw: &[u8], shape: &[u64]) -> Result<Option<Vec<u8>>> {
        let shapes = self.shapes(shape)?;
        let mut changed: Option<Vec<u8>> = None;
        for (step, shape) in self.arrays.iter().zip(&shapes) {
            match step {
                ArrayStep::Transpose(t) if t.is_identity() => {}
                ArrayStep::Transpose(t) => {
                    let mut out = Vec::new();
                    grow(&mut out, raw.len())?;
                    t.encode(shape, self.dtype.size(), changed.as_deref().unwrap_or(raw), &mut out)?;
                    changed = Some(out);
                }
                ArrayStep::BitRound(b) => b.encode(&self.dtype, changed.get_or_insert_with(|| raw.to_vec())),
                ArrayStep::Delta(d) => d.encode(changed.get_or_insert_with(|| raw.to_vec())),
            }
        }
        Ok(changed)
    }

    /// Applies the bytes→bytes codecs.
    pub(crate) fn pack(&self, data: &[u8], scratch: &mut Scratch) -> Result<Vec<u8>> {
        let mut out = scratch.spare();
        out.clear();
        pack(&self.bytes, data, &mut out, scratch)?;
        Ok(exact(out, scratch))
    }
}

/// A copy of `out`, without excess capacity.
fn exact(out: Vec<u8>, scratch: &mut Scratch) -> Vec<u8> {
    let exact = out.as_slice().to_vec();
    scratch.keep(out);
    exact
}

/// Appends the output of `steps` for `data`. Only data between two codecs needs its own memory.
fn pack(steps: &[ByteStep], data: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
    let sums = steps.iter().rev().take_while(|step| step.is_sum_behind()).count();
    let (codecs, sums) = steps.split_at(steps.len() - sums);
    let start = out.len();
    match codecs.split_last() {
        None => put(out, data)?,
        Some((last, [])) => last.encode(data, out, scratch)?,
        Some((last, before)) => {
            let mut input = scratch.spare();
            before[0].encode_over(data, &mut input, scratch)?;
            for step in &before[1..] {
                let mut next = scratch.spare();
                step.encode_over(&input, &mut next, scratch)?;
                scratch.keep(std::mem::replace(&mut input, next));
            }
            last.encode(&input, out, scratch)?;
            scratch.keep(input);
        }
    }
    close(sums, out, start);
    Ok(())
}

/// Appends checksums of the bytes of `out` from `start` on.
fn close(sums: &[ByteStep], out: &mut Vec<u8>, start: usize) {
    for step in sums {
        if let ByteStep::Checksum(sum) = step {
            sum.close(out, start);
        }
    }
}
