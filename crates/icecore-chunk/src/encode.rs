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
        let len = self.raw_len(shape)?;
        if raw.len() != len || self.dtype.is_vlen() {
            let what = format!("{} bytes given for a chunk of {len} bytes of {}", raw.len(), self.dtype.to_json());
            return Err(Error::new(ErrorKind::Mismatch, what));
        }
        let changed = self.apply_array_steps(raw, shape)?;
        let data = changed.as_deref().unwrap_or(raw);
        match &self.serializer {
            Serializer::Bytes(swap) if swap.is_none() => self.pack(data, scratch),
            Serializer::Bytes(swap) => {
                let mut swapped = data.to_vec();
                swap.apply(&mut swapped, 0..len);
                self.pack(&swapped, scratch)
            }
            Serializer::Pco(pco) => {
                let mut packed = Vec::new();
                pco.encode(data, &mut packed)?;
                self.pack_owned(packed, scratch)
            }
            Serializer::Own(codec) => {
                let shapes = self.shapes(shape)?;
                let packed = codec.encode(data, shapes.last().map_or(shape, Vec::as_slice), scratch)?;
                self.pack_owned(packed, scratch)
            }
            Serializer::Foreign(foreign) => self.pack_owned(foreign.encode(data, shape)?, scratch),
            Serializer::Vlen { .. } => Err(Error::new(ErrorKind::Mismatch, "numbers given for a chunk of strings")),
        }
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

    fn pack_owned(&self, data: Vec<u8>, scratch: &mut Scratch) -> Result<Vec<u8>> {
        if self.bytes.is_empty() { Ok(data) } else { self.pack(&data, scratch) }
    }

    /// Applies the bytes→bytes codecs. What they put out in between lies in memory that is reused: fresh memory costs the
    /// kernel as much as a fast codec takes.
    pub(crate) fn pack(&self, data: &[u8], scratch: &mut Scratch) -> Result<Vec<u8>> {
        if self.bytes.is_empty() {
            return Ok(data.to_vec());
        }
        let (mut packed, mut out) = (scratch.spare(), scratch.spare());
        for (number, step) in self.bytes.iter().enumerate() {
            let input: &[u8] = if number == 0 { data } else { &packed };
            out.clear();
            match step {
                ByteStep::Codec(codec) => codec.encode(input, &mut out, scratch)?,
                ByteStep::Checksum(checksum) => checksum.encode(input, &mut out),
            }
            std::mem::swap(&mut packed, &mut out);
        }
        let result = packed.as_slice().to_vec();
        scratch.keep(packed);
        scratch.keep(out);
        Ok(result)
    }
}
