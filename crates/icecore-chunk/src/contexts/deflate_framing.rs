//! Header and trailer of a DEFLATE stream.

use crate::codecs::crc32;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Framing {
    Zlib,
    Gzip,
}

/// A stream between its header and its checksum.
#[derive(Clone, Copy)]
pub(crate) struct DeflateStream<'a> {
    framing: Framing,
    /// Bytes of the stream, possibly followed by others before the final checksum.
    pub bits: &'a [u8],
    /// From the stream to the end of the input.
    rest: &'a [u8],
}

impl<'a> DeflateStream<'a> {
    /// Parses RFC 1950's framing; None if the header is invalid.
    pub fn zlib(input: &'a [u8]) -> Option<Self> {
        const DEFLATE: u16 = 8;
        let (head, rest) = input.split_first_chunk::<2>()?;
        let head = u16::from_be_bytes(*head);
        let (method, window, preset) = (head >> 8 & 15, head >> 12, head >> 5 & 1);
        let sound = head.is_multiple_of(31) && method == DEFLATE && window <= 7 && preset == 0;
        Self::new(Framing::Zlib, rest, 4).filter(|_| sound)
    }

    /// Parses RFC 1952's framing; None if the header is invalid or has optional fields such as a name.
    pub fn gzip(input: &'a [u8]) -> Option<Self> {
        const DEFLATE: [u8; 4] = [0x1f, 0x8b, 8, 0];
        let (head, rest) = input.split_first_chunk::<10>()?;
        Self::new(Framing::Gzip, rest, 8).filter(|_| head.starts_with(&DEFLATE))
    }

    fn new(framing: Framing, rest: &'a [u8], sum: usize) -> Option<Self> {
        Some(DeflateStream { framing, bits: &rest[..rest.len().checked_sub(sum)?], rest })
    }

    /// Whether the checksum after `used` bytes matches the output. For gzip the checksum must be the end of the input,
    /// because further members may follow; zlib streams may be padded.
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
