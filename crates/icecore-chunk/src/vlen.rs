//! Elements of variable length: u32 LE count, then u32 LE length and bytes of each.

use icecore_grid::{Error, ErrorKind, Result};

use crate::chain::{Chain, Serializer, raw_len};
use crate::errors::corrupt;
use crate::scratch::Scratch;

/// Offsets into a blob are 32-bit.
const MAX_BLOB: usize = u32::MAX as usize;

/// Offset and length of each element in the blob, in C order.
pub type Places = Vec<(u32, u32)>;

impl Chain {
    /// Decodes a chunk of strings or byte strings: a blob, and the offset and length of each element in it, in C order.
    ///
    /// Errors: `Corrupt` for damaged data, a number of elements that does not match `shape`, and strings that are not
    /// UTF-8.
    pub fn decode_vlen(&self, stored: &[u8], shape: &[u64], scratch: &mut Scratch) -> Result<(Vec<u8>, Places)> {
        let Serializer::Vlen { utf8 } = self.serializer else {
            return Err(Error::new(ErrorKind::Mismatch, format!("{} read as strings", self.dtype.to_json())));
        };
        let count = raw_len(shape, 1)?;
        let held = self.unpack(self.packed(stored), None, MAX_BLOB, 0, scratch)?;
        let blob = held.bytes().to_vec();
        held.release(scratch);
        let mut places = places(&blob, count, utf8)?;
        let shapes = self.shapes(shape)?;
        for (index, transpose) in self.moves().into_iter().rev() {
            let flat: Vec<u8> =
                places.iter().flat_map(|(at, len)| [at.to_ne_bytes(), len.to_ne_bytes()]).flatten().collect();
            let mut moved = vec![0; flat.len()];
            transpose.decode(&shapes[index], 8, &flat, &mut moved)?;
            let words = moved.as_chunks::<4>().0.as_chunks::<2>().0;
            places = words.iter().map(|[at, len]| (u32::from_ne_bytes(*at), u32::from_ne_bytes(*len))).collect();
        }
        Ok((blob, places))
    }

    /// Encodes the elements of a chunk, in C order.
    ///
    /// Errors: `Mismatch` for another type, `Codec` for a chunk of more than 4 GiB, `Invalid` for strings that are not UTF-8.
    pub fn encode_vlen(&self, elements: &[&[u8]], scratch: &mut Scratch) -> Result<Vec<u8>> {
        let Serializer::Vlen { utf8 } = self.serializer else {
            return Err(Error::new(ErrorKind::Mismatch, format!("strings given for {}", self.dtype.to_json())));
        };
        if !self.moves().is_empty() {
            return Err(Error::new(ErrorKind::Unsupported, "transposed strings are read, not written"));
        }
        let total = elements.iter().map(|e| e.len() + 4).sum::<usize>() + 4;
        if total > MAX_BLOB {
            return Err(Error::new(
                ErrorKind::Codec,
                format!("a chunk of strings of {total} bytes; at most {MAX_BLOB} fit"),
            )
            .hint("choose smaller chunks"));
        }
        if utf8 && let Some(index) = elements.iter().position(|e| std::str::from_utf8(e).is_err()) {
            return Err(Error::new(ErrorKind::Invalid, format!("string {index} of the chunk is not UTF-8")));
        }
        let mut out = Vec::with_capacity(total);
        out.extend((elements.len() as u32).to_le_bytes());
        for element in elements {
            out.extend((element.len() as u32).to_le_bytes());
            out.extend_from_slice(element);
        }
        self.pack(&out, scratch)
    }
}

/// Positions of the elements.
fn places(blob: &[u8], count: usize, utf8: bool) -> Result<Places> {
    let name = if utf8 { "vlen-utf8" } else { "vlen-bytes" };
    let word = |at: usize| blob.get(at..).and_then(|b| b.first_chunk::<4>()).map(|b| u32::from_le_bytes(*b) as usize);
    if blob.len() > MAX_BLOB {
        return Err(corrupt(name, format!("{} decoded bytes; at most {MAX_BLOB} are read", blob.len())));
    }
    let found = word(0).ok_or_else(|| corrupt(name, "the data end before the number of elements"))?;
    // Every element takes at least 4 bytes, which limits the allocation below.
    if found != count || count > blob.len() / 4 {
        return Err(corrupt(name, format!("{found} elements in {} bytes, expected {count}", blob.len())));
    }
    let mut out = Vec::with_capacity(count);
    let mut at = 4;
    for index in 0..count {
        let len = word(at).ok_or_else(|| corrupt(name, format!("the data end before element {index}")))?;
        let bytes = blob.get(at + 4..at + 4 + len);
        let bytes = bytes.ok_or_else(|| corrupt(name, format!("element {index} reaches past the end of the data")))?;
        if utf8 && std::str::from_utf8(bytes).is_err() {
            return Err(corrupt(name, format!("element {index} is not UTF-8")));
        }
        out.push((at as u32 + 4, len as u32));
        at += 4 + len;
    }
    Ok(out)
}
