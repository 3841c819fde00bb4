//! Header and trailer of a DEFLATE stream.

use crate::codecs::crc32;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Framing {
    Zlib,
    Gzip,
}

/// A stream between its head and its sum.
#[derive(Clone, Copy)]
pub(crate) struct DeflateStream<'a> {
    framing: Framing,
    /// The stream, and what may follow it in front of the last sum.
    pub bits: &'a [u8],
    /// From the stream to the end of the input.
    rest: &'a [u8],
}

impl<'a> DeflateStream<'a> {
    /// RFC 1950; none if the head is not one.
    pub fn zlib(input: &'a [u8]) -> Option<Self> {
        const DEFLATE: u16 = 8;
        let (head, rest) = input.split_first_chunk::<2>()?;
        let head = u16::from_be_bytes(*head);
        let (method, window, preset) = (head >> 8 & 15, head >> 12, head >> 5 & 1);
        let sound = head.is_multiple_of(31) && method == DEFLATE && window <= 7 && preset == 0;
        Self::new(Framing::Zlib, rest, 4).filter(|_| sound)
    }

    /// RFC 1952; none if the head is not one, or has names and the like.
    pub fn gzip(input: &'a [u8]) -> Option<Self> {
        const DEFLATE: [u8; 4] = [0x1f, 0x8b, 8, 0];
        let (head, rest) = input.split_first_chunk::<10>()?;
        Self::new(Framing::Gzip, rest, 8).filter(|_| head.starts_with(&DEFLATE))
    }

    fn new(framing: Framing, rest: &'a [u8], sum: usize) -> Option<Self> {
        Some(DeflateStream { framing, bits: &rest[..rest.len().checked_sub(sum)?], rest })
    }

    /// Whether the sum behind `used` bytes is that of what was made of them. Gzip's must be the last of the input: other
    /// streams may follow it, zlib's is padded at times.
    pub fn is_whole(&self, used: usize, made: &[u8]) -> bool {
        let Some(behind) = self.rest.get(used..) else { return false };
        match self.framing {
            Framing::Zlib => behind.starts_with(&simd_adler32::adler32(&made).to_be_bytes()),
            Framing::Gzip => {
                let (sum, length) = (crc32(0, made).to_le_bytes(), (made.len() as u32).to_le_bytes());
                behind == [sum, length].concat()
            }
        }
    }
}
