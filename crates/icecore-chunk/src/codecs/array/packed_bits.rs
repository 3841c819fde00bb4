//! `packbits` of Zarr v3: the bits `first_bit` to `last_bit` of each number, without gaps, the lowest bit first.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};

use crate::buffer::grow;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt, wrong_length};
use crate::extension::{Extension, config_str, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["packbits"];

const NAME: &str = "packbits";

/// Where the number of padding bits at the end of the stream is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Padding {
    Unstored,
    FirstByte,
    LastByte,
}

#[derive(Debug)]
pub(crate) struct PackedBits {
    dtype: DType,
    /// Numbers in an element: 2 for complex types.
    components: usize,
    signed: bool,
    first_bit: u32,
    /// Number of bits kept of each number, 1 to 64.
    kept: u32,
    padding: Padding,
}

impl PackedBits {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<PackedBits> {
        only_keys(ext, &["padding_encoding", "first_bit", "last_bit"])?;
        let components = match dtype {
            DType::Complex64 | DType::Complex128 => 2,
            DType::Bytes(_) | DType::Utf32(_) | DType::Raw(_) | DType::Struct(_) => {
                return Err(Error::new(ErrorKind::Unsupported, format!("codec {NAME} of {}", dtype.to_json()))
                    .hint("it supports booleans, integers, floats, complex numbers and times"));
            }
            _ => 1,
        };
        let bits = if *dtype == DType::Bool { 1 } else { (dtype.size() / components * 8) as u32 };
        let bit = |key: &str, default: u32| match ext.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_u64()
                .filter(|bit| *bit < u64::from(bits))
                .map(|bit| bit as u32)
                .ok_or_else(|| bad_config(ext, key, &format!("0 to {}", bits - 1))),
        };
        let (first_bit, last_bit) = (bit("first_bit", 0)?, bit("last_bit", bits - 1)?);
        if last_bit < first_bit {
            return Err(bad_config(ext, "last_bit", &format!("{first_bit} (first_bit) to {}", bits - 1)));
        }
        let padding = match ext.get("padding_encoding").map(|_| config_str(ext, "padding_encoding")).transpose()? {
            None | Some("none") => Padding::Unstored,
            Some("first_byte") => Padding::FirstByte,
            Some("last_byte") => Padding::LastByte,
            Some(_) => return Err(bad_config(ext, "padding_encoding", "first_byte, last_byte, none")),
        };
        let signed = matches!(dtype, DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64)
            || matches!(dtype, DType::DateTime64 { .. } | DType::TimeDelta64 { .. });
        Ok(PackedBits { dtype: dtype.clone(), components, signed, first_bit, kept: last_bit - first_bit + 1, padding })
    }

    /// Bytes of one number in memory.
    fn width(&self) -> usize {
        self.dtype.size() / self.components
    }

    /// Bits of the numbers in a chunk of this many bytes.
    fn stream_bits(&self, raw: usize) -> u64 {
        (raw / self.width()) as u64 * u64::from(self.kept)
    }

    /// The bit stream of a chunk of `raw` bytes, without the byte that counts the padding bits.
    fn stream<'a>(&self, stored: &'a [u8], raw: usize) -> Result<&'a [u8]> {
        let bits = self.stream_bits(raw);
        let len = bits.div_ceil(8) as usize;
        // zarrs omits the byte if all bits of a number are kept.
        let whole = self.kept as usize == 8 * self.width();
        let (stream, padding) = match (self.padding, stored) {
            (Padding::Unstored, _) => (stored, None),
            _ if whole && stored.len() == len => (stored, None),
            (Padding::FirstByte, [first, stream @ ..]) => (stream, Some(*first)),
            (Padding::LastByte, [stream @ .., last]) => (stream, Some(*last)),
            (_, []) => (stored, None),
        };
        if stream.len() != len {
            return Err(wrong_length(NAME, format!("{} packed", stream.len()), len));
        }
        let expected = (8 * len as u64 - bits) as u8;
        match padding {
            Some(found) if found != expected => {
                Err(corrupt(NAME, format!("{found} padding bits are stored, the chunk's shape makes {expected}")))
            }
            _ => Ok(stream),
        }
    }

    /// Restores a number from its kept bits.
    fn unpacked(&self, kept: u64) -> u64 {
        let above = 64 - self.kept;
        let value = if self.signed { ((kept << above) as i64 >> above) as u64 } else { kept };
        value << self.first_bit
    }

    /// The kept bits of a number.
    fn packed(&self, value: u64) -> u64 {
        (value >> self.first_bit) & (u64::MAX >> (64 - self.kept))
    }
}

/// Reads `count` bits from bit `at`.
fn read_bits(stream: &[u8], at: u64, count: u32) -> u64 {
    let stream = stream.get((at / 8) as usize..).unwrap_or_default();
    let mut word = [0; 16];
    let len = stream.len().min(9);
    word[..len].copy_from_slice(&stream[..len]);
    (u128::from_le_bytes(word) >> (at % 8)) as u64 & (u64::MAX >> (64 - count))
}

/// Sets bits from bit `at`; the stream must hold zeros there.
fn write_bits(stream: &mut [u8], at: u64, bits: u64) {
    let word = (u128::from(bits) << (at % 8)).to_le_bytes();
    for (byte, more) in stream.iter_mut().skip((at / 8) as usize).zip(&word[..9]) {
        *byte |= more;
    }
}

fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    if cfg!(target_endian = "big") {
        word[..bytes.len()].reverse();
    }
    u64::from_le_bytes(word)
}

fn store(value: u64, out: &mut [u8]) {
    out.copy_from_slice(&value.to_le_bytes()[..out.len()]);
    if cfg!(target_endian = "big") {
        out.reverse();
    }
}

impl ArrayCodec for PackedBits {
    fn decode(
        &self,
        stored: &[u8],
        _shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        _scratch: &mut Scratch,
    ) -> Result<()> {
        let stream = self.stream(stored, out.len())?;
        let width = self.width();
        let first = (wanted.start / width) as u64;
        for (number, out) in out[wanted].chunks_exact_mut(width).enumerate() {
            let at = (first + number as u64) * u64::from(self.kept);
            store(self.unpacked(read_bits(stream, at, self.kept)), out);
        }
        Ok(())
    }

    fn encode(&self, raw: &[u8], _shape: &[u64], out: &mut Vec<u8>, _scratch: &mut Scratch) -> Result<()> {
        let bits = self.stream_bits(raw.len());
        let len = bits.div_ceil(8) as usize;
        let padding = (8 * len as u64 - bits) as u8;
        if self.padding == Padding::FirstByte {
            out.push(padding);
        }
        let start = out.len();
        grow(out, start + len)?;
        let stream = &mut out[start..];
        for (number, value) in raw.chunks_exact(self.width()).enumerate() {
            let value = if self.dtype == DType::Bool { u64::from(load(value) != 0) } else { load(value) };
            write_bits(stream, number as u64 * u64::from(self.kept), self.packed(value));
        }
        if self.padding == Padding::LastByte {
            out.push(padding);
        }
        Ok(())
    }
}
