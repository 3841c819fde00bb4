//! A chunk of an array for measurements: plain elements, not yet encoded.

use icecore_grid::{Error, ErrorKind, Result};

use crate::chain::Chain;
use crate::dtype::DType;
use crate::scratch::Scratch;

/// One chunk, whole: C order, native byte order.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    pub shape: Vec<u64>,
    pub elements: Elements<'a>,
}

/// The elements of a chunk.
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    Fixed(&'a [u8]),
    /// Element i ends at byte `ends[i]` of the blob.
    Variable {
        blob: &'a [u8],
        ends: &'a [usize],
    },
}

/// Decoder output, reused for the next block.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    fixed: Vec<u8>,
    blob: Vec<u8>,
    places: Vec<(u32, u32)>,
}

impl Block<'_> {
    /// Bytes of the elements; each string counts 8 bytes plus its own.
    pub fn bytes(&self) -> u64 {
        match self.elements {
            Elements::Fixed(bytes) => bytes.len() as u64,
            Elements::Variable { blob, ends } => (blob.len() + 8 * ends.len()) as u64,
        }
    }

    /// Whether it holds as many elements of this type as its shape says.
    pub fn check(&self, dtype: &DType) -> Result<()> {
        let count = self.shape.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        let (wanted, found) = match self.elements {
            Elements::Fixed(bytes) => (count.saturating_mul(dtype.size() as u64), bytes.len() as u64),
            Elements::Variable { ends, .. } => (count, ends.len() as u64),
        };
        let sound = match self.elements {
            Elements::Fixed(_) => !dtype.is_vlen(),
            Elements::Variable { blob, ends } => {
                dtype.is_vlen() && ends.is_sorted() && ends.last().is_none_or(|end| *end <= blob.len())
            }
        };
        if sound && wanted == found {
            return Ok(());
        }
        let what =
            format!("a block of shape {:?} of {} needs {wanted}, {found} are given", self.shape, dtype.to_json());
        Err(Error::new(ErrorKind::Mismatch, what))
    }

    pub(crate) fn encode(&self, chain: &Chain, scratch: &mut Scratch) -> Result<Vec<u8>> {
        match self.elements {
            Elements::Fixed(bytes) => chain.encode(bytes, &self.shape, scratch),
            Elements::Variable { .. } => chain.encode_vlen(&self.strings().collect::<Vec<_>>(), scratch),
        }
    }

    pub(crate) fn decode(&self, chain: &Chain, stored: &[u8], out: &mut Decoded, scratch: &mut Scratch) -> Result<()> {
        match self.elements {
            Elements::Fixed(bytes) => {
                out.fixed.resize(bytes.len(), 0);
                chain.decode(stored, &self.shape, (0, bytes.len() as u64), &mut out.fixed, scratch)
            }
            Elements::Variable { .. } => {
                (out.blob, out.places) = chain.decode_vlen(stored, &self.shape, scratch)?;
                Ok(())
            }
        }
    }

    /// Whether the elements are equal, bit for bit.
    pub(crate) fn equals(&self, out: &Decoded) -> bool {
        match self.elements {
            Elements::Fixed(bytes) => bytes == out.fixed,
            Elements::Variable { ends, .. } => {
                let slice = |(at, len): &(u32, u32)| out.blob.get(*at as usize..*at as usize + *len as usize);
                ends.len() == out.places.len()
                    && self.strings().zip(&out.places).all(|(wanted, place)| slice(place) == Some(wanted))
            }
        }
    }

    fn strings(&self) -> impl Iterator<Item = &[u8]> {
        let (blob, ends): (&[u8], &[usize]) = match self.elements {
            Elements::Fixed(_) => (&[], &[]),
            Elements::Variable { blob, ends } => (blob, ends),
        };
        let starts = std::iter::once(&0).chain(ends);
        starts.zip(ends).map(|(start, end)| &blob[*start..*end])
    }
}
