//! Encoding a chunk: the chain forwards.

use icecore_grid::{Error, ErrorKind, Result};

use crate::buffer::grow;
use crate::chain::{ArrayStep, Chain, Serializer};
use crate::codecs::ByteStep;
use crate::scratch::Scratch;

impl Chain {
    /// Encodes a chunk of `shape`; `raw` is exactly the chunk in C order and native byte order.
    ///
    /// Errors: `Mismatch` for a `raw` of another length, `Codec` or `Unsupported` where a codec cannot encode it.
    pub fn encode(&self, raw: &[u8], shape: &[u64], scratch: &mut Scratch) -> Result<Vec<u8>> {
        let mut out = scratch.spare();
        self.encode_into(raw, shape, &mut out, scratch)?;
        Ok(exact(out, scratch))
    }

    /// The same into `out`, whose memory is used again: fresh memory costs the kernel as much as a fast codec takes.
    /// What `out` held is replaced; after an error it may hold anything.
    pub fn encode_into(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let len = self.raw_len(shape)?;
        if raw.len() != len || self.dtype.is_vlen() {
            let what = format!("{} bytes given for a chunk of {len} bytes of {}", raw.len(), self.dtype.to_json());
            return Err(Error::new(ErrorKind::Mismatch, what));
        }
        let changed = self.apply_array_steps(raw, shape)?;
        let data = changed.as_deref().unwrap_or(raw);
        match &self.serializer {
            Serializer::Bytes(swap) if swap.is_none() => return self.pack_into(data, out, scratch),
            Serializer::Bytes(swap) => {
                let mut swapped = data.to_vec();
                swap.apply(&mut swapped, 0..len);
                return self.pack_into(&swapped, out, scratch);
            }
            Serializer::Pco(pco) => pco.encode(data, out)?,
            Serializer::Own(codec) => {
                let shapes = self.shapes(shape)?;
                codec.encode(data, shapes.last().map_or(shape, Vec::as_slice), out, scratch)?;
            }
            Serializer::Foreign(foreign) => *out = foreign.encode(data, shape)?,
            Serializer::Vlen { .. } => {
                return Err(Error::new(ErrorKind::Mismatch, "numbers given for a chunk of strings"));
            }
        }
        go_on(&self.bytes, out, scratch)
    }

    /// The array after the array→array codecs; `None` where they change nothing.
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
        self.pack_into(data, &mut out, scratch)?;
        Ok(exact(out, scratch))
    }

    fn pack_into(&self, data: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        match self.bytes.split_first() {
            None => {
                out.clear();
                out.extend_from_slice(data);
                Ok(())
            }
            Some((first, rest)) => {
                apply(first, data, out, scratch)?;
                go_on(rest, out, scratch)
            }
        }
    }
}

/// `out` in memory of its own, as long as it is.
fn exact(out: Vec<u8>, scratch: &mut Scratch) -> Vec<u8> {
    let exact = out.as_slice().to_vec();
    scratch.keep(out);
    exact
}

fn apply(step: &ByteStep, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
    out.clear();
    match step {
        ByteStep::Codec(codec) => codec.encode(input, out, scratch)?,
        ByteStep::Checksum(checksum) => checksum.encode(input, out),
    }
    Ok(())
}

/// Applies steps to what `out` holds. A checksum behind the data needs no other memory.
fn go_on(steps: &[ByteStep], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
    for step in steps {
        match step {
            ByteStep::Checksum(checksum) if checksum.is_behind() => checksum.append(out),
            _ => {
                let before = std::mem::replace(out, scratch.spare());
                let done = apply(step, &before, out, scratch);
                scratch.keep(before);
                done?;
            }
        }
    }
    Ok(())
}
